import { randomBytes } from 'node:crypto';
import { closeSync, existsSync, ftruncateSync, openSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { WHOLE_CORE_MB } from '../../core/whole-core.ts';
import { atLeast, atMost, type Found, type Row } from '../kit.ts';
import { type Client, engine, type Job, peers } from './clients.ts';
import { ClientFailed, interleaved, type Limit, limitCpu, limitMemory, type Result } from './measure.ts';
import type { Servers } from './servers.ts';

const MIB = 1024 * 1024;
/** Larger files (MiB) are sparse: no speed depends on the content, and writing 16 GiB takes long. */
const LARGEST_WRITTEN = 1024;
/** Connections of the engine by default. */
const MOST = 8;
/** A function's share of a core at the smallest memory that can be configured. */
const SMALLEST_SHARE = 512 / WHOLE_CORE_MB;
/** The throughput of Lambda's network, MiB/s. */
const NETWORK = 71.5;
const MEMORY_LIMIT = 96 * MIB;

/** The shared parts of all experiments. */
export interface Bench {
  servers: Servers;
  /** The paths of the bundles of the clients in Node.js. */
  bundles: { engine: string; libStorage: string };
  /** The file sizes in MiB, and the number of rounds for each client. */
  sizes: { large: number; huge: number };
  rounds: { large: number; huge: number };
  /** Prints progress for a person. */
  print: (line: string) => void;
}

/**
 * T1, T2, T11: a fast origin. The engine's time starts when the function has the address: its modules are then loaded.
 * The table also has the time of the whole process.
 */
export async function fastOrigin(bench: Bench): Promise<Found> {
  const mib = bench.sizes.large;
  const ways = [{}, { loaded: false }];
  const clients = [...ways.map((how) => engineAt(bench, mib, how)), ...peersAt(bench, mib)];
  const options = { rounds: bench.rounds.large, bytes: mib * MIB, print: bench.print };
  const results = await interleaved(bench.servers, clients, options);
  const [ours, alone] = results;
  const [floor, aws, rclone, libStorage] = results.slice(ways.length);
  if (!ours || !alone || !floor || !aws || !rclone || !libStorage) throw new Error('A client is missing.');
  const { connections, gets, failed } = counted(ours);
  const targets = [
    atMost('T1 wall / curl|curl', 1.1, ours.seconds / floor.seconds),
    atMost('T1 CPU / curl|curl', 1.3, ours.cpuSeconds / floor.cpuSeconds),
    atMost('T2 wall / aws s3 cp', 0.65, ours.seconds / aws.seconds),
    atMost('T2 wall / rclone', 0.5, ours.seconds / rclone.seconds),
    atMost('T2 wall / lib-storage', 0.45, ours.seconds / libStorage.seconds),
    atMost('T11 connections to the store', MOST + 2, connections),
    atMost('T11 GETs', MOST + 1 + failed, gets),
  ];
  const runs = results.map((result) => rowOf('fast origin', mib, result));
  runs.push(quotient('fast origin', 'as DownloadFile calls it / alone', ours, alone));
  return { targets, runs };
}

/** The cost of the modules that the function loads besides the engine. */
function quotient(test: string, client: string, one: Result, other: Result) {
  const of = (figure: (result: Result) => number) => `x ${(figure(one) / figure(other)).toFixed(2)}`;
  return {
    test,
    client,
    'process s': of(({ wall }) => wall),
    'CPU s': of(({ cpu }) => cpu),
    'transfer s': of(({ seconds }) => seconds),
    'peak RSS MB': of(({ rss }) => rss),
    'CPU s/GiB': of(({ cpuSeconds }) => cpuSeconds),
  };
}

/** T3: an origin that gives each connection 20 MB a second, compared with the fastest of the three programs. */
export async function slowOrigin(bench: Bench): Promise<Found> {
  const mib = bench.sizes.large;
  const aims = [
    { n: 8, aim: 7.5 },
    { n: 16, aim: 14 },
  ];
  const ours = aims.map(({ n }) => engineAt(bench, mib, { connections: { initial: n, most: n } }, true));
  const [, ...three] = peersAt(bench, mib, true);
  const options = { rounds: bench.rounds.large, bytes: mib * MIB, print: bench.print };
  const results = await interleaved(bench.servers, [...ours, ...three], options);
  const best = Math.min(...results.slice(ours.length).map(({ seconds }) => seconds));
  const targets = aims.map(({ n, aim }, index) =>
    atLeast(`T3 times faster, n=${n}`, aim, best / (results[index]?.seconds ?? Number.NaN)),
  );
  return { targets, runs: results.map((result) => rowOf('20 MB/s a connection', mib, result)) };
}

/** T5: memory does not grow with the file. */
export async function memory(bench: Bench): Promise<Found> {
  const { large, huge } = bench.sizes;
  const { servers, print } = bench;
  const of = async (mib: number, rounds: number) => {
    const [result] = await interleaved(servers, [engineAt(bench, mib)], { rounds, bytes: mib * MIB, print });
    return result as Result;
  };
  const before = await of(large, bench.rounds.large);
  const after = await of(huge, bench.rounds.huge);
  const targets = [
    atMost('T5 memory, huge / large file', 1.1, after.rss / before.rss),
    atMost('T5 peak memory, MB', 160, Math.max(before.rss, after.rss)),
  ];
  return { targets, runs: [rowOf('memory', large, before), rowOf('memory', huge, after)] };
}

/** T6: within 96 MB the engine finishes, and lib-storage is killed. */
export async function memoryLimit(bench: Bench): Promise<Found> {
  const mib = bench.sizes.large;
  const libStorage = peersAt(bench, mib).at(-1) as Client;
  const ours = await finishes(bench, engineAt(bench, mib), mib);
  const theirs = await finishes(bench, libStorage, mib);
  const finished = (result: Result | undefined) => (result ? 1 : 0);
  const targets = [
    { id: 'T6 engine finishes in 96 MB', aim: '= 1', measured: finished(ours), met: ours !== undefined },
    { id: 'T6 lib-storage finishes in 96 MB', aim: '= 0', measured: finished(theirs), met: theirs === undefined },
  ];
  return { targets, runs: ours ? [rowOf('96 MB limit', mib, ours)] : [] };
}

async function finishes(bench: Bench, client: Client, mib: number): Promise<Result | undefined> {
  try {
    const [result] = await limited(bench, [client], mib, limitMemory(MEMORY_LIMIT), 1);
    return result;
  } catch (error) {
    if (!(error instanceof ClientFailed)) throw error;
    bench.print(error.message);
    return undefined;
  }
}

async function limited(bench: Bench, clients: Client[], mib: number, limit: Limit, rounds: number): Promise<Result[]> {
  try {
    return await interleaved(bench.servers, clients, { rounds, bytes: mib * MIB, limit, print: bench.print });
  } finally {
    limit.remove();
  }
}

/** T7: a function's share of a core with 512 MB. */
export async function functionShare(bench: Bench): Promise<Found> {
  const mib = bench.sizes.large;
  const [floor, , , libStorage] = peersAt(bench, mib) as [Client, Client, Client, Client];
  const clients = [engineAt(bench, mib), floor, libStorage];
  const results = await limited(bench, clients, mib, limitCpu(SMALLEST_SHARE), bench.rounds.large);
  const [ours, curl] = results as [Result, Result];
  const targets = [
    atLeast('T7 MiB/s with the CPU of 512 MB', NETWORK, mib / ours.seconds),
    atMost('T7 CPU / curl|curl', 1.3, ours.cpuSeconds / curl.cpuSeconds),
  ];
  return { targets, runs: results.map((result) => rowOf('CPU of 512 MB', mib, result)) };
}

/** The engine as a client for a file of that size. */
function engineAt(bench: Bench, mib: number, how: Partial<Job> = {}, slow = false): Client {
  const { servers, bundles } = bench;
  return engine(servers, slow ? servers.slow : servers.origin, sourceFile(servers.dir, mib), bundles.engine, how);
}

/** The other clients for the same file: first the lower bound, then the three that the engine is compared with. */
function peersAt({ servers, bundles }: Bench, mib: number, slow = false): Client[] {
  return peers(servers, slow ? servers.slow : servers.origin, sourceFile(servers.dir, mib), bundles.libStorage);
}

/** The number of connections to the store and of GETs to the origin. */
function counted({ calls }: Result) {
  const connections = new Set(calls.sink.map(({ connection }) => connection)).size;
  const downloads = calls.origin.filter(({ method }) => method === 'GET');
  const failed = downloads.filter(({ status }) => status >= 400).length;
  return { connections, gets: downloads.length, failed, calls: calls.sink.length };
}

/** A row of the table. */
function rowOf(test: string, mib: number, result: Result): Row {
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

/** Creates a file at the origin, once. @returns its name at both ends */
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
