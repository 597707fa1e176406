import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { JOB } from './job.ts';

/** A process of the bench. It sends one message when it is ready, and one with its result. */
export interface Child {
  child: ChildProcess;
  /** What it reported first. */
  ready: Promise<unknown>;
  /** Lets it begin. */
  begin: () => Promise<unknown>;
}

export function startChild(file: string, job: unknown, execArgv: string[] = []): Child {
  const child = fork(join(import.meta.dirname, file), {
    env: { ...process.env, [JOB]: JSON.stringify(job) },
    execArgv,
    // Its log is written as in a function, and discarded.
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const message = async (): Promise<unknown> => {
    const ended = once(child, 'exit').then(() => {
      throw new Error(`${file} ended before it was done.`);
    });
    return (await Promise.race([once(child, 'message'), ended]))[0];
  };
  return {
    child,
    ready: message(),
    begin: () => {
      child.send('begin');
      return message();
    },
  };
}
