import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** The environment variable with the job of a process, as JSON. */
export const JOB = 'BENCH_JOB';

/** Runs a file of the benchmark in its own process. @returns its answer: the last line that it prints, after its log */
export async function inChild<T>(file: string, job: unknown, env: NodeJS.ProcessEnv = process.env): Promise<T> {
  const options = { env: { ...env, [JOB]: JSON.stringify(job) }, maxBuffer: 2 ** 26 };
  const { stdout } = await promisify(execFile)(process.execPath, [file], options);
  return JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '');
}

/** Returns the job of this child process. */
export function jobOfChild<T>(): T {
  return JSON.parse(process.env[JOB] ?? '');
}

/** Prints the answer of this child process. */
export function answer(result: unknown): void {
  process.stdout.write(`${JSON.stringify(result)}\n`);
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
