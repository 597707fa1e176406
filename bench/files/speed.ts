import type { Found } from '../support/kit.ts';
import { atLeast, atMost } from '../support/targets.ts';
import { type Bench, counted, engineAt, MIB, peersAt, rowOf } from './bench.ts';
import { interleaved, type Result } from './rounds.ts';

/** Connections of the engine by default. */
const MOST = 8;

/**
 * T1, T2, T11: a fast origin. The engine's time counts from the moment that the function has the address: its modules are
 * loaded by then. The table has the whole process as well.
 */
export async function fastOrigin(bench: Bench): Promise<Found> {
  const mib = bench.sizes.large;
  const ways = [{}, { loaded: false }];
  const clients = [...ways.map((how) => engineAt(bench, mib, how)), ...peersAt(bench, mib)];
  const options = { rounds: bench.rounds.small, bytes: mib * MIB, print: bench.print };
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

/** What it costs that the function has more loaded than the engine. */
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

/** T3: an origin that gives each connection 20 MB a second; how much faster than the fastest of the three. */
export function slowOrigin(bench: Bench): Promise<Found> {
  return throttled(bench, bench.sizes.large, [
    { id: 'T3', n: 8, aim: 7.5 },
    { id: 'T3', n: 16, aim: 14 },
  ]);
}

/** T4: the same with a file that is small for so many connections. */
export function slowOriginSmallFile(bench: Bench): Promise<Found> {
  return throttled(bench, bench.sizes.small, [{ id: 'T4', n: 8, aim: 6 }]);
}

async function throttled(bench: Bench, mib: number, aims: { id: string; n: number; aim: number }[]): Promise<Found> {
  const ours = aims.map(({ n }) => engineAt(bench, mib, { connections: { initial: n, most: n } }, true));
  const [, ...three] = peersAt(bench, mib, true);
  const options = { rounds: bench.rounds.small, bytes: mib * MIB, print: bench.print };
  const results = await interleaved(bench.servers, [...ours, ...three], options);
  const best = Math.min(...results.slice(ours.length).map(({ seconds }) => seconds));
  const targets = aims.map(({ id, n, aim }, index) =>
    atLeast(`${id} times faster, n=${n}`, aim, best / (results[index]?.seconds ?? Number.NaN)),
  );
  return { targets, runs: results.map((result) => rowOf('20 MB/s a connection', mib, result)) };
}
