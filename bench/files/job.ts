/** What a client written in Node.js is to do, in its environment as JSON. */
export interface Job {
  source: string;
  store: string;
  bucket: string;
  key: string;
  connections: { initial: number; most: number };
  /** With everything loaded that the function has loaded by then. */
  loaded: boolean;
  partChecksums: 'trailer' | 'omitted';
}

export const JOB = 'BENCH_FILES_JOB';

/** The transfer alone, from the moment that the address was known. */
export interface Said {
  seconds: number;
  cpuSeconds: number;
  bytes: number;
}

/** Does the work and reports what it took. */
export async function measured(work: () => Promise<number>): Promise<void> {
  const cpu = process.cpuUsage();
  const started = performance.now();
  const bytes = await work();
  const seconds = (performance.now() - started) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  process.stdout.write(`${JSON.stringify({ seconds, cpuSeconds: (user + system) / 1e6, bytes } satisfies Said)}\n`);
}
