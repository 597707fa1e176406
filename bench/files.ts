import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { bundle } from '../lib/workflow/step-bundles.ts';
import { missingPackages, versions } from './files/clients.ts';
import { type Bench, fastOrigin, functionShare, memory, memoryLimit, slowOrigin } from './files/experiments.ts';
import { canLimit } from './files/measure.ts';
import { startServers } from './files/servers.ts';
import { starts } from './files/start.ts';
import { benchmark, type Found, type Kit } from './kit.ts';

/**
 * `npm run bench:files`: compares the transfer engine with `curl | curl`, the AWS CLI, rclone and lib-storage, each
 * with its defaults. Both ends speak TLS through nginx on the second core; the client has the first. Results are
 * medians over interleaved runs.
 */

const EXPERIMENTS: { ids: string[]; what: string; limits?: true; run: (bench: Bench) => Promise<Found> }[] = [
  { ids: ['T1', 'T2', 'T11'], what: 'A fast origin', run: fastOrigin },
  { ids: ['T3'], what: 'An origin that is slow for each connection', run: slowOrigin },
  { ids: ['T5'], what: 'Memory by size of the file', run: memory },
  { ids: ['T6'], what: 'In 96 MB of memory', limits: true, run: memoryLimit },
  { ids: ['T7'], what: 'With the CPU of a function of 512 MB', limits: true, run: functionShare },
];
const FULL = { sizes: { large: 1024, huge: 16 * 1024 }, rounds: { large: 5, huge: 3 } };
const QUICK = { sizes: { large: 256, huge: 512 }, rounds: { large: 1, huge: 1 } };

await benchmark(async (kit) => {
  const { quick, dir, wanted, experiment } = kit;
  await experiment(['T8'], 'Starts of the functions', async () => starts(dir, quick ? 1 : undefined));
  const moves = EXPERIMENTS.filter(({ ids }) => wanted(ids));
  if (moves.length > 0) await withServers(kit, moves);
});

async function withServers({ quick, dir, screen, experiment }: Kit, moves: typeof EXPERIMENTS): Promise<void> {
  const missing = missingPackages();
  if (missing.length > 0) {
    screen.line(`The benchmark needs these Debian packages, which are missing: ${missing.join(', ')}.`);
    process.exitCode = 2;
    return;
  }
  // The measuring process must not use the client's core.
  execFileSync('taskset', ['-a', '-p', '-c', '1', String(process.pid)], { stdio: 'ignore' });
  const servers = await startServers(dir);
  const bundles = { engine: childBundle(dir, 'engine'), libStorage: childBundle(dir, 'lib-storage') };
  const bench: Bench = { servers, bundles, print: screen.line, ...(quick ? QUICK : FULL) };
  for (const { ids, what, limits, run } of moves) {
    if (!limits || canLimit()) await experiment(ids, `${ids.join(', ')}: ${what}`, () => run(bench));
    else screen.line(`${ids.join(', ')}: not measured, for limits need root and control groups of version 1.`);
  }
  for (const [program, version] of Object.entries(versions())) screen.line(`${program}: ${version}`);
  await servers.stop();
}

/** Bundles a client in Node.js as the functions are bundled. */
function childBundle(dir: string, name: 'engine' | 'lib-storage'): string {
  const outfile = join(dir, `${name}.mjs`);
  bundle(join(import.meta.dirname, 'files', `${name}-child.ts`), outfile);
  return outfile;
}
