import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { EnvironmentError } from './environment-error.ts';
import type { RunRecord } from './run-record.ts';

const GRACE_MS = 5_000;

/** `env` is the whole environment. Output is appended to `NAME.log` in the record's `workDir`, the default of `cwd`. */
export type StartOptions = {
  name: string;
  command: string;
  args: string[];
  env: NodeJS.ProcessEnv;
  cwd?: string;
  record: RunRecord;
};

/** A process that was started, leader of its own process group. */
export type RunningProcess = Awaited<ReturnType<typeof startProcess>>;

/** A command that runs to its end. `onLine` receives its output as it arrives; `signal` stops it. */
export type CommandOptions = StartOptions & {
  onLine?: ((line: string) => void) | undefined;
  signal?: AbortSignal | undefined;
};

/** Starts a process in its own process group and notes it in the record. @throws EnvironmentError when it cannot start */
export async function startProcess(options: StartOptions) {
  return (await launch(options, [])).running;
}

/**
 * Runs a command to its end.
 * @returns its exit code, or null after a signal, and all lines that it printed
 * @throws EnvironmentError when it cannot be started; the signal's reason when it was stopped
 */
export async function runCommand(options: CommandOptions) {
  const { onLine, signal } = options;
  signal?.throwIfAborted();
  const { child, running } = await launch(options, ['pipe']);
  const lines: string[] = [];
  const read = async (from: 'stdout' | 'stderr') => {
    for await (const line of child.iterable({ from })) {
      lines.push(String(line));
      onLine?.(String(line));
    }
  };
  const abort = () => void running.stop();
  signal?.addEventListener('abort', abort, { once: true });
  try {
    await Promise.all([read('stdout'), read('stderr')]);
    return { code: await running.exited, lines, logFile: running.logFile };
  } finally {
    signal?.removeEventListener('abort', abort);
    signal?.throwIfAborted();
  }
}

async function launch({ name, command, args, env, record, cwd = record.workDir }: StartOptions, more: 'pipe'[]) {
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
  });
  const { pid } = child;
  if (pid === undefined) {
    const { cause } = await child;
    const why = cause instanceof Error ? cause.message : String(cause);
    const message = `${name} could not be started (${why}). Check that ${command} exists and may be run.`;
    throw new EnvironmentError(message, { cause });
  }
  /** Resolves when the process itself has ended: its exit code, or null after a signal. */
  const exited = once(child, 'exit').then(([code]): number | null => {
    // Members may outlive the leader of their group, and hold its output open.
    signalGroup(pid, 'SIGKILL');
    return code;
  });
  /** Ends the process and all that it started (SIGTERM, after 5 seconds SIGKILL). Resolves when all are gone. */
  const stop = async () => {
    const kill = setTimeout(() => signalGroup(pid, 'SIGKILL'), GRACE_MS);
    if (child.exitCode === null && child.signalCode === null) signalGroup(pid, 'SIGTERM');
    await exited;
    clearTimeout(kill);
  };
  const running = { pid, logFile, exited, stop };
  record.add(running);
  return { child, running };
}

function signalGroup(leader: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-leader, signal);
  } catch {
    // The whole group has ended.
  }
}

/** The last `count` lines of a text file, without trailing empty ones; none when there is no such file. */
export async function lastLines(file: string, count: number): Promise<string[]> {
  const text = (await readFile(file, 'utf8').catch(() => '')).trimEnd();
  return text === '' ? [] : text.split(/\r?\n/).slice(-count);
}
