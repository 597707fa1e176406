import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import * as z from 'zod';
import { runningProcesses } from '../../local/processes/process-table.ts';
import { median } from '../kit.ts';
import type { Client } from './clients.ts';
import type { Servers } from './servers.ts';

/** The client's core. */
const CLIENT_CORE = '0';
const LOOK_EVERY_MS = 100;
const MB = 1_000_000;
/** The period of CPU quotas, in microseconds, as on Lambda. */
const PERIOD = 20_000;

const costSchema = z.object({ seconds: z.number(), cpuSeconds: z.number() });

/** The cost of one run: all processes of the client together, from start to end. */
interface Measured {
  wall: number;
  cpu: number;
  /** The sum of each process's peak memory, MB. */
  rss: number;
  /** The client's own measurement of the transfer alone; undefined for a program that does nothing else. */
  reported: z.infer<typeof costSchema> | undefined;
}

export class ClientFailed extends Error {
  override readonly name = 'ClientFailed';
}

/** Medians of a client's runs. `wall` and `cpu` measure the whole process, `seconds` and `cpuSeconds` the transfer. */
export interface Result {
  name: string;
  wall: number;
  cpu: number;
  rss: number;
  seconds: number;
  cpuSeconds: number;
  runs: number;
}

/**
 * Runs the clients in turn, round by round, so that other load on the machine affects all of them.
 * @throws ClientFailed, and Error when a client reports success and the sink has less than the file
 */
export async function interleaved(
  servers: Servers,
  clients: Client[],
  { rounds, bytes, limit, print }: { rounds: number; bytes: number; limit?: Limit; print: (line: string) => void },
): Promise<Result[]> {
  const all = clients.map((client) => ({ client, runs: [] as Measured[] }));
  for (let round = 1; round <= rounds; round += 1) {
    for (const { client, runs } of all) {
      servers.sentBytes();
      const run = await measure(client, limit);
      runs.push(run);
      print(`${client.name}, ${round} of ${rounds}: ${(run.reported?.seconds ?? run.wall).toFixed(2)} s`);
      const sent = servers.sentBytes();
      if (sent < bytes) throw new Error(`${client.name} sent ${sent} of ${bytes} bytes.`);
    }
  }
  return all.map(({ client, runs }) => ({ name: client.name, ...medians(runs) }));
}

function medians(runs: Measured[]) {
  const of = (figure: (run: Measured) => number) => median(runs.map(figure));
  return {
    wall: of((run) => run.wall),
    cpu: of((run) => run.cpu),
    rss: of((run) => run.rss),
    runs: runs.length,
    seconds: of(({ reported, wall }) => reported?.seconds ?? wall),
    cpuSeconds: of(({ reported, cpu }) => reported?.cpuSeconds ?? cpu),
  };
}

/** Runs a client on its core. @throws ClientFailed when it fails */
async function measure(client: Client, limit?: Limit): Promise<Measured> {
  const timed = `TIMEFORMAT='%3R %3U %3S'; set -o pipefail; time { ${client.script}; }`;
  const script = limit ? `${limit.join}; ${timed}` : timed;
  const child = spawn('taskset', ['-c', CLIENT_CORE, 'bash', '-c', script], {
    env: client.env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const peaks = new Map<number, number>();
  const timer = setInterval(() => recordPeaks(child.pid ?? 0, peaks), LOOK_EVERY_MS);
  const end = () => child.pid && process.kill(-child.pid, 'SIGKILL');
  process.once('exit', end);
  try {
    const [out, errors, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
    const times = /^(\d+\.\d+) (\d+\.\d+) (\d+\.\d+)$/m.exec(errors);
    if (code !== 0 || !times) throw new ClientFailed(`${client.name} ended with ${code}: ${errors.slice(-600)}`);
    const remarks = errors.replaceAll(/^(\d+\.\d+ ?){3}$/gm, '').trim();
    if (remarks) process.stderr.write(`${client.name}: ${remarks.slice(-600)}\n`);
    const reported = out.startsWith('{') ? costSchema.parse(JSON.parse(out)) : undefined;
    const rss = [...peaks.values()].reduce((sum, peak) => sum + peak, 0) / MB;
    return { wall: Number(times[1]), cpu: Number(times[2]) + Number(times[3]), rss, reported };
  } finally {
    clearInterval(timer);
    process.off('exit', end);
  }
}

/** Records the peak memory of each process of the group, except the leading shell, which is not part of the client. */
function recordPeaks(group: number, peaks: Map<number, number>): void {
  for (const { pid } of runningProcesses().filter((entry) => entry.group === group && entry.pid !== group)) {
    const kib = /^VmHWM:\s+(\d+)/m.exec(readStatus(pid))?.[1];
    if (kib) peaks.set(pid, Number(kib) * 1024);
  }
}

function readStatus(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/status`, 'utf8');
  } catch {
    return '';
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

/** @param bytes the limit; a process that needs more is killed */
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
