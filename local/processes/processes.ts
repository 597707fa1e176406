import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { EnvironmentError } from './environment-error.ts';
import type { RunRecord } from './run-record.ts';

/** `env` is the whole environment. Output is appended to `NAME.log` in the record's `workDir`, the default of `cwd`. */
export type ProcessOptions = {
  name: string;
  command: string;
  args: string[];
  env: NodeJS.ProcessEnv;
  cwd?: string;
  record: RunRecord;
  signal?: AbortSignal | undefined;
  withinSeconds?: number;
};

/** Starts a process in its own process group and notes it in the record. @throws EnvironmentError when it cannot start */
export async function startProcess(options: ProcessOptions) {
  return (await launch(options)).running;
}

/**
 * Runs a command to its end. `onLine` receives its output as it arrives.
 * @returns its exit code, or undefined after a signal, and all lines that it printed
 * @throws EnvironmentError when it cannot be started or takes too long; the signal's reason when it was stopped
 */
export async function runCommand({ onLine, ...options }: ProcessOptions & { onLine?: (line: string) => void }) {
  options.signal?.throwIfAborted();
  const { child, running } = await launch(options, ['pipe']);
  const { logFile } = running;
  const lines: string[] = [];
  const read = async (from: 'stdout' | 'stderr') => {
    for await (const line of child.iterable({ from })) {
      lines.push(String(line));
      onLine?.(String(line));
    }
  };
  await Promise.all([read('stdout'), read('stderr')]);
  options.signal?.throwIfAborted();
  const { exitCode: code, timedOut } = await child;
  if (!timedOut) return { code, lines, logFile };
  const message = `${options.name} did not end within ${options.withinSeconds} seconds and was stopped. Start again; the log shows how far it came.`;
  throw new EnvironmentError(message, { logFile });
}

async function launch({ name, command, args, env, record, ...options }: ProcessOptions, more: 'pipe'[] = []) {
  const { cwd = record.workDir, signal, withinSeconds = 0 } = options;
  const logFile = join(record.workDir, `${name}.log`);
  const output = [...more, { file: logFile, append: true }];
  const child = execa(command, args, {
    cwd,
    env,
    extendEnv: false,
    detached: true,
    cleanup: false,
    reject: false,
    buffer: false,
    stdin: 'ignore',
    stdout: output,
    stderr: output,
    timeout: withinSeconds * 1000,
    killSignal: 'SIGKILL',
    ...(signal && { cancelSignal: signal }),
  });
  const { pid } = child;
  if (pid === undefined) {
    const { cause } = await child;
    const why = cause instanceof Error ? cause.message : String(cause);
    const message = `${name} could not be started (${why}). Check that ${command} exists and may be run.`;
    throw new EnvironmentError(message, { cause });
  }
  const endGroup = () => {
    try {
      process.kill(-pid, 'SIGKILL');
    } catch {
      // The whole group has ended.
    }
  };
  /** Resolves when the process has ended. Members may outlive the leader of their group, and hold its output open. */
  const exited = once(child, 'exit').then(endGroup);
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
  /** Kills the process and all that it started. It need not end in order, because its files are removed anyway. */
  const stop = async () => {
    if (!hasEnded()) endGroup();
    await exited;
  };
  const running = { pid, logFile, exited, hasEnded, stop };
  record.add(running);
  return { child, running };
}

/** The last `count` lines of a text file, without trailing empty ones; none when there is no such file. */
export async function lastLines(file: string, count: number): Promise<string[]> {
  const text = (await readFile(file, 'utf8').catch(() => '')).trimEnd();
  return text === '' ? [] : text.split(/\r?\n/).slice(-count);
}
