import { fork } from 'node:child_process';
import { once } from 'node:events';

/** Variable of the environment that holds the job of a process, as JSON. */
export const JOB = 'BENCH_JOB';

/** Starts a process of a benchmark: it sends a message when it is ready, begins at one, and sends its result. */
export function startChild<T>(file: string, job: unknown, env: NodeJS.ProcessEnv = process.env) {
  const child = fork(file, {
    env: { ...env, [JOB]: JSON.stringify(job) },
    // The child writes its log as a function does; nobody reads it.
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const message = async () => {
    const ended = once(child, 'exit').then(() => {
      throw new Error(`${file} ended before it was done.`);
    });
    return (await Promise.race([once(child, 'message'), ended]))[0];
  };
  return {
    child,
    ready: message(),
    begin: (): Promise<T> => {
      child.send('begin');
      return message();
    },
  };
}

/** What one such process results in. */
export async function inChild<T>(file: string, job: unknown, env?: NodeJS.ProcessEnv): Promise<T> {
  const { ready, begin, child } = startChild<T>(file, job, env);
  try {
    await ready;
    return await begin();
  } finally {
    child.kill();
  }
}

/** Returns, in a child process, the job that it was given. */
export function givenJob<T>(): T {
  return JSON.parse(process.env[JOB] ?? '');
}

/** Reports, in a child process, that it is ready, waits for the word, and sends what the work results in. */
export async function whenBegun(work: () => Promise<unknown>): Promise<void> {
  process.send?.('ready');
  await once(process, 'message');
  process.send?.(await work());
  process.disconnect();
}
