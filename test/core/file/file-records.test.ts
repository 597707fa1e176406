import { readdirSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { expect, test, vi } from 'vitest';
import { fileRecords, type StoredForm, unreadableReason } from '../../../core/file/file-records.ts';
import { tempDir } from '../../support/project.ts';
import { AMPLE, all, sourceOf, workbookOf } from '../../support/workbook.ts';
import { zipOfFiles } from '../../support/zip.ts';

const RECORDS = [
  ['id', 'name'],
  ['1', 'דוד'],
  ['2', ''],
];
const CSV = Buffer.from('id,name\n1,דוד\n2,\n');
const XLSX = workbookOf(['Leads'], ['id', 'name'], ['1', 'דוד'], ['2']);
const csv: StoredForm = { format: 'csv', compression: null, dialect: null, content: null };
const content = { place: { sheet: 1, row: 2, column: 1 }, width: 2, rowsAbove: 1, repeatedHeaders: 0, broken: null };
const xlsx: StoredForm = { ...csv, format: 'xlsx', content };
const zipped = (name: string, bytes: Uint8Array) => zipOfFiles({ name, content: bytes, deflated: true });

const recordsOf = (bytes: Uint8Array, form: StoredForm, limits = AMPLE) =>
  all(fileRecords(sourceOf(bytes), form, limits));

test.each<[string, Uint8Array, StoredForm]>([
  ['CSV', CSV, csv],
  ['CSV in gzip', gzipSync(CSV), { ...csv, compression: 'gzip' }],
  ['a zip with one CSV file', zipped('leads.csv', CSV), { ...csv, compression: 'zip' }],
  ['a workbook', XLSX, xlsx],
  ['a workbook in gzip', gzipSync(XLSX), { ...xlsx, compression: 'gzip' }],
  ['a zip with one workbook', zipped('leads.xlsx', XLSX), { ...xlsx, compression: 'zip' }],
])('reads the records of %s, with the header first', async (_, bytes, form) => {
  expect(await recordsOf(bytes, form)).toEqual(RECORDS);
});

test('omits records that repeat the header', async () => {
  const form = { ...csv, content: { ...content, place: null, rowsAbove: 0, repeatedHeaders: 1 } };

  expect(await recordsOf(Buffer.from('id,name\n1,a\nID,Name\n2,b\n'), form)).toEqual([
    ['id', 'name'],
    ['1', 'a'],
    ['2', 'b'],
  ]);
});

test.each<[string, Uint8Array, StoredForm, string]>([
  ['gzip that is cut off', gzipSync(XLSX).subarray(0, 200), { ...xlsx, compression: 'gzip' }, 'gzip that is cut off'],
  [
    'a zip of two files',
    zipOfFiles({ name: 'a.csv', content: CSV }, { name: 'b.csv', content: CSV }),
    { ...csv, compression: 'zip' },
    'exactly one file',
  ],
  ['a workbook whose content was not read before', XLSX, { ...xlsx, content: null }, 'by a release that did not look'],
  [
    'a workbook without the counted sheet',
    XLSX,
    { ...xlsx, content: { ...content, place: { sheet: 2, row: 1, column: 1 } } },
    'lacks the sheet',
  ],
  ['JSON', Buffer.from('[]'), { ...csv, format: 'json' }, 'neither CSV nor a spreadsheet'],
])('reports that %s cannot be read', async (_, bytes, form, message) => {
  const error = await recordsOf(bytes, form).catch((thrown: unknown) => thrown);

  expect(unreadableReason(error)).toContain(message);
});

test('removes unpacked files after a complete, an interrupted and a failed read', async () => {
  const folder = await tempDir();
  vi.stubEnv('TMPDIR', folder);
  const form = { ...xlsx, compression: 'gzip' };

  await recordsOf(gzipSync(XLSX), form);
  for await (const _ of fileRecords(sourceOf(gzipSync(XLSX)), form, AMPLE)) {
    // A process that is killed now leaves nothing behind.
    expect(readdirSync(folder)).toEqual([]);
    break;
  }
  await expect(recordsOf(gzipSync(XLSX), form, { ...AMPLE, diskBytes: 10 })).rejects.toMatchObject({
    name: 'ReadingUnfinished',
  });

  expect(readdirSync(folder)).toEqual([]);
});
