import { AsyncLocalStorage } from 'node:async_hooks';
import { onTestFinished, vi } from 'vitest';
import { runCommandLine } from '../../../cli/command-line.ts';

/** The output of a command line and its exit code. */
export interface CliResult {
  code: number;
  stdout: string;
  stderr: string;
  /** Both outputs in order, as a person sees them. */
  shown: string;
}

/** Settings that hide the person's own AWS configuration and request no credentials outside this machine. */
export const WITHOUT_AWS = {
  AWS_ENDPOINT_URL: undefined,
  AWS_PROFILE: undefined,
  AWS_REGION: undefined,
  AWS_DEFAULT_REGION: undefined,
  AWS_ACCESS_KEY_ID: undefined,
  AWS_SECRET_ACCESS_KEY: undefined,
  AWS_SESSION_TOKEN: undefined,
  AWS_CONTAINER_CREDENTIALS_FULL_URI: undefined,
  AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: undefined,
  AWS_WEB_IDENTITY_TOKEN_FILE: undefined,
  AWS_EC2_METADATA_DISABLED: 'true',
  AWS_CONFIG_FILE: '/nonexistent',
  AWS_SHARED_CREDENTIALS_FILE: '/nonexistent',
  NO_COLOR: '1',
};

const command = new AsyncLocalStorage<CliResult>();

/** Runs a command line in this process, which is faster than a new one. Parallel command lines are kept apart. */
export const runCli = (...args: string[]): Promise<CliResult> => startCli(...args).ended;

/** Runs a command line in this process, with these environment variables. */
export const runCliWith = (env: NodeJS.ProcessEnv, ...args: string[]): Promise<CliResult> =>
  startWith({ ...WITHOUT_AWS, ...env }, args).ended;

/** Starts a command line: its output so far, and all output with the exit code at its end. */
export const startCli = (...args: string[]) => startWith(WITHOUT_AWS, args);

function startWith(env: NodeJS.ProcessEnv, args: string[]): { soFar: Readonly<CliResult>; ended: Promise<CliResult> } {
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  captureOutput();
  const before = process.exitCode;
  onTestFinished(() => {
    process.exitCode = before;
    vi.unstubAllEnvs();
  });
  process.exitCode = 0;
  const soFar: CliResult = { code: 0, stdout: '', stderr: '', shown: '' };
  const ended = command.run(soFar, () => runCommandLine(args)).then((code) => Object.assign(soFar, { code }));
  return { soFar, ended };
}

/** Captures the output of a command until the end of the test. Other output is unchanged. */
function captureOutput(): void {
  if (vi.isMockFunction(process.stdout.write)) return;
  const spies = (['stdout', 'stderr'] as const).map((name) => {
    const write = process[name].write.bind(process[name]);
    return vi.spyOn(process[name], 'write').mockImplementation((chunk, ...more) => {
      const written = command.getStore();
      if (!written) return write(chunk);
      written[name] += String(chunk);
      written.shown += String(chunk);
      const done = more.find((each) => typeof each === 'function');
      done?.();
      return true;
    });
  });
  // The function with which the completion library prints.
  const { log } = console;
  const logSpy = vi.spyOn(console, 'log').mockImplementation((...line) => {
    const written = command.getStore();
    if (!written) return log(...line);
    written.stdout += `${line.join(' ')}\n`;
    written.shown += `${line.join(' ')}\n`;
  });
  onTestFinished(() => {
    for (const spy of [...spies, logSpy]) spy.mockRestore();
  });
}
