import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** The environment variable with the job of a process, as JSON. */
export const JOB = 'BENCH_JOB';

/** The cost of some work in a process. */
export interface ProcessCost {
  seconds: number;
  cpuSeconds: number;
  /** The peak memory of the process, in bytes. */
  maxRss: number;
}

/** Runs a file of the benchmark in its own process. @returns its answer: the last line that it prints, after its log */
export async function inChild<T>(file: string, job: unknown, env: NodeJS.ProcessEnv): Promise<T & ProcessCost> {
  const options = { env: { ...env, [JOB]: JSON.stringify(job) }, maxBuffer: 2 ** 26 };
  const { stdout } = await promisify(execFile)(process.execPath, [file], options);
  return JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '');
}

/** Does the job of this child process, and prints its result with its cost. */
export async function doJob<Job>(work: (job: Job) => Promise<unknown>): Promise<void> {
  const job: Job = JSON.parse(process.env[JOB] ?? '');
  const cpu = process.cpuUsage();
  const started = performance.now();
  const result = await work(job);
  const seconds = (performance.now() - started) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  const cost = { seconds, cpuSeconds: (user + system) / 1e6, maxRss: process.resourceUsage().maxRSS * 1024 };
  process.stdout.write(`${JSON.stringify(Object.assign(cost, result))}\n`);
}
