import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import * as z from 'zod';
import { runningProcesses } from '../../local/processes/process-table.ts';
import type { Limit } from './cgroup.ts';
import type { Client } from './clients.ts';

/** The client's core. */
const CLIENT_CORE = '0';
const LOOK_EVERY_MS = 100;
const MB = 1_000_000;

const costSchema = z.object({ seconds: z.number(), cpuSeconds: z.number() });

/** What one run took: all processes of the client together, from start to end. */
export interface Measured {
  wall: number;
  cpu: number;
  /** Sum of what each process had in memory at its fullest, MB. */
  rss: number;
  /** What the client reports of the transfer alone; undefined for a program that does nothing else. */
  reported: z.infer<typeof costSchema> | undefined;
}

export class ClientFailed extends Error {
  override readonly name = 'ClientFailed';
}

/** Runs a client on its core. @throws ClientFailed when it does not end well */
export async function measure(client: Client, limit?: Limit): Promise<Measured> {
  const timed = `TIMEFORMAT='%3R %3U %3S'; set -o pipefail; time { ${client.script}; }`;
  const script = limit ? `${limit.join}; ${timed}` : timed;
  const child = spawn('taskset', ['-c', CLIENT_CORE, 'bash', '-c', script], {
    env: client.env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const peaks = new Map<number, number>();
  const timer = setInterval(() => look(child.pid ?? 0, peaks), LOOK_EVERY_MS);
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

/** Notes how full each process of the group has been; the shell that leads it is none of the client's. */
function look(group: number, peaks: Map<number, number>): void {
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
