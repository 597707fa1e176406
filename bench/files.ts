import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { closeSync, existsSync, ftruncateSync, openSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { WHOLE_CORE_MB } from '../core/whole-core.ts';
import { bundle } from '../lib/workflow/step-bundles.ts';
import { type Client, engine, type Job, missingPackages, peers, versions } from './files/clients.ts';
import {
  ClientFailed,
  canLimit,
  interleaved,
  type Limit,
  limitCpu,
  limitMemory,
  type Result,
} from './files/measure.ts';
import { type Servers, startServers } from './files/servers.ts';
import { atLeast, atMost, benchmark, exactly, type Found, type Row } from './kit.ts';

/**
 * `npm run bench:files`: compares the transfer engine with `curl | curl`, the AWS CLI, rclone and lib-storage, each
 * with its defaults. Both ends speak TLS through nginx on the second core; the client has the first. Results are
 * medians over interleaved runs. The engine's time starts when the function has the address: its modules are then
 * loaded. The other programs are measured as whole processes.
 */

const EXPERIMENTS: { ids: string[]; what: string; limits?: true; run: (bench: Bench) => Promise<Found> }[] = [
  { ids: ['T1', 'T2'], what: 'A fast origin', run: fastOrigin },
  { ids: ['T3'], what: 'An origin that is slow for each connection', run: slowOrigin },
  { ids: ['T5'], what: 'Memory by size of the file', run: memory },
  { ids: ['T6'], what: 'In 96 MB of memory', limits: true, run: memoryLimit },
  { ids: ['T7'], what: 'With the CPU of a function of 512 MB', limits: true, run: functionShare },
];
const MIB = 1024 * 1024;
/** File sizes in MiB, and the number of rounds for each client. */
const FULL = { large: 1024, huge: 16 * 1024, rounds: 5 };
const QUICK = { large: 256, huge: 512, rounds: 1 };
/** Larger files (MiB) are sparse: no speed depends on the content, and writing 16 GiB takes long. */
const LARGEST_WRITTEN = 1024;
/** A function's share of a core at the smallest memory that can be configured. */
const SMALLEST_SHARE = 512 / WHOLE_CORE_MB;
/** The throughput of Lambda's network, MiB/s. */
const NETWORK = 71.5;
const MEMORY_LIMIT = 96 * MIB;

/** The shared parts of all experiments. */
interface Bench {
  large: number;
  huge: number;
  /** Clients for a file of that size in MiB: the lower bound, and the three that the engine is compared with. */
  peers: (mib: number, slow?: boolean) => Client[];
  engine: (mib: number, connections?: Job['connections'], slow?: boolean) => Client;
  run: (clients: Client[], mib: number, limit?: Limit) => Promise<Result[]>;
  print: (line: string) => void;
}

await benchmark(async ({ quick, dir, screen, wanted, experiment }) => {
  const missing = missingPackages();
  if (missing.length > 0) {
    screen.line(`The benchmark needs these Debian packages, which are missing: ${missing.join(', ')}.`);
    process.exitCode = 2;
    return;
  }
  // The measuring process must not use the client's core.
  execFileSync('taskset', ['-a', '-p', '-c', '1', String(process.pid)], { stdio: 'ignore' });
  const servers = await startServers(dir);
  const bench = benchOf(servers, quick ? QUICK : FULL, screen.line);
  for (const { ids, what, limits, run } of EXPERIMENTS.filter((each) => wanted(each.ids))) {
    if (!limits || canLimit()) await experiment(ids, `${ids.join(', ')}: ${what}`, () => run(bench));
    else screen.line(`${ids.join(', ')}: not measured, for limits need root and control groups of version 1.`);
  }
  for (const [program, version] of Object.entries(versions())) screen.line(`${program}: ${version}`);
  await servers.stop();
});

function benchOf(servers: Servers, { rounds, ...sizes }: typeof FULL, print: Bench['print']): Bench {
  const [ours, libStorage] = ['engine', 'lib-storage'].map((name) => {
    const outfile = join(servers.dir, `${name}.mjs`);
    bundle(join(import.meta.dirname, 'files', `${name}-child.ts`), outfile);
    return outfile;
  }) as [string, string];
  const source = (mib: number, slow = false) =>
    `${slow ? servers.slow : servers.origin}/bench/${sourceFile(servers.dir, mib)}`;
  return {
    ...sizes,
    print,
    peers: (mib, slow) => peers(servers, source(mib, slow), libStorage),
    engine: (mib, connections, slow) => engine(servers, source(mib, slow), ours, connections),
    run: async (clients, mib, limit) => {
      try {
        return await interleaved(servers, clients, { rounds, bytes: mib * MIB, print, ...(limit && { limit }) });
      } finally {
        limit?.remove();
      }
    },
  };
}

/** T1, T2: a fast origin. */
async function fastOrigin({ large, run, engine, peers }: Bench): Promise<Found> {
  const results = await run([engine(large), ...peers(large)], large);
  const [ours, floor, aws, rclone, libStorage] = results as [Result, Result, Result, Result, Result];
  const targets = [
    atMost('T1 wall / curl|curl', 1.1, ours.seconds / floor.seconds),
    atMost('T1 CPU / curl|curl', 1.3, ours.cpuSeconds / floor.cpuSeconds),
    atMost('T2 wall / aws s3 cp', 0.65, ours.seconds / aws.seconds),
    atMost('T2 wall / rclone', 0.5, ours.seconds / rclone.seconds),
    atMost('T2 wall / lib-storage', 0.45, ours.seconds / libStorage.seconds),
  ];
  return { targets, runs: rows('fast origin', large, results) };
}

/** T3: an origin that gives each connection 20 MB a second, compared with the fastest of the three programs. */
async function slowOrigin({ large, run, engine, peers }: Bench): Promise<Found> {
  const aims = [
    { n: 8, aim: 7.5 },
    { n: 16, aim: 14 },
  ];
  const ours = aims.map(({ n }) => engine(large, { initial: n, most: n }, true));
  const results = await run([...ours, ...peers(large, true).slice(1)], large);
  const best = Math.min(...results.slice(ours.length).map(({ seconds }) => seconds));
  const targets = aims.map(({ n, aim }, index) =>
    atLeast(`T3 times faster, n=${n}`, aim, best / (results[index]?.seconds ?? Number.NaN)),
  );
  return { targets, runs: rows('20 MB/s a connection', large, results) };
}

/** T5: memory does not grow with the file. */
async function memory({ large, huge, run, engine }: Bench): Promise<Found> {
  const [before] = (await run([engine(large)], large)) as [Result];
  const [after] = (await run([engine(huge)], huge)) as [Result];
  const targets = [
    atMost('T5 memory, huge / large file', 1.1, after.rss / before.rss),
    atMost('T5 peak memory, MB', 160, Math.max(before.rss, after.rss)),
  ];
  return { targets, runs: [...rows('memory', large, [before]), ...rows('memory', huge, [after])] };
}

/** T6: within 96 MB the engine finishes, and lib-storage is killed. */
async function memoryLimit({ large, run, engine, peers, print }: Bench): Promise<Found> {
  const finish = async (clients: Client[]): Promise<Result[]> => {
    try {
      return await run(clients, large, limitMemory(MEMORY_LIMIT));
    } catch (error) {
      if (!(error instanceof ClientFailed)) throw error;
      print(error.message);
      return [];
    }
  };
  const ours = await finish([engine(large)]);
  const theirs = await finish(peers(large).slice(-1));
  const targets = [
    exactly('T6 engine finishes in 96 MB', 1, ours.length),
    exactly('T6 lib-storage finishes in 96 MB', 0, theirs.length),
  ];
  return { targets, runs: rows('96 MB limit', large, ours) };
}

/** T7: a function's share of a core with 512 MB. */
async function functionShare({ large, run, engine, peers }: Bench): Promise<Found> {
  const [floor, , , libStorage] = peers(large) as [Client, Client, Client, Client];
  const results = await run([engine(large), floor, libStorage], large, limitCpu(SMALLEST_SHARE));
  const [ours, curl] = results as [Result, Result];
  const targets = [
    atLeast('T7 MiB/s with the CPU of 512 MB', NETWORK, large / ours.seconds),
    atMost('T7 CPU / curl|curl', 1.3, ours.cpuSeconds / curl.cpuSeconds),
  ];
  return { targets, runs: rows('CPU of 512 MB', large, results) };
}

function rows(test: string, mib: number, results: Result[]): Row[] {
  return results.map(({ name, runs, wall, cpu, seconds, cpuSeconds, rss }) => ({
    test,
    client: name,
    MiB: mib,
    runs,
    'process s': wall.toFixed(2),
    'CPU s': cpu.toFixed(2),
    'transfer s': seconds.toFixed(2),
    'MiB/s': (mib / seconds).toFixed(0),
    'CPU s/GiB': ((cpuSeconds * 1024) / mib).toFixed(2),
    'peak RSS MB': rss.toFixed(0),
  }));
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
