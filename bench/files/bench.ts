import { randomBytes } from 'node:crypto';
import { closeSync, existsSync, ftruncateSync, openSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { Row } from '../support/kit.ts';
import { type Client, engine, peers } from './clients.ts';
import type { Job } from './job.ts';
import type { Result } from './rounds.ts';
import type { Servers } from './servers.ts';

export const MIB = 1024 * 1024;
/** Larger ones are sparse: no speed depends on the content, and writing 16 GiB takes long. */
const LARGEST_WRITTEN = 1024;

/** What all experiments work with. */
export interface Bench {
  servers: Servers;
  /** Where the bundles of the clients in Node.js lie. */
  bundles: { engine: string; libStorage: string; check: string };
  /** MiB of the files, and how often each client moves them. */
  sizes: { small: number; large: number; huge: number };
  rounds: { small: number; huge: number };
  /** What is under way, for a person. */
  print: (line: string) => void;
}

/** The engine, moving a file of that size. */
export function engineAt(bench: Bench, mib: number, how: Partial<Job> = {}, slow = false): Client {
  const { servers, bundles } = bench;
  return engine(servers, slow ? servers.slow : servers.origin, sourceFile(servers.dir, mib), bundles.engine, how);
}

/** The peers, moving the same file: first the floor, then the three that the engine is compared with. */
export function peersAt({ servers, bundles }: Bench, mib: number, slow = false): Client[] {
  return peers(servers, slow ? servers.slow : servers.origin, sourceFile(servers.dir, mib), bundles.libStorage);
}

/** How many connections the store saw, and how many GETs the origin. */
export function counted({ calls }: Result) {
  const connections = new Set(calls.sink.map(({ connection }) => connection)).size;
  const downloads = calls.origin.filter(({ method }) => method === 'GET');
  const failed = downloads.filter(({ status }) => status >= 400).length;
  return { connections, gets: downloads.length, failed, calls: calls.sink.length };
}

/** A row of the table. */
export function rowOf(test: string, mib: number, result: Result): Row {
  const { connections, gets, calls } = counted(result);
  return {
    test,
    client: result.name,
    MiB: mib,
    runs: result.runs,
    'process s': result.wall.toFixed(2),
    'CPU s': result.cpu.toFixed(2),
    'transfer s': result.seconds.toFixed(2),
    'MiB/s': (mib / result.seconds).toFixed(0),
    'CPU s/GiB': ((result.cpuSeconds * 1024) / mib).toFixed(2),
    'peak RSS MB': result.rss.toFixed(0),
    GETs: gets,
    'store calls': calls,
    'store connections': connections,
  };
}

/** Makes a file at the origin, once. @returns its name at both ends */
function sourceFile(dir: string, mib: number): string {
  const name = `${mib}.csv`;
  const path = join(dir, 'files', 'bench', name);
  if (existsSync(path) && statSync(path).size === mib * MIB) return name;
  const file = openSync(path, 'w');
  const block = randomBytes(16 * MIB);
  writeSync(file, 'id,name\n');
  if (mib <= LARGEST_WRITTEN)
    for (let at = 8; at < mib * MIB; at += block.length) writeSync(file, block, 0, block.length, at);
  ftruncateSync(file, mib * MIB);
  closeSync(file);
  return name;
}
