import { closeSync, createReadStream, openSync, readSync } from 'node:fs';
import { DuckDBInstance } from '@duckdb/node-api';
import { parse } from 'csv-parse';
import { givenJob, whenBegun } from '../support/children.ts';
import { costOf } from '../support/process-cost.ts';
import type { ReaderJob, Reading } from './readers.ts';
import { scanObject } from './scan-object.ts';

/** Reads a file by one reader, and reports what it cost. */

/** The bucket's bytes come in TLS records of this size. */
const CHUNK_BYTES = 16 * 1024;

const job = givenJob<ReaderJob>();
const { file, encoding, width } = job;
const READ: Record<ReaderJob['reader'], () => Promise<number>> = { scan, 'csv-parse': csvParse, duckdb };

await whenBegun(async (): Promise<Reading> => {
  let records = 0;
  const { cpuSeconds } = await costOf(async () => {
    records = await READ[job.reader]();
  });
  return { cpuSeconds, records };
});

function* chunks(): Generator<Uint8Array> {
  const descriptor = openSync(file, 'r');
  const buffer = Buffer.alloc(CHUNK_BYTES);
  for (;;) {
    const read = readSync(descriptor, buffer);
    if (read === 0) break;
    yield buffer.subarray(0, read);
  }
  closeSync(descriptor);
}

function scan(): Promise<number> {
  return scanObject(asynchronous(chunks()), width, encoding);
}

async function* asynchronous<T>(values: Iterable<T>): AsyncGenerator<T> {
  yield* values;
}

async function csvParse(): Promise<number> {
  const parser = createReadStream(file).pipe(parse({ relax_column_count: true, skip_empty_lines: true }));
  let records = 0;
  parser.on('readable', () => {
    while (parser.read() !== null) records += 1;
  });
  await new Promise((resolve, reject) => parser.on('end', resolve).on('error', reject));
  return records;
}

async function duckdb(): Promise<number> {
  const instance = await DuckDBInstance.create(':memory:', { threads: '1' });
  const connection = await instance.connect();
  const options = `delim=',', quote='"', escape='"', header=true, all_varchar=true`;
  const found = await connection.runAndReadAll(`select count(*)::integer from read_csv($1, ${options})`, [file]);
  return Number(found.getRows()[0]?.[0]) + 1;
}
