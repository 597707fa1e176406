import { closeSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { type TableSettings, tableMemorySchema } from '../core/config/table-settings.ts';
import { streaming } from '../lib/workflow/node-options.ts';
import { crc32Text } from '../transfer/base/crc32.ts';
import { inChild, type ProcessCost } from './child.ts';

/** A kind of file and the settings of its table. */
export interface PublishedFile {
  id: string;
  what: string;
  header: string[];
  row: (place: number) => unknown[];
  settings: Pick<TableSettings, 'columns'> & { hash?: string[] };
}

/** A written file. */
export interface TableJob {
  path: string;
  bytes: number;
  crc32: string;
  header: string[];
  settings: PublishedFile['settings'];
  /** The path of the table. */
  table: string;
}

export interface TableCost extends ProcessCost {
  rows: number;
  bytes: number;
}

const NAMES = ['דוד', 'שרה', 'משה', 'רחל', 'יעל'];
const CITIES = ['תל אביב', 'חיפה', 'ירושלים', 'באר שבע'];
const two = (value: number) => String(value).padStart(2, '0');
const scattered = (row: number) => (row * 2_654_435_761) % 4_294_967_296;

const HEADER = [
  ...['id', 'firstName', 'lastName', 'phone', 'email', 'createdAt', 'birthDate', 'sum', 'status', 'city'],
  ...['street', 'zip', 'notes', 'owner', 'source', 'score', 'active', 'updatedAt', 'campaign', 'reference'],
];
const customer = (row: number) => [
  ...[row, NAMES[row % 5], `כהן ${row % 977}`, `05${scattered(row) % 100_000_000}`, `person${row}@example.com`],
  ...[`2026-11-${10 + (row % 20)}T08:${two(row % 60)}:00Z`, `19${50 + (row % 50)}-0${1 + (row % 9)}-1${row % 10}`],
  ...[(scattered(row) % 1e6) / 100, row % 3 ? 'active' : '', CITIES[row % 4], `"Street ${row % 300}, floor 2"`],
  ...[10_000 + (row % 90_000), `A remark of some words about ${scattered(row) % 1000}`, `owner${row % 40}`, 'web'],
  ...[row % 100, row % 2 === 0, `2026-11-${10 + (row % 20)} 09:11:12.123`, `campaign ${row % 12}`],
  scattered(row).toString(16),
];
const TYPES: TableSettings['columns'] = {
  id: 'integer',
  createdAt: 'timestamp',
  birthDate: 'date',
  sum: { type: 'decimal', precision: 12, scale: 2 },
  zip: 'integer',
  score: 'double',
  active: 'boolean',
  updatedAt: 'timestamp',
};
const WIDE = Array.from({ length: 1000 }, (_, place) => `field${place}`);

const customers = { header: HEADER, row: customer };

export const FILES: PublishedFile[] = [
  { id: 'text', what: '20 columns of text', ...customers, settings: { columns: {} } },
  { id: 'typed', what: '20 columns, 8 with types', ...customers, settings: { columns: TYPES } },
  {
    id: 'hashed',
    what: '20 columns of text, 2 hashed',
    ...customers,
    settings: { columns: {}, hash: ['phone', 'email'] },
  },
  {
    id: 'wide',
    what: '1000 columns of text',
    header: WIDE,
    row: (row) => WIDE.map((_, place) => (place % 3 ? (row * place) % 977 : '')),
    settings: { columns: {} },
  },
];

/** Writes rows up to the given size. */
export function writeFile({ header, row, settings }: PublishedFile, path: string, size: number): TableJob {
  const descriptor = openSync(path, 'w');
  let bytes = 0;
  let crc = 0;
  const write = (lines: string[]) => {
    const part = Buffer.from(lines.map((line) => `${line}\n`).join(''));
    crc = crc32(part, crc);
    bytes += writeSync(descriptor, part);
  };
  write([header.join(',')]);
  for (let at = 0; bytes < size; at += 500) write(Array.from({ length: 500 }, (_, place) => row(at + place).join(',')));
  closeSync(descriptor);
  return { path, bytes, crc32: crc32Text(crc), header, settings, table: `${path}.parquet` };
}

/** The cost of such a table in a process with the options of the function. */
export function costOfTable(job: TableJob): Promise<TableCost> {
  const environment = { ...process.env, ...streaming(tableMemorySchema.parse(undefined)) };
  return inChild(join(import.meta.dirname, 'table-child.ts'), job, environment);
}
