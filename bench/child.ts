import { fork } from 'node:child_process';
import { once } from 'node:events';

/** Variable of the environment that holds the job of a process, as JSON. */
export const JOB = 'BENCH_JOB';

/** Runs a file of the benchmark in a process of its own. @returns what it answers */
export async function inChild<T>(file: string, job: unknown, env: NodeJS.ProcessEnv = process.env): Promise<T> {
  const child = fork(file, {
    env: { ...env, [JOB]: JSON.stringify(job) },
    // The child writes its log as a function does, and nobody reads it.
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

/** Returns, in a child process, the job that it was given. */
export function givenJob<T>(): T {
  return JSON.parse(process.env[JOB] ?? '');
}

/** Sends, from a child process, its answer. */
export function answer(result: unknown): void {
  process.send?.(result);
}

/** What some work cost this process. */
export interface ProcessCost {
  seconds: number;
  cpuSeconds: number;
  /** The most memory that the process had, in bytes. */
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
