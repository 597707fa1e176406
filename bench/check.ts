import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DEFAULT_MEMORY_MB, PACKED, readPacked, writePacked } from './check/packed.ts';
import { OTHERS, OURS, type Reading, readOf, wcOf } from './check/readers.ts';
import { readSheet, SHEETS, writeSheet } from './check/sheets.ts';
import { TEXTS, type Text } from './check/texts.ts';
import { benchmark, type Found, keepToOneCore } from './support/kit.ts';
import type { ProcessCost } from './support/process-cost.ts';
import { atLeast, atMost, median } from './support/targets.ts';

/**
 * `npm run bench:check`: the pass of PublishFile over the stored bytes (checksum, encoding, records), beside csv-parse, DuckDB
 * and `wc -l`. Each reads the same file from the page cache, in a fresh process on one core; speeds are bytes per second of CPU
 * time, medians over interleaved rounds. Where another reader counts records, too, the counts must be equal. What is packed, with
 * 1 GB of content, is read in a process with the heap of the function: speed is that of the content.
 */

const LEAST_MB_PER_SECOND = 250;
/** csv-parse is to take so many times as long. */
const TIMES = { 'csv-parse': 5, duckdb: 1 } as const;
/** An invocation has time for 20 GB of content with the CPU of its default memory. */
const LEAST_PACKED = 100;
/** XML: 1 GB takes less than four minutes with the CPU of the default memory. */
const LEAST_SHEET = 15;
const WC = 'wc -l';

await benchmark(async ({ quick, dir, experiment }) => {
  keepToOneCore();
  const size = quick ? { megabytes: 4, rounds: 1 } : { megabytes: 128, rounds: 3 };
  const content = quick ? 4_000_000 : 1_000_000_000;
  for (const text of TEXTS) await experiment([text.id], text.what, () => measure(text, dir, size));
  for (const packed of PACKED) {
    const path = join(dir, packed.id);
    const read = async () => ({ bytes: await writePacked(packed, path, content), ...(await readPacked({ path })) });
    await experiment([packed.id], packed.what, () => measureContent({ ...packed, least: LEAST_PACKED }, path, read));
  }
  for (const sheet of SHEETS) {
    const path = join(dir, sheet.id);
    const read = async () => ({ bytes: await writeSheet(sheet, path, content), ...(await readSheet(path)) });
    await experiment([sheet.id], sheet.what, () => measureContent({ ...sheet, least: LEAST_SHEET }, path, read));
  }
});

async function measure(text: Text, dir: string, size: { megabytes: number; rounds: number }): Promise<Found> {
  const file = join(dir, `${text.id}.csv`);
  const bytes = text.bytes(size.megabytes * 1_000_000);
  writeFileSync(file, bytes);
  const speeds = await speedsOf(text, file, bytes.length, size.rounds);
  rmSync(file);
  const ours = speeds.get('scan') ?? Number.NaN;
  const runs = [...speeds].map(([reader, speed]) => {
    const slower = reader === 'scan' ? '' : (ours / speed).toFixed(2);
    return { text: text.what, reader, 'MB/s': speed.toFixed(0), 'scan / reader': slower };
  });
  const targets = text.rare ? [] : [atLeast(`check-${text.id}-mb-per-s`, text.least ?? LEAST_MB_PER_SECOND, ours)];
  for (const reader of text.readers === 'all' ? OTHERS : []) {
    targets.push(
      atLeast(`check-${text.id}-against-${reader}`, TIMES[reader], ours / (speeds.get(reader) ?? Number.NaN)),
    );
  }
  return { runs, targets };
}

async function measureContent(
  { id, what, least }: { id: string; what: string; least: number },
  path: string,
  read: () => Promise<ProcessCost & { rows: number; bytes: number }>,
): Promise<Found> {
  const { bytes, cpuSeconds, maxRss, rows } = await read();
  rmSync(path);
  const speed = bytes / 1e6 / cpuSeconds;
  const megabytes = maxRss / 1024 / 1024;
  const run = { text: what, reader: 'content', 'MB/s': speed.toFixed(0), 'MB of memory': megabytes.toFixed(0), rows };
  const targets = [
    atLeast(`check-${id}-mb-per-s`, least, speed),
    atMost(`check-${id}-memory-mb`, DEFAULT_MEMORY_MB, megabytes),
  ];
  return { runs: [run], targets };
}

/** Megabytes per second of CPU time, by the reader. */
async function speedsOf(text: Text, file: string, size: number, rounds: number): Promise<Map<string, number>> {
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
