import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type CheckJob,
  type CheckReading,
  DEFAULT_MEMORY_MB,
  PACKED,
  readFile,
  SHEET_COLUMNS,
  SHEETS,
  TEXTS,
  type Text,
  writeGzip,
  writeSheet,
} from './check-files.ts';
import { atLeast, atMost, benchmark, type Found, keepToOneCore, median } from './kit.ts';

/**
 * `npm run bench:check`: measures the pass of PublishFile over a stored file in a fresh process on one core, with the
 * heap size of the function. It compares the pass over a CSV file with csv-parse and DuckDB, which read the same file
 * from the page cache and must count the same records. Speeds are bytes of content per second of CPU time, medians
 * over interleaved rounds.
 */

const LEAST_MB_PER_SECOND = 250;
/** Each of the others must take at least this many times as long. */
const TIMES = { 'csv-parse': 5, duckdb: 1 } as const;
/** The minimum speed, MB/s: an invocation can read 20 GB of content with the CPU of its default memory. */
const LEAST_PACKED = 100;
/** The minimum speed for XML, MB/s: 1 GB takes less than two minutes with the CPU of the default memory. */
const LEAST_SHEET = 30;

await benchmark(async ({ quick, dir, experiment }) => {
  keepToOneCore();
  const size = quick ? { bytes: 4_000_000, rounds: 1 } : { bytes: 128_000_000, rounds: 3 };
  const content = quick ? 4_000_000 : 1_000_000_000;
  for (const text of TEXTS) await experiment([text.id], text.what, () => compare(text, dir, size));
  const large = (id: string, what: string, least: number, columns: number, write: (path: string) => Promise<number>) =>
    experiment([id], what, () => measure({ id, what, least, columns, write }, join(dir, id)));
  for (const text of PACKED) {
    await large(text.id, text.what, LEAST_PACKED, text.columns, (path) => writeGzip(text, path, content));
  }
  for (const { id, what, texts } of SHEETS) {
    await large(id, what, LEAST_SHEET, SHEET_COLUMNS, (path) => writeSheet(texts, path, content));
  }
});

/** The speed of the pass over a CSV file, compared with the other readers. */
async function compare(text: Text, dir: string, size: { bytes: number; rounds: number }): Promise<Found> {
  const { id, what, columns, least = LEAST_MB_PER_SECOND } = text;
  const file = join(dir, `${id}.csv`);
  const bytes = text.bytes(size.bytes);
  writeFileSync(file, bytes);
  const others = text.ours ? [] : (['csv-parse', 'duckdb'] as const);
  const readers: CheckJob['reader'][] = ['publish', ...others];
  const readings: (CheckReading & { reader: CheckJob['reader'] })[] = [];
  for (let round = 0; round < size.rounds; round += 1) {
    for (const reader of readers) readings.push({ reader, ...(await readFile({ reader, file, columns })) });
  }
  rmSync(file);
  const counts = new Set(readings.map(countOf));
  if (counts.size > 1) throw new Error(`The readers count ${[...counts].join(' and ')} records.`);
  const speedOf = (reader: CheckJob['reader']) =>
    bytes.length / 1e6 / median(readings.flatMap((one) => (one.reader === reader ? [one.cpuSeconds] : [])));
  const ours = speedOf('publish');
  return {
    runs: readers.map((reader) => ({
      ...{ text: what, reader, 'MB/s': speedOf(reader).toFixed(0) },
      'pass / reader': (ours / speedOf(reader)).toFixed(2),
    })),
    targets: [
      atLeast(`check-${id}-mb-per-s`, least, ours),
      ...others.map((other) => atLeast(`check-${id}-against-${other}`, TIMES[other], ours / speedOf(other))),
    ],
  };
}

/** Speed and memory of the pass over a large packed file or spreadsheet. */
async function measure({ id, what, least, columns, write }: Large, file: string): Promise<Found> {
  const bytes = await write(file);
  const reading = await readFile({ reader: 'publish', file, columns });
  rmSync(file);
  const { cpuSeconds, maxRss } = reading;
  const rows = countOf(reading);
  const speed = bytes / 1e6 / cpuSeconds;
  const megabytes = maxRss / 1024 / 1024;
  const run = { text: what, reader: 'publish', 'MB/s': speed.toFixed(0), 'MB of memory': megabytes.toFixed(0), rows };
  const targets = [
    atLeast(`check-${id}-mb-per-s`, least, speed),
    atMost(`check-${id}-memory-mb`, DEFAULT_MEMORY_MB, megabytes),
  ];
  return { runs: [run], targets };
}

/** The records that a reader counted. @throws if it refused the file or could not count its records */
function countOf({ rows, refused }: CheckReading): number {
  if (refused !== null || rows === null) throw new Error(refused ?? 'The reader did not count the records.');
  return rows;
}

interface Large {
  id: string;
  what: string;
  least: number;
  columns: number;
  /** Writes the file and returns the bytes of its content. */
  write: (path: string) => Promise<number>;
}
