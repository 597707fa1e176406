import { PRICE } from '../../scripts/cost/prices.ts';
import { atLeast, atMost } from '../support/report.ts';
import { type Bench, counted, engineAt, type Found, MIB, peersAt, rowOf } from './bench.ts';
import { type Limit, limitCpu, limitMemory } from './cgroup.ts';
import type { Client } from './clients.ts';
import { ClientFailed } from './measure.ts';
import { interleaved, type Result } from './rounds.ts';

/** A function of 512 MB: its memory in GB, and its share of a core, which it has whole at 1,769 MB. */
const FUNCTION = { gb: 0.5, share: 512 / 1769 };
/** What Lambda's network gives, MiB/s. */
const NETWORK = 71.5;
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

/** T7, T12: the share of a core that a function of 512 MB has; and what a GiB costs there. */
export async function functionShare(bench: Bench): Promise<Found> {
  const mib = bench.sizes.large;
  const clients = [engineAt(bench, mib), ...peersAt(bench, mib).slice(-1)];
  const results = await limited(bench, clients, mib, limitCpu(FUNCTION.share), bench.rounds.small);
  const [ours, theirs] = results as [Result, Result];
  const targets = [
    atLeast('T7 MiB/s with the CPU of 512 MB', NETWORK, mib / ours.seconds),
    atMost('T12 dollars per million GiB moved', 200, 1_000_000 * dollarsPerGib(ours, mib)),
  ];
  return { targets, runs: [ours, theirs].map((result) => rowOf('CPU of 512 MB', mib, result)) };
}

function dollarsPerGib(result: Result, mib: number): number {
  const seconds = Math.max(result.seconds, mib / NETWORK);
  // GETs of a foreign origin cost nothing.
  const dollars = seconds * FUNCTION.gb * PRICE.gbSecond + counted(result).calls * PRICE.storeRequest;
  return (dollars * 1024) / mib;
}
