import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createScreen } from '../cli/runs/screen.ts';
import { atMost, printReport, type Target } from './support/report.ts';
import { FILES, type PublishedFile, tableOf, writeFile } from './tables/files.ts';

/**
 * `npm run bench:tables`: the Parquet file of a published CSV file of 1 GB, as WriteTable makes it, in a fresh process on one
 * core: how much memory that takes, and how much CPU. What is written is counted and discarded. `--quick` makes tables of small
 * files: whether it works, not how well; `--only NAME` one of them.
 */

const MOST_MEGABYTES = 512;
/** Half of the time that an invocation has. */
const MOST_SECONDS = 450;

const boolean = { type: 'boolean', default: false } as const;
const { values } = parseArgs({ options: { json: boolean, quick: boolean, only: { type: 'string' } } });
const bytes = values.quick ? 4_000_000 : 1_000_000_000;
const screen = createScreen(process.stderr);

execFileSync('taskset', ['-a', '-p', '-c', String(cpus().length - 1), String(process.pid)], { stdio: 'ignore' });
const dir = mkdtempSync(join(tmpdir(), 'bench-tables-'));
const targets: Target[] = [];
const runs: Record<string, string>[] = [];
try {
  for (const file of FILES.filter(({ id }) => (values.only ?? id) === id)) await measure(file);
  printReport(values.json, targets, runs);
} finally {
  rmSync(dir, { recursive: true, force: true });
}

async function measure(file: PublishedFile): Promise<void> {
  const path = join(dir, `${file.id}.csv`);
  const table = await screen.step(file.what, () => tableOf(writeFile(file, path, bytes)));
  rmSync(path);
  const megabytes = table.maxRss / 1024 / 1024;
  runs.push({
    ...{ file: file.what, rows: String(table.rows), 'CPU s': table.cpuSeconds.toFixed(1) },
    ...{ 'MB/s of CPU': (bytes / 1e6 / table.cpuSeconds).toFixed(1), 'MB of memory': megabytes.toFixed(0) },
    'table / file': (table.bytes / bytes).toFixed(2),
  });
  targets.push(atMost(`tables-${file.id}-memory-mb`, MOST_MEGABYTES, megabytes));
  targets.push(atMost(`tables-${file.id}-cpu-s`, MOST_SECONDS, table.cpuSeconds));
}
