import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { closeSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { buildSync } from 'esbuild';
import { WHOLE_CORE_MB } from '../core/whole-core.ts';
import { BUNDLE_OPTIONS } from '../lib/workflow/step-bundles.ts';
import { type Clients, clientsFor, missingPackages } from './files/clients.ts';
import { canLimit, interleaved, type Limit, limitCpu, limitMemory, type Results } from './files/measure.ts';
import { startServers } from './files/servers.ts';
import { atLeast, atMost, benchmark, type Found, type Target } from './kit.ts';

/**
 * `npm run bench:files`: compares the transfer engine with `curl | curl`, the AWS CLI, rclone and lib-storage, each
 * with its defaults. Origin and sink speak TLS through nginx on the second core; the client has the first. Results are
 * medians over interleaved runs. The engine's time starts when the function has the address: its modules are then
 * loaded. The other programs are measured as whole processes.
 */

const MIB = 1024 * 1024;
/** A function's share of a core at the smallest memory that can be configured. */
const SMALLEST_SHARE = 512 / WHOLE_CORE_MB;
/** The throughput of Lambda's network, MiB/s. */
const NETWORK = 71.5;

interface Experiment {
  id: string;
  what: string;
  /** Whether the origin is slow for each connection. */
  slow?: true;
  limit?: () => Limit;
  clients: (all: Clients) => Partial<Clients>;
  targets: (of: Results<Clients>, mib: number) => Target[];
}

const EXPERIMENTS: Experiment[] = [
  {
    id: 'T1',
    what: 'A fast origin',
    clients: ({ curl, aws, rclone, libStorage, engine }) => ({ engine, curl, aws, rclone, libStorage }),
    targets: ({ engine, curl, aws, rclone, libStorage }) => [
      atMost('T1 wall / curl|curl', 1.1, engine.seconds / curl.seconds),
      atMost('T1 CPU / curl|curl', 1.3, engine.cpuSeconds / curl.cpuSeconds),
      atMost('T1 peak memory, MB', 160, engine.megabytes),
      atMost('T2 wall / aws s3 cp', 0.65, engine.seconds / aws.seconds),
      atMost('T2 wall / rclone', 0.5, engine.seconds / rclone.seconds),
      atMost('T2 wall / lib-storage', 0.45, engine.seconds / libStorage.seconds),
    ],
  },
  {
    id: 'T3',
    what: '20 MB/s for each connection',
    slow: true,
    clients: ({ engine, engine16, aws, rclone, libStorage }) => ({ engine, engine16, aws, rclone, libStorage }),
    targets: ({ engine, engine16, aws, rclone, libStorage }) => {
      const best = Math.min(...[aws, rclone, libStorage].map(({ seconds }) => seconds));
      return [
        atLeast('T3 times faster than the best, 8 connections', 7.5, best / engine.seconds),
        atLeast('T3 times faster than the best, 16 connections', 14, best / engine16.seconds),
      ];
    },
  },
  {
    id: 'T6',
    what: 'The engine finishes in 96 MB of memory',
    limit: () => limitMemory(96 * MIB),
    clients: ({ engine }) => ({ engine }),
    targets: () => [],
  },
  {
    id: 'T7',
    what: 'With the CPU of a function of 512 MB',
    limit: () => limitCpu(SMALLEST_SHARE),
    clients: ({ engine, curl, libStorage }) => ({ engine, curl, libStorage }),
    targets: ({ engine, curl }, mib) => [
      atLeast('T7 MiB/s with the CPU of 512 MB', NETWORK, mib / engine.seconds),
      atMost('T7 CPU / curl|curl', 1.3, engine.cpuSeconds / curl.cpuSeconds),
    ],
  },
];

await benchmark(async ({ quick, dir, screen, experiment }) => {
  const missing = missingPackages();
  if (missing.length > 0) {
    screen.line(`The benchmark needs these Debian packages, which are missing: ${missing.join(', ')}.`);
    process.exitCode = 2;
    return;
  }
  // The measuring process must not use the client's core.
  execFileSync('taskset', ['-a', '-p', '-c', '1', String(process.pid)], { stdio: 'ignore' });
  const servers = await startServers(dir);
  const bundleOf = (name: string) => {
    const outfile = join(dir, `${name}.mjs`);
    buildSync({ ...BUNDLE_OPTIONS, entryPoints: [join(import.meta.dirname, 'files', `${name}-child.ts`)], outfile });
    return outfile;
  };
  const [mib, rounds] = quick ? [256, 1] : [1024, 5];
  const file = sourceFile(dir, mib);
  for (const { id, what, slow, limit: limitOf, clients, targets } of EXPERIMENTS) {
    if (limitOf && !canLimit()) {
      screen.line(`${id}: not measured, because limits need root and control groups of version 1.`);
      continue;
    }
    await experiment(id, `${id}: ${what}`, async (): Promise<Found> => {
      const all = clientsFor(servers, `${slow ? servers.slow : servers.origin}/bench/${file}`, bundleOf);
      const limit = limitOf?.();
      const options = { rounds, bytes: mib * MIB, print: screen.line, limit };
      try {
        const results = await interleaved(servers, clients(all), options);
        return { targets: targets(results, mib), runs: rows(what, mib, results) };
      } finally {
        limit?.remove();
      }
    });
  }
  await servers.stop();
});

function rows(test: string, mib: number, results: Results<Clients>): Found['runs'] {
  return Object.entries(results).map(([client, { seconds, cpuSeconds, megabytes }]) => ({
    ...{ test, client, MiB: mib, seconds: seconds.toFixed(2), 'MiB/s': (mib / seconds).toFixed(0) },
    'CPU s/GiB': ((cpuSeconds * 1024) / mib).toFixed(2),
    'peak RSS MB': Number.isNaN(megabytes) ? '' : megabytes.toFixed(0),
  }));
}

/** Creates a file at the origin. @returns its name at both ends */
function sourceFile(dir: string, mib: number): string {
  const name = `${mib}.csv`;
  const file = openSync(join(dir, 'files', 'bench', name), 'w');
  const block = randomBytes(16 * MIB);
  for (let at = 0; at < mib * MIB; at += block.length) writeSync(file, block);
  closeSync(file);
  return name;
}
