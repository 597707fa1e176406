import type { Reporter, TestModule, TestProject, TestSpecification } from 'vitest/node';

/**
 * The variables that decide a project's test cases. `seeds.ts` sets them for a project, a person or CI overrides them.
 */
const OF_PROJECT = ['TEST_SEED', 'TEST_CLOCK', 'TZ'];
const OF_PROCESS = ['CI', 'TEST_RUNS'];

/** Prints the seed and clock of a run at its start, and at its end the commands that repeat failed files. */
export class RepeatReporter implements Reporter {
  onTestRunStart(specifications: readonly TestSpecification[]): void {
    const lines = specifications.map(({ project }) => variablesOf(project, OF_PROJECT)).filter((line) => line !== '');
    print([...new Set(lines)].map((line) => `Random cases and clock: ${line}`));
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const failed = modules.filter((module) => module.state() === 'failed' && variablesOf(module.project, OF_PROJECT));
    print(failed.map((module) => `To repeat: ${commandFor(module)}`));
  }
}

function commandFor({ project, relativeModuleId }: TestModule): string {
  const given = OF_PROCESS.flatMap((name) => assignment(name, process.env[name]));
  const command = `npx vitest run --project ${project.name} ${relativeModuleId}`;
  return [...given, variablesOf(project, OF_PROJECT), command].join(' ');
}

function variablesOf({ config }: TestProject, names: string[]): string {
  // A project without variables has no `env`, although its type says otherwise.
  const env: Partial<typeof config.env> = config.env ?? {};
  return names.flatMap((name) => assignment(name, env[name])).join(' ');
}

const assignment = (name: string, value: unknown): string[] => (value ? [`${name}=${value}`] : []);

function print(lines: string[]): void {
  if (lines.length > 0) process.stdout.write(`${lines.join('\n')}\n`);
}
