import { fork } from 'node:child_process';
import { once } from 'node:events';

/** The environment variable with the job of a process, as JSON. */
export const JOB = 'BENCH_JOB';

/** Runs a file of the benchmark in its own process. @returns its answer */
export async function inChild<T>(file: string, job: unknown, env: NodeJS.ProcessEnv = process.env): Promise<T> {
  const child = fork(file, {
    env: { ...env, [JOB]: JSON.stringify(job) },
    // The child writes its log as a function does; the benchmark ignores it.
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  try {
    const ended = once(child, 'exit').then(() => {
      throw new Error(`${file} ended before it was done.`);
    });
    return (await Promise.race([once(child, 'message'), ended]))[0];
  } finally {
    child.kill();
  }
}

/** Returns the job of this child process. */
export function jobOfChild<T>(): T {
  return JSON.parse(process.env[JOB] ?? '');
}

/** Sends the answer of this child process. */
export function answer(result: unknown): void {
  process.send?.(result);
}

/** The cost of some work in this process. */
export interface ProcessCost {
  seconds: number;
  cpuSeconds: number;
  /** The peak memory of the process, in bytes. */
  maxRss: number;
}

export async function costOf(work: () => Promise<unknown>): Promise<ProcessCost> {
  const cpu = process.cpuUsage();
  const started = performance.now();
  await work();
  const seconds = (performance.now() - started) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  return { seconds, cpuSeconds: (user + system) / 1e6, maxRss: process.resourceUsage().maxRSS * 1024 };
}
