import { crc32 } from 'node:zlib';
import { fieldIndex } from '../../core/columns/header.ts';
import { readCsv } from '../../core/file/csv.ts';
import { csvStart } from '../../core/file/csv-start.ts';
import { type Encoding, textStart } from '../../core/file/encoding.ts';
import type { Expected } from '../../core/files/judge-file.ts';

/** What the CRM lists; the last one is left out, so that every record is searched for headers with it. */
const FIELDS = [
  ...[
    'customerId',
    'firstName',
    'lastName',
    'phone',
    'city',
    'createdAt',
    'status',
    'email',
    'street',
    'amount',
    'remark',
  ],
  ...['owner', 'nationalId'],
].map((name, place) => ({ name, label: `שדה ${place}` }));
const LOOKED_AT = 64 * 1024;

/**
 * The pass of PublishFile over a CSV file: checksum, encoding, records, headers further down.
 * @param width cells of a record
 * @returns how many records it has
 */
export async function scanObject(
  chunks: AsyncIterable<Uint8Array>,
  width: number,
  encoding: Encoding | null = 'utf-8',
): Promise<number> {
  const expected: Expected = {
    columns: FIELDS.slice(0, width).map(({ name }) => name),
    fields: FIELDS,
    excepted: FIELDS.slice(-1),
    labels: {},
    covered: ['phone'],
    formats: ['csv'],
    opaque: [],
    headerless: false,
  };
  const header = Buffer.from(`${expected.columns.join(',')}\r\n`, encoding === 'utf-16le' ? 'utf16le' : 'utf8');
  let crc = 0;
  async function* all(first: Uint8Array[], rest: AsyncIterator<Uint8Array>) {
    for (const chunk of first) yield chunk;
    for await (const chunk of { [Symbol.asyncIterator]: () => rest }) {
      crc = crc32(chunk, crc);
      yield chunk;
    }
  }
  const rest = chunks[Symbol.asyncIterator]();
  const first: Uint8Array[] = [];
  for (let bytes = 0; bytes < LOOKED_AT; bytes += first.at(-1)?.length ?? LOOKED_AT) {
    const { value } = await rest.next();
    if (value) first.push(Buffer.from(value));
  }
  const { decoder } = textStart(Buffer.concat(first));
  const found = csvStart(expected.columns.join(','), true, fieldIndex(expected));
  if (found.result !== 'accepted') throw new Error('The header is not accepted.');
  const csv = { ...found.csv, encoding, decoder, skip: 0, byteOrderMark: false };
  const reading = { what: 'The file', undeclaredEnd: false, expected };
  const { content } = await readCsv(all([header, ...first], rest), csv, reading);
  return content.records - 1;
}
