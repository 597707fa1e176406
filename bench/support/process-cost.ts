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
