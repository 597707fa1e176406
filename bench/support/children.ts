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

/** What such processes result in that begin at once, and how long it takes until the last has ended. */
export async function inChildren<T>(file: string, jobs: unknown[], env?: NodeJS.ProcessEnv) {
  const children = jobs.map((job) => startChild<T>(file, job, env));
  try {
    await Promise.all(children.map(({ ready }) => ready));
    const started = performance.now();
    const results = await Promise.all(children.map(({ begin }) => begin()));
    return { results, seconds: (performance.now() - started) / 1000 };
  } finally {
    for (const { child } of children) child.kill();
  }
}

/** What one such process results in. */
export async function inChild<T>(file: string, job: unknown, env?: NodeJS.ProcessEnv): Promise<T> {
  const { results } = await inChildren<T>(file, [job], env);
  return results[0] as T;
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
