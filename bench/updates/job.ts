/** What a process of `bench:updates` is to do, in its environment as JSON. */
export interface ApplyJob {
  bucketUrl: string;
  baseUrl: string;
  accessToken: string;
  /** Keys of the batch to warm up with and of the one that is measured. */
  warmUp: PreparedBatch;
  measured: PreparedBatch;
}

/** A batch of one chunk whose input is in the bucket. */
export interface PreparedBatch {
  batch: string;
  bytes: number;
  records: number;
  etag: string;
}

export interface ValidateJob {
  file: string;
}

/** What a process answers when it is done. */
export interface Cost {
  seconds: number;
  cpuSeconds: number;
  /** Most memory that the process had, in bytes. */
  maxRss: number;
}

export const JOB = 'BENCH_JOB';

/** Does some work and reports what it cost this process. */
export async function costOf(work: () => Promise<unknown>): Promise<Cost> {
  const cpu = process.cpuUsage();
  const started = performance.now();
  await work();
  const seconds = (performance.now() - started) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  return { seconds, cpuSeconds: (user + system) / 1_000_000, maxRss: process.resourceUsage().maxRSS * 1024 };
}
