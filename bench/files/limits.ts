import { filesSchema } from '../../core/config/file-settings.ts';
import { WHOLE_CORE_MB } from '../../core/whole-core.ts';
import { PRICE } from '../cost/prices.ts';
import type { Found } from '../support/kit.ts';
import { atLeast, atMost } from '../support/targets.ts';
import { type Bench, counted, engineAt, MIB, peersAt, rowOf } from './bench.ts';
import { type Limit, limitCpu, limitMemory } from './cgroup.ts';
import type { Client } from './clients.ts';
import { ClientFailed } from './measure.ts';
import { interleaved, type Result } from './rounds.ts';

/** Its share of a core grows with its memory. */
const functionOf = (memoryMB: number) => ({ gb: memoryMB / 1024, share: memoryMB / WHOLE_CORE_MB });
/** A function with the least memory that can be configured. */
export const SMALLEST = functionOf(512);
/** The memory that DownloadFile has by default. */
const USUAL = functionOf(filesSchema.parse({}).memoryMB.download);
/** What Lambda's network gives, MiB/s. */
export const NETWORK = 71.5;
const MEMORY_LIMIT = 96 * MIB;

/** T5: memory does not grow with the file. */
export async function memory(bench: Bench): Promise<Found> {
  const { large, huge } = bench.sizes;
  const { servers, print } = bench;
  const of = async (mib: number, rounds: number) => {
    const [result] = await interleaved(servers, [engineAt(bench, mib)], { rounds, bytes: mib * MIB, print });
    return result as Result;
  };
  const before = await of(large, bench.rounds.small);
  const after = await of(huge, bench.rounds.huge);
  const targets = [
    atMost('T5 memory, huge / large file', 1.1, after.rss / before.rss),
    atMost('T5 peak memory, MB', 160, Math.max(before.rss, after.rss)),
  ];
  return { targets, runs: [rowOf('memory', large, before), rowOf('memory', huge, after)] };
}

/** T6: inside 96 MB the engine finishes, and lib-storage is killed. */
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

/** T7: the share of a core that a function of 512 MB has. T12: what a GiB costs with the memory that DownloadFile has by default. */
export async function functionShare(bench: Bench): Promise<Found> {
  const mib = bench.sizes.large;
  const [floor, , , libStorage] = peersAt(bench, mib) as [Client, Client, Client, Client];
  const clients = [engineAt(bench, mib), floor, libStorage];
  const results = await limited(bench, clients, mib, limitCpu(SMALLEST.share), bench.rounds.small);
  const [ours, curl] = results as [Result, Result];
  const targets = [
    atLeast('T7 MiB/s with the CPU of 512 MB', NETWORK, mib / ours.seconds),
    atMost('T7 CPU / curl|curl', 1.3, ours.cpuSeconds / curl.cpuSeconds),
    atMost('T12 dollars per million GiB moved', 200, 1_000_000 * dollarsPerGib(ours, mib)),
  ];
  return { targets, runs: results.map((result) => rowOf('CPU of 512 MB', mib, result)) };
}

function dollarsPerGib(result: Result, mib: number): number {
  const seconds = Math.max(result.cpuSeconds / USUAL.share, mib / NETWORK);
  // GETs of a foreign origin cost nothing.
  const dollars = seconds * USUAL.gb * PRICE.gbSecond + counted(result).calls * PRICE.storeRequest;
  return (dollars * 1024) / mib;
}
