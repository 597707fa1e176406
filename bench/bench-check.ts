import { createReadStream, createWriteStream, rmSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import {
  type CheckJob,
  type CheckReading,
  DEFAULT_MEMORY_MB,
  readFile,
  SHEET_COLUMNS,
  writeSheet,
} from './check-files.ts';
import { QUOTED, TEXTS, writeCsv } from './csv-files.ts';
import { atLeast, atMost, benchmark, type Found, keepToOneCore, median } from './kit.ts';

/**
 * `npm run bench:check`: measures the pass of PublishFile over a stored file in a fresh process on one core, with the
 * heap size of the function. It compares the pass over a CSV file with csv-parse and DuckDB, which read the same file
 * from the page cache and must count the same records. Speeds are bytes of content per second of CPU time, medians
 * over interleaved rounds.
 */

/** The minimum speeds for CSV, MB/s; the second where many cells are names of columns. */
const [LEAST, LEAST_LABELS] = [250, 150];
/** Encodings that the other programs cannot read. */
const ONLY_OURS = ['windows-1255', 'utf-16'];
/** Each of the others must take at least this many times as long. */
const TIMES = { 'csv-parse': 5, duckdb: 1 } as const;
/** The minimum speed, MB/s: an invocation can read 20 GB of content with the CPU of its default memory. */
const LEAST_PACKED = 100;
/** The minimum speed for XML, MB/s: 1 GB takes less than two minutes with the CPU of the default memory. */
const LEAST_SHEET = 30;

await benchmark(async ({ quick, dir, experiment }) => {
  keepToOneCore();
  const [size, rounds, content] = quick ? [4_000_000, 1, 4_000_000] : [128_000_000, 3, 1_000_000_000];
  const file = join(dir, 'file');
  for (const [id, text] of Object.entries(TEXTS)) {
    await experiment(id, `CSV: ${id}`, async () => {
      const { bytes, header } = writeCsv(text, file, size);
      return compare(id, file, bytes, header.length, rounds);
    });
  }
  await experiment('gzip', 'gzip of quoted', async () => {
    const { path, bytes, header } = writeCsv(QUOTED, `${file}.csv`, content);
    await pipeline(createReadStream(path), createGzip(), createWriteStream(file));
    rmSync(path);
    return measure('gzip', LEAST_PACKED, header.length, file, bytes);
  });
  await experiment('xlsx', 'xlsx, 21 columns, millions of shared texts', async () =>
    measure('xlsx', LEAST_SHEET, SHEET_COLUMNS, file, await writeSheet(file, content)),
  );
});

/** The speed of the pass over a CSV file, compared with the other readers. */
async function compare(id: string, file: string, bytes: number, columns: number, rounds: number): Promise<Found> {
  const others = ONLY_OURS.includes(id) ? [] : (['csv-parse', 'duckdb'] as const);
  const readers: CheckJob['reader'][] = ['publish', ...others];
  const readings: (CheckReading & { reader: CheckJob['reader'] })[] = [];
  for (let round = 0; round < rounds; round += 1) {
    for (const reader of readers) readings.push({ reader, ...(await readFile({ reader, file, columns })) });
  }
  rmSync(file);
  const counts = new Set(readings.map(countOf));
  if (counts.size > 1) throw new Error(`The readers count ${[...counts].join(' and ')} records.`);
  const speedOf = (reader: CheckJob['reader']) =>
    bytes / 1e6 / median(readings.flatMap((one) => (one.reader === reader ? [one.cpuSeconds] : [])));
  const ours = speedOf('publish');
  return {
    runs: readers.map((reader) => ({ id, reader, 'MB/s': speedOf(reader).toFixed(0) })),
    targets: [
      atLeast(`check-${id}-mb-per-s`, id === 'labels' ? LEAST_LABELS : LEAST, ours),
      ...others.map((other) => atLeast(`check-${id}-against-${other}`, TIMES[other], ours / speedOf(other))),
    ],
  };
}

/** Speed and memory of the pass over a large packed file or spreadsheet. @param bytes of its content */
async function measure(id: string, least: number, columns: number, file: string, bytes: number): Promise<Found> {
  const reading = await readFile({ reader: 'publish', file, columns });
  rmSync(file);
  const speed = bytes / 1e6 / reading.cpuSeconds;
  const megabytes = reading.maxRss / 1024 / 1024;
  const run = { id, 'MB/s': speed.toFixed(0), 'MB of memory': megabytes.toFixed(0), rows: countOf(reading) };
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
