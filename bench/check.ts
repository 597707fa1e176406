import { spawnSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type CheckJob,
  DEFAULT_MEMORY_MB,
  PACKED,
  readFile,
  SHEET_COLUMNS,
  SHEETS,
  TEXTS,
  type Text,
  writePacked,
  writeSheet,
} from './check-files.ts';
import { atLeast, atMost, benchmark, type Found, keepToOneCore, median } from './kit.ts';

/**
 * `npm run bench:check`: compares the pass of PublishFile over the stored bytes (checksum, encoding, records) with
 * csv-parse, DuckDB and `wc -l`. Each reads the same file from the page cache, in a fresh process on one core. Speeds
 * are bytes per second of CPU time, medians over interleaved rounds. Readers that count records must agree. Packed
 * files with 1 GB of content are read in a process with the function's heap size; their speed is that of the content.
 */

const LEAST_MB_PER_SECOND = 250;
/** csv-parse must take at least this many times as long. */
const TIMES = { 'csv-parse': 5, duckdb: 1 } as const;
/** The minimum speed, MB/s: an invocation can read 20 GB of content with the CPU of its default memory. */
const LEAST_PACKED = 100;
/** The minimum speed for XML, MB/s: 1 GB takes less than four minutes with the CPU of the default memory. */
const LEAST_SHEET = 15;
const WC = 'wc -l';
const OTHERS = ['csv-parse', 'duckdb'] as const;

/** `rows` is undefined if the reader counts something other than records. */
type Reading = { cpuSeconds: number; rows?: number };

await benchmark(async ({ quick, dir, experiment }) => {
  keepToOneCore();
  const size = quick ? { megabytes: 4, rounds: 1 } : { megabytes: 128, rounds: 3 };
  const content = quick ? 4_000_000 : 1_000_000_000;
  for (const text of TEXTS) await experiment([text.id], text.what, () => measure(text, dir, size));
  for (const packed of PACKED) {
    const how = { ...packed, least: LEAST_PACKED, reader: 'packed', columns: 7 } as const;
    const write = (path: string) => writePacked(packed, path, content);
    await experiment([packed.id], packed.what, () => measureContent(how, join(dir, packed.id), write));
  }
  for (const sheet of SHEETS) {
    const how = { ...sheet, least: LEAST_SHEET, reader: 'sheet', columns: SHEET_COLUMNS } as const;
    const write = (path: string) => writeSheet(sheet, path, content);
    await experiment([sheet.id], sheet.what, () => measureContent(how, join(dir, sheet.id), write));
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
  {
    id,
    what,
    least,
    reader,
    columns,
  }: Pick<CheckJob, 'reader' | 'columns'> & { id: string; what: string; least: number },
  file: string,
  write: (path: string) => Promise<number>,
): Promise<Found> {
  const bytes = await write(file);
  const { cpuSeconds, maxRss, rows } = await readFile({ reader, file, columns });
  rmSync(file);
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
  const readers = ['scan', ...(text.readers === 'all' ? OTHERS : [])] as const;
  const found = new Map<string, Reading[]>([...readers, WC].map((reader) => [reader, []]));
  const { columns, encoding } = text;
  for (let round = 0; round < rounds; round += 1) {
    for (const reader of readers) found.get(reader)?.push(await readFile({ reader, file, columns, encoding }));
    found.get(WC)?.push(wcOf(file));
  }
  const counts = new Set([...found.values()].flat().flatMap(({ rows }) => rows ?? []));
  if (counts.size > 1) throw new Error(`The readers count ${[...counts].join(' and ')} records.`);
  const speedOf = (all: Reading[]) => size / 1e6 / median(all.map(({ cpuSeconds }) => cpuSeconds));
  return new Map([...found].map(([reader, all]) => [reader, speedOf(all)]));
}

/** Measures the whole process of `wc -l`, which counts lines, not records. */
function wcOf(file: string): Reading {
  const { stderr, status } = spawnSync('bash', ['-c', `TIMEFORMAT='%3U %3S'; time wc -l '${file}' >/dev/null`]);
  const [user, system] = stderr.toString().trim().split(' ').map(Number);
  if (status !== 0 || user === undefined || system === undefined) throw new Error(`wc ended with ${status}: ${stderr}`);
  return { cpuSeconds: user + system };
}
