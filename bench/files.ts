import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { bundle } from '../lib/workflow/step-bundles.ts';
import type { Bench, Found } from './files/bench.ts';
import { canLimit } from './files/cgroup.ts';
import { checkPass } from './files/check-pass.ts';
import { missingPackages, versions } from './files/clients.ts';
import { functionShare, memory, memoryLimit } from './files/limits.ts';
import { type Servers, startServers } from './files/servers.ts';
import { fastOrigin, slowOrigin, slowOriginSmallFile } from './files/speed.ts';
import { starts } from './files/start.ts';
import { printReport } from './support/report.ts';

/**
 * `npm run bench:files`: the transfer engine side by side with `curl | curl`, the AWS CLI, rclone and lib-storage, each with
 * its defaults; and the check of a stored file side by side with `curl | cksum`. Both ends speak TLS through nginx on the second core, the client has the first. Medians over interleaved
 * runs. `--quick` runs everything once with small files: whether it works, not how fast.
 */

const EXPERIMENTS: { ids: string[]; limits?: true; run: (bench: Bench) => Promise<Found> }[] = [
  { ids: ['T1', 'T2', 'T11'], run: fastOrigin },
  { ids: ['T3'], run: slowOrigin },
  { ids: ['T4'], run: slowOriginSmallFile },
  { ids: ['T5'], run: memory },
  { ids: ['T6'], limits: true, run: memoryLimit },
  { ids: ['T7', 'T12'], limits: true, run: functionShare },
  { ids: ['T8'], run: starts },
  { ids: ['T13'], limits: true, run: checkPass },
];
const FULL = { sizes: { small: 64, large: 1024, huge: 16 * 1024 }, rounds: { small: 5, huge: 3 } };
const QUICK = { sizes: { small: 64, large: 256, huge: 512 }, rounds: { small: 1, huge: 1 } };

const boolean = { type: 'boolean', default: false } as const;
const { values } = parseArgs({ options: { json: boolean, quick: boolean, only: { type: 'string', default: '' } } });
const print = (line: string) => process.stderr.write(`${line}\n`);

const missing = missingPackages();
if (missing.length > 0) {
  print(`The benchmark needs these Debian packages, which are missing: ${missing.join(', ')}.`);
  process.exitCode = 2;
} else {
  await main();
}

async function main(): Promise<void> {
  // What watches the client must not take its core.
  execFileSync('taskset', ['-a', '-p', '-c', '1', String(process.pid)], { stdio: 'ignore' });
  const dir = mkdtempSync(join(tmpdir(), 'bench-files-'));
  process.once('exit', () => rmSync(dir, { recursive: true, force: true }));
  const servers = await startServers(dir);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void end(servers, 130));
  try {
    const bundles = {
      engine: childBundle(dir, 'engine'),
      libStorage: childBundle(dir, 'lib-storage'),
      check: childBundle(dir, 'check'),
    };
    const found = await runAll({ servers, bundles, print, ...(values.quick ? QUICK : FULL) });
    const programs = Object.entries(versions()).map(([test, client]) => ({ test, client }));
    const runs = [...found.flatMap((one) => one.runs), ...programs];
    const targets = found.flatMap((one) => one.targets);
    printReport(values.json, targets, runs);
  } finally {
    await servers.stop();
  }
}

async function end(servers: Servers, code: number): Promise<void> {
  await servers.stop();
  process.exit(code);
}

/** The modules of a client in Node.js, bundled as the functions are. */
function childBundle(dir: string, name: 'engine' | 'lib-storage' | 'check'): string {
  const outfile = join(dir, `${name}.mjs`);
  bundle(join(import.meta.dirname, 'files', `${name}-child.ts`), outfile);
  return outfile;
}

async function runAll(bench: Bench): Promise<Found[]> {
  const only = values.only.split(',').filter(Boolean);
  const wanted = EXPERIMENTS.filter(({ ids }) => only.length === 0 || ids.some((id) => only.includes(id)));
  const found: Found[] = [];
  for (const { ids, limits, run } of wanted) {
    if (limits && !canLimit()) {
      print(`${ids.join(', ')}: not measured, for limits need root and control groups of version 1.`);
      continue;
    }
    print(ids.join(', '));
    found.push(await run(bench));
  }
  return found;
}
