import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Length of a period in which a function's share of a core is given out; Lambda's, microseconds. */
const PERIOD = 20_000;

/** A limit under which processes are put: `join` is a line of bash that puts the shell itself there. */
export interface Limit {
  join: string;
  remove(): void;
}

/** Whether limits can be set: root, and control groups of version 1. */
export function canLimit(): boolean {
  return process.getuid?.() === 0 && ['cpu', 'memory'].every((name) => existsSync(`/sys/fs/cgroup/${name}/tasks`));
}

/** @param bytes more than this is refused, and the process that needs it is killed */
export function limitMemory(bytes: number): Limit {
  return limit('memory', { 'memory.limit_in_bytes': bytes });
}

/** @param share of a core */
export function limitCpu(share: number): Limit {
  return limit('cpu', { 'cpu.cfs_period_us': PERIOD, 'cpu.cfs_quota_us': Math.round(PERIOD * share) });
}

function limit(controller: string, values: Record<string, number>): Limit {
  const dir = join('/sys/fs/cgroup', controller, `bench-files-${process.pid}`);
  mkdirSync(dir);
  for (const [file, value] of Object.entries(values)) writeFileSync(join(dir, file), String(value));
  return { join: `echo $$ > ${dir}/cgroup.procs`, remove: () => rmdirSync(dir) };
}
