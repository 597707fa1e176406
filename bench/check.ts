import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createScreen } from '../cli/runs/screen.ts';
import { DEFAULT_MEMORY_MB, PACKED, type Packed, readPacked, writePacked } from './check/packed.ts';
import { OTHERS, OURS, type Reading, readOf, wcOf } from './check/readers.ts';
import { readSheet, SHEETS, type Sheet, writeSheet } from './check/sheets.ts';
import { TEXTS, type Text } from './check/texts.ts';
import type { ProcessCost } from './support/process-cost.ts';
import { atLeast, atMost, median, printReport, type Target } from './support/report.ts';

/**
 * `npm run bench:check`: the pass of PublishFile over the stored bytes (checksum, encoding, records), beside csv-parse, DuckDB
 * and `wc -l`. Each reads the same file from the page cache, in a fresh process on one core; speeds are bytes per second of CPU
 * time, medians over interleaved rounds. Where another reader counts records, too, the counts must be equal. What is packed, with
 * 1 GB of content, is read in a process with the heap of the function: speed is that of the content. `--quick` reads small files
 * once: whether it works, not how fast.
 */

const LEAST_MB_PER_SECOND = 400;
/** With the CPU of its default memory, an invocation has time for 20 GB of content. */
const LEAST_PACKED = 100;
/** XML: 1 GB takes less than four minutes with the CPU of the default memory. */
const LEAST_SHEET = 15;
const WC = 'wc -l';

const boolean = { type: 'boolean', default: false } as const;
const { values } = parseArgs({ options: { json: boolean, quick: boolean } });
const { megabytes, rounds } = values.quick ? { megabytes: 4, rounds: 1 } : { megabytes: 128, rounds: 3 };
const screen = createScreen(process.stderr);

execFileSync('taskset', ['-a', '-p', '-c', String(cpus().length - 1), String(process.pid)], { stdio: 'ignore' });
const dir = mkdtempSync(join(tmpdir(), 'bench-check-'));
const targets: Target[] = [];
const runs: Record<string, string>[] = [];
try {
  for (const text of TEXTS) await measure(text);
  for (const packed of PACKED) await measurePacked(packed);
  for (const sheet of SHEETS) await measureSheet(sheet);
  printReport(values.json, targets, runs);
} finally {
  rmSync(dir, { recursive: true, force: true });
}

async function measure(text: Text): Promise<void> {
  const file = join(dir, `${text.id}.csv`);
  const bytes = text.bytes(megabytes * 1_000_000);
  writeFileSync(file, bytes);
  const speeds = await screen.step(text.what, () => speedsOf(text, file, bytes.length));
  rmSync(file);
  const ours = speeds.get('scan') ?? Number.NaN;
  for (const [reader, speed] of speeds) {
    const slower = reader === 'scan' ? '' : (ours / speed).toFixed(2);
    runs.push({ text: text.what, reader, 'MB/s': speed.toFixed(0), 'scan / reader': slower });
  }
  if (!text.rare) targets.push(atLeast(`check-${text.id}-mb-per-s`, LEAST_MB_PER_SECOND, ours));
  for (const reader of text.readers === 'all' ? OTHERS : []) {
    targets.push(atLeast(`check-${text.id}-against-${reader}`, 1, ours / (speeds.get(reader) ?? Number.NaN)));
  }
}

function measurePacked(packed: Packed): Promise<void> {
  const write = (path: string, size: number) => writePacked(packed, path, size);
  return measureContent({ ...packed, least: LEAST_PACKED }, write, (path) => readPacked({ path }));
}

function measureSheet(sheet: Sheet): Promise<void> {
  return measureContent({ ...sheet, least: LEAST_SHEET }, (path, size) => writeSheet(sheet, path, size), readSheet);
}

async function measureContent(
  packed: { id: string; what: string; least: number },
  write: (path: string, size: number) => Promise<number>,
  read: (path: string) => Promise<ProcessCost & { rows: number }>,
): Promise<void> {
  const path = join(dir, packed.id);
  const { bytes, cost } = await screen.step(packed.what, async () => {
    const size = await write(path, values.quick ? 4_000_000 : 1_000_000_000);
    return { bytes: size, cost: await read(path) };
  });
  rmSync(path);
  const speed = bytes / 1e6 / cost.cpuSeconds;
  const megabytes = cost.maxRss / 1024 / 1024;
  const memory = { 'MB of memory': megabytes.toFixed(0), rows: String(cost.rows) };
  runs.push({ text: packed.what, reader: 'content', 'MB/s': speed.toFixed(0), 'scan / reader': '', ...memory });
  targets.push(atLeast(`check-${packed.id}-mb-per-s`, packed.least, speed));
  targets.push(atMost(`check-${packed.id}-memory-mb`, DEFAULT_MEMORY_MB, megabytes));
}

/** Megabytes per second of CPU time, by the reader. */
async function speedsOf(text: Text, file: string, size: number): Promise<Map<string, number>> {
  const readers = text.readers === 'all' ? [...OURS, ...OTHERS] : OURS;
  const found = new Map<string, Reading[]>([...readers, WC].map((reader) => [reader, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (const reader of readers) found.get(reader)?.push(await readOf({ ...text, file, size, reader }));
    found.get(WC)?.push(wcOf(file));
  }
  const counts = new Set([...found.values()].flat().flatMap(({ records }) => records ?? []));
  if (counts.size > 1) throw new Error(`The readers count ${[...counts].join(' and ')} records.`);
  const speedOf = (all: Reading[]) => size / 1e6 / median(all.map(({ cpuSeconds }) => cpuSeconds));
  return new Map([...found].map(([reader, all]) => [reader, speedOf(all)]));
}
