import { closeSync, createReadStream, openSync, readSync, statfsSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { crc32 } from 'node:zlib';
import { DuckDBInstance } from '@duckdb/node-api';
import { parse } from 'csv-parse';
import { fileSource } from '../core/file/byte-source.ts';
import { readCsv } from '../core/file/csv.ts';
import { csvStart } from '../core/file/csv-start.ts';
import { textStart } from '../core/file/encoding.ts';
import type { Expected } from '../core/file/expected.ts';
import { readContent } from '../core/file/read-content.ts';
import { ReadingBudget } from '../core/file/reading-limits.ts';
import { openZip } from '../core/file/zip-archive.ts';
import { sheetFacts } from '../core/spreadsheet/sheet-facts.ts';
import { openWorkbook } from '../core/spreadsheet/workbook.ts';
import { type CheckJob, type CheckReading, columnsOf } from './check-files.ts';
import { answer, costOf, givenJob } from './child.ts';

/** Reads a file to its end with one reader and reports the cost. */

/** The bucket's bytes come in TLS records of this size. */
const CHUNK_BYTES = 16 * 1024;
const LOOKED_AT = 64 * 1024;
/** The fields that the CRM lists. The last one is left out, so every record is searched for a header with it. */
const FIELDS = [
  ...['customerId', 'firstName', 'lastName', 'phone', 'city', 'createdAt', 'status', 'email', 'street', 'amount'],
  ...['remark', 'owner', 'nationalId'],
].map((name, place) => ({ name, label: `שדה ${place}` }));
const NOTHING_EXPECTED = { fields: [], excepted: [], labels: {}, opaque: [], headerless: false };

const { reader, file, encoding, columns } = givenJob<CheckJob>();
const secondsLeft = () => 900;
const READ = { scan, 'csv-parse': csvParse, duckdb, packed, sheet };

// PublishFile has loaded all these modules when it reads a file.
if (reader === 'packed' || reader === 'sheet') await import('../lambdas/publish-file/handler.ts');
const reading = { rows: 0, refused: null as string | null };
const cost = await costOf(async () => {
  try {
    reading.rows = await READ[reader]();
  } catch (error) {
    if (reader !== 'sheet' || !(error instanceof Error)) throw error;
    reading.refused = `${error.name}: ${error.message}`;
  }
});
answer({ ...cost, ...reading } satisfies CheckReading);

/** The pass of PublishFile over a CSV file: checksum, encoding, records, headers further down. */
async function scan(): Promise<number> {
  const expected: Expected = {
    columns: FIELDS.slice(0, columns).map(({ name }) => name),
    fields: FIELDS,
    excepted: FIELDS.slice(-1),
    labels: {},
    covered: ['phone'],
    formats: ['csv'],
    opaque: [],
    headerless: false,
  };
  const header = Buffer.from(`${expected.columns.join(',')}\r\n`, encoding === 'utf-16le' ? 'utf16le' : 'utf8');
  const first: Uint8Array[] = [];
  const rest = chunks();
  for (let bytes = 0; bytes < LOOKED_AT; bytes += first.at(-1)?.length ?? LOOKED_AT) {
    const { value } = rest.next();
    if (value) first.push(Buffer.from(value));
  }
  async function* all() {
    yield header;
    yield* first;
    let crc = 0;
    for (const chunk of rest) {
      crc = crc32(chunk, crc);
      yield chunk;
    }
  }
  const { decoder } = textStart(Buffer.concat(first));
  const found = csvStart(textStart(Buffer.from(expected.columns.join(','))), true, expected);
  if ('looks' in found) throw new Error('The header is not accepted.');
  const csv = { ...found, encoding: encoding ?? null, decoder };
  const { content } = await readCsv(all(), csv, { undeclaredEnd: false, expected });
  return content.records - 1;
}

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

async function packed(): Promise<number> {
  const names = FIELDS.slice(0, columns).map(({ name }) => name);
  const { facts } = await readContent(fileSource(file, statSync(file).size), {
    ...{ what: file, contentType: '', maxBytes: Number.MAX_SAFE_INTEGER, undeclaredEnd: false, secondsLeft },
    expected: { ...NOTHING_EXPECTED, columns: names, formats: ['csv', 'xlsx'] },
  });
  return facts.content?.rows ?? 0;
}

async function sheet(): Promise<number> {
  const { bavail, bsize } = statfsSync(tmpdir());
  const limits = { contentBytes: Number.MAX_SAFE_INTEGER, diskBytes: bavail * bsize, secondsLeft };
  const archive = await openZip(fileSource(file, statSync(file).size), new ReadingBudget(limits));
  const expected: Expected = { ...NOTHING_EXPECTED, columns: columnsOf(columns), formats: ['xlsx'] };
  const { content } = await sheetFacts(await openWorkbook(archive), expected);
  return content.rows ?? 0;
}
