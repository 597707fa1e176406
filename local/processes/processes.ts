import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { EnvironmentError } from './environment-error.ts';
import { endProcesses } from './process-end.ts';
import { hasMark, PROCESS_MARK, runningProcesses } from './process-table.ts';
import type { RunRecord } from './run-record.ts';

/** `env` is the whole environment; output is appended to `logFile`. */
export type StartOptions = {
  name: string;
  command: string;
  args: string[];
  env: NodeJS.ProcessEnv;
  cwd: string;
  logFile: string;
  record: RunRecord;
};

/** How a process ended: an exit code, or the signal that ended it. */
export type ExitStatus = { code: number | null; signal: NodeJS.Signals | null };

/** A process that was started, leader of its own process group. */
export type RunningProcess = {
  pid: number;
  /** Resolves when the process itself has ended, however that came about. */
  exited: Promise<ExitStatus>;
  /** Ends the process and everything that it started (SIGTERM, after 5 seconds SIGKILL); resolves when all are gone. */
  stop(): Promise<void>;
};

/** Starts a process in its own process group and notes it in the record. @throws EnvironmentError when it cannot start */
export async function startProcess(options: StartOptions): Promise<RunningProcess> {
  const { name, record } = options;
  const mark = `${record.id}/${name}/${performance.now()}`;
  const child = spawnToLog(options, mark);
  const exited = new Promise<ExitStatus>((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }));
  });
  const pid = child.pid ?? (await startFailure(child, options));
  let stopping: Promise<void> | undefined;
  const end = async () => {
    await endProcesses(() => runningProcesses().filter((entry) => entry.group === pid || hasMark(entry.pid, mark)));
    await exited;
    record.remove(pid);
  };
  const stop = () => {
    stopping ??= end();
    return stopping;
  };
  record.add({ name, pid, stop });
  return { pid, exited, stop };
}

function spawnToLog({ command, args, cwd, env, logFile }: StartOptions, mark: string): ChildProcess {
  const log = openSync(logFile, 'a');
  try {
    const options = { cwd, env: { ...env, [PROCESS_MARK]: mark }, detached: true };
    return spawn(command, args, { ...options, stdio: ['ignore', log, log] });
  } finally {
    closeSync(log);
  }
}

async function startFailure(child: ChildProcess, { name, command }: StartOptions): Promise<never> {
  const [cause] = await once(child, 'error').catch((error: unknown) => [error]);
  const why = cause instanceof Error ? cause.message : String(cause);
  const message = `${name} could not be started (${why}). Check that ${command} exists and may be run.`;
  throw new EnvironmentError(message, { cause });
}
