import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { ProcessCost } from '../child.ts';
import { median } from '../kit.ts';
import type { Client } from './clients.ts';
import type { Servers } from './servers.ts';

/** The client's core. */
const CLIENT_CORE = '0';
/** The period of CPU quotas, in microseconds, as on Lambda. */
const PERIOD = 20_000;

/** The cost of a run, or the medians of runs. `megabytes` is NaN for a program that does not report its memory. */
type Measured = Record<'seconds' | 'cpuSeconds' | 'megabytes', number>;

export type Results<Clients> = Record<keyof Clients, Measured>;

/**
 * Runs the clients in turn, round by round, so that other load on the machine affects all of them.
 * @param options `bytes`: the size of the file
 * @throws Error when a client fails, or reports success and the sink has less than the file
 */
export async function interleaved<Name extends string>(
  servers: Servers,
  clients: Partial<Record<Name, Client>>,
  options: { rounds: number; bytes: number; limit: Limit | undefined; print: (line: string) => void },
): Promise<Record<Name, Measured>> {
  const { rounds, bytes, limit, print } = options;
  const all = Object.entries<Client | undefined>(clients).flatMap(([name, client]) =>
    client ? [{ name, client, runs: [] as Measured[] }] : [],
  );
  for (let round = 1; round <= rounds; round += 1) {
    for (const { name, client, runs } of all) {
      servers.sentBytes();
      const run = await measure(name, client, limit);
      runs.push(run);
      print(`${name}, ${round} of ${rounds}: ${run.seconds.toFixed(2)} s`);
      const sent = servers.sentBytes();
      if (sent < bytes) throw new Error(`${name} sent ${sent} of ${bytes} bytes.`);
    }
  }
  const medians = all.map(({ name, runs }) => {
    const of = (figure: keyof Measured) => median(runs.map((run) => run[figure]));
    return [name, { seconds: of('seconds'), cpuSeconds: of('cpuSeconds'), megabytes: of('megabytes') }];
  });
  return Object.fromEntries(medians) as Record<Name, Measured>;
}

/** Runs a client on its core. @throws Error if the client fails */
async function measure(name: string, { script, env }: Client, limit?: Limit): Promise<Measured> {
  const timed = `TIMEFORMAT='%3R %3U %3S'; set -o pipefail; time { ${script}; }`;
  const child = spawn('taskset', ['-c', CLIENT_CORE, 'bash', '-c', limit ? `${limit.join}; ${timed}` : timed], {
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const end = () => child.pid && process.kill(-child.pid, 'SIGKILL');
  process.once('exit', end);
  try {
    const [out, errors, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
    const times = /^(\d+\.\d+) (\d+\.\d+) (\d+\.\d+)$/m.exec(errors);
    if (code !== 0 || !times) throw new Error(`${name} ended with ${code}: ${errors.slice(-600)}`);
    const output = errors.replaceAll(/^(\d+\.\d+ ?){3}$/gm, '').trim();
    if (output) process.stderr.write(`${name}: ${output.slice(-600)}\n`);
    const [seconds = Number.NaN, user = 0, system = 0] = times.slice(1).map(Number);
    if (!out.startsWith('{')) return { seconds, cpuSeconds: user + system, megabytes: Number.NaN };
    // A client in Node.js measures the transfer alone, and its own memory.
    const { maxRss, ...cost }: ProcessCost = JSON.parse(out);
    return { ...cost, megabytes: maxRss / 1e6 };
  } finally {
    process.off('exit', end);
  }
}

/** A limit for processes: `join` is a line of bash that puts the shell itself under the limit. */
export interface Limit {
  join: string;
  remove(): void;
}

/** Whether limits can be set: needs root and control groups of version 1. */
export function canLimit(): boolean {
  return process.getuid?.() === 0 && ['cpu', 'memory'].every((name) => existsSync(`/sys/fs/cgroup/${name}/tasks`));
}

/** Kills a process that needs more memory. */
export const limitMemory = (bytes: number) => limit('memory', { 'memory.limit_in_bytes': bytes });

/** @param share of a core */
export const limitCpu = (share: number) =>
  limit('cpu', { 'cpu.cfs_period_us': PERIOD, 'cpu.cfs_quota_us': Math.round(PERIOD * share) });

function limit(controller: string, values: Record<string, number>): Limit {
  const dir = join('/sys/fs/cgroup', controller, `bench-files-${process.pid}`);
  mkdirSync(dir);
  for (const [file, value] of Object.entries(values)) writeFileSync(join(dir, file), String(value));
  return { join: `echo $$ > ${dir}/cgroup.procs`, remove: () => rmdirSync(dir) };
}
