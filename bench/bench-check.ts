import { createReadStream, createWriteStream, rmSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { type CheckJob, DEFAULT_MEMORY_MB, readFile, SHEET_COLUMNS, writeSheet } from './check-files.ts';
import { QUOTED, TEXTS, writeCsv } from './csv-files.ts';
import { atLeast, atMost, benchmark, type Found, keepToOneCore, median } from './kit.ts';

/**
 * `npm run bench:check`: measures the pass of PublishFile over a stored file in a fresh process on one core, with the
 * heap size of the function. It compares the pass over a CSV file with csv-parse and DuckDB, which read the same file
 * from the page cache and must count the same records. Speeds are bytes of content per second of CPU time, medians
 * over interleaved rounds.
 */

/** The minimum speed, MB/s. */
const LEAST = 250;
/**
 * Other minimum speeds. labels: many cells are names of columns. With these speeds and the CPU of the default memory, an
 * invocation can read 20 GB of content (gzip), and reads 1 GB of XML in less than two minutes (xlsx).
 */
const LEAST_OF: Record<string, number> = { labels: 150, gzip: 100, xlsx: 30 };
/** Each other reader must take at least this many times as long. */
const TIMES = { 'csv-parse': 5, duckdb: 1 } as const;
const OTHERS = ['csv-parse', 'duckdb'] as const;
/** Encodings that the other programs cannot read. */
const ONLY_OURS = ['windows-1255', 'utf-16'];

await benchmark(async ({ quick, dir, experiment }) => {
  keepToOneCore();
  const [size, rounds, content] = quick ? [4_000_000, 1, 4_000_000] : [128_000_000, 3, 1_000_000_000];
  const file = join(dir, 'file');
  for (const [id, text] of Object.entries(TEXTS)) {
    await experiment(id, `CSV: ${id}`, async () => {
      const { bytes, header } = writeCsv(text, file, size);
      return measure(id, { file, columns: header.length }, bytes, ONLY_OURS.includes(id) ? [] : OTHERS, rounds);
    });
  }
  await experiment('gzip', 'gzip of quoted', async () => {
    const { path, bytes, header } = writeCsv(QUOTED, `${file}.csv`, content);
    await pipeline(createReadStream(path), createGzip(), createWriteStream(file));
    rmSync(path);
    return measure('gzip', { file, columns: header.length }, bytes);
  });
  await experiment('xlsx', 'xlsx, 21 columns, millions of shared texts', async () =>
    measure('xlsx', { file, columns: SHEET_COLUMNS }, await writeSheet(file, content)),
  );
});

/**
 * Speed and memory of the pass over a file, compared with other readers. @param bytes of its content
 * @throws Error if a reader refuses the file, or they do not count the same records
 */
async function measure(
  id: string,
  job: Omit<CheckJob, 'reader'>,
  bytes: number,
  others: readonly (keyof typeof TIMES)[] = [],
  rounds = 1,
): Promise<Found> {
  const readers: CheckJob['reader'][] = ['publish', ...others];
  const readings: (Awaited<ReturnType<typeof readFile>> & Pick<CheckJob, 'reader'>)[] = [];
  for (let round = 0; round < rounds; round += 1) {
    for (const reader of readers) readings.push({ reader, ...(await readFile({ ...job, reader })) });
  }
  rmSync(job.file);
  const [rows, ...more] = new Set(readings.map(({ rows, refused }) => refused ?? rows));
  if (typeof rows !== 'number' || more.length > 0)
    throw new Error(`The readers count ${[rows, ...more].join(' and ')}.`);
  const of = (reader: CheckJob['reader'], figure: 'cpuSeconds' | 'maxRss') =>
    median(readings.filter((one) => one.reader === reader).map((one) => one[figure]));
  const speedOf = (reader: CheckJob['reader']) => bytes / 1e6 / of(reader, 'cpuSeconds');
  const megabytesOf = (reader: CheckJob['reader']) => of(reader, 'maxRss') / 1024 / 1024;
  return {
    runs: readers.map((reader) => ({
      ...{ id, reader, rows, 'MB/s': speedOf(reader).toFixed(0), 'MB of memory': megabytesOf(reader).toFixed(0) },
    })),
    targets: [
      atLeast(`check-${id}-mb-per-s`, LEAST_OF[id] ?? LEAST, speedOf('publish')),
      atMost(`check-${id}-memory-mb`, DEFAULT_MEMORY_MB, megabytesOf('publish')),
      ...others.map((other) =>
        atLeast(`check-${id}-against-${other}`, TIMES[other], speedOf('publish') / speedOf(other)),
      ),
    ],
  };
}
