import { spawnSync } from 'node:child_process';

/**
 * Checks the subjects of commits: `npm run commits -- RANGE`. Without a range, it checks the commits that this branch
 * adds to origin/main. Merge commits and old commits do not have this form.
 */

const TYPES = ['feat', 'fix', 'refactor', 'test', 'docs', 'build', 'ci', 'perf', 'chore', 'revert'];
const FORM = new RegExp(`^(${TYPES.join('|')})(\\([a-z0-9-]+\\))?!?: \\S`);
const LONGEST = 72;

/** The rules that a subject breaks, a phrase each. */
export function subjectProblems(subject: string): string[] {
  return [
    ...(FORM.test(subject) ? [] : [`does not have the form "type(scope): summary" with a type of ${TYPES.join(', ')}`]),
    ...(subject.length > LONGEST ? [`has ${subject.length} characters, at most ${LONGEST} are allowed`] : []),
  ];
}

if (import.meta.main) {
  const range = process.argv[2] ?? 'origin/main..HEAD';
  const args = ['log', '--no-merges', '--format=%s', range, '--'];
  const { status, stdout, stderr } = spawnSync('git', args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`git cannot list the commits ${range}: ${stderr.trim()}`);
  for (const subject of stdout.split('\n').filter(Boolean)) {
    for (const problem of subjectProblems(subject)) {
      process.stderr.write(`"${subject}" ${problem}\n`);
      process.exitCode = 1;
    }
  }
}
