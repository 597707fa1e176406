import { spawnSync } from 'node:child_process';

/**
 * Checks the subjects of commits: `npm run commits -- RANGE`. Without a range, it checks the commits that this branch
 * adds to origin/main, or none without origin/main. Merge commits and old commits do not have this form.
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

/** The commits that this branch adds to origin/main; undefined if that branch does not exist. */
function ownCommits(): string | undefined {
  const { status, stdout } = spawnSync('git', ['merge-base', 'origin/main', 'HEAD'], { encoding: 'utf8' });
  return status === 0 ? `${stdout.trim()}..HEAD` : undefined;
}

function subjectsOf(range: string): string[] {
  const { status, stdout, stderr } = spawnSync('git', ['log', '--no-merges', '--format=%s', range, '--'], {
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`git cannot list the commits ${range}: ${stderr.trim()}`);
  return stdout.split('\n').filter((subject) => subject !== '');
}

if (import.meta.main) {
  const range = process.argv[2] ?? ownCommits();
  for (const subject of range === undefined ? [] : subjectsOf(range)) {
    for (const problem of subjectProblems(subject)) {
      process.stderr.write(`"${subject}" ${problem}\n`);
      process.exitCode = 1;
    }
  }
}
