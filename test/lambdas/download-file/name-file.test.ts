import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { listedFields } from '../../../core/columns/header.ts';
import { DEFAULT_FORMATS, type FileFormat, type OpaqueKind } from '../../../core/config/file-formats.ts';
import { nameFile } from '../../../lambdas/download-file/download-file.ts';
import { CANARY, run } from '../../support/builders.ts';
import { zipOf } from '../../support/zip.ts';

interface File {
  contentType?: string;
  name?: string;
  length?: number | null;
  columns?: string[];
  formats?: FileFormat[];
  opaque?: OpaqueKind[];
}

/** Checks the first kilobyte of a file, or all of a smaller one. */
function named(text: string | Uint8Array, { contentType = '', name = '', length, columns, ...rest }: File = {}) {
  const bytes = Buffer.from(text);
  const disposition = name && `attachment; filename="${name}"`;
  const head = { length: length === undefined ? bytes.length : length, contentType, disposition, contentEncoding: '' };
  const asked = columns ? run({ request: { columns } }) : run();
  const { formats = DEFAULT_FORMATS, opaque = [] } = rest;
  const expected = { ...listedFields(asked), formats, opaque, headerless: false };
  return nameFile(head, bytes.subarray(0, 1024), 'runs/entity=leads/run=night-1/leads', expected);
}

const ACCEPTED = { formats: DEFAULT_FORMATS, opaque: [], headerless: false };

const refused = (looks: string) => ({ refuse: expect.stringContaining(`it looks like ${looks}`) });
const stored = (extension: string) => ({ key: expect.stringMatching(new RegExp(`/leads\\.${extension}$`)) });
const JSON_ERROR = `{"error":"link expired","${CANARY}":1}`;
/** A zip whose first kilobyte shows one entry, which spreadsheets and other archives may have. */
const UNSURE_ZIP = Buffer.concat([zipOf('_rels/.rels').subarray(0, 41), Buffer.alloc(5000, 0x41)]);
const XLSX_TYPE = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet';
const HTML = `<!doctype html><title>${CANARY}</title>`;

describe('what the first kilobyte disproves is refused, whatever it is called', () => {
  test.each<[string, string | Uint8Array, File, string]>([
    ['an error without a name', JSON_ERROR, { contentType: 'application/json' }, 'JSON'],
    ['an error as CSV', '{"error":"x","code":404}', { contentType: 'text/csv', name: 'leads.csv' }, 'JSON'],
    ['an error where as many columns were requested', '{"a":1,"b":2,"c":3}', { columns: ['a', 'b', 'c'] }, 'JSON'],
    ['a sentence in brackets, where JSON is accepted', `[not found, ${CANARY}]`, { opaque: ['json'] }, 'JSON'],
    ['half of a JSON document, where that is accepted', '{"id":1,', { opaque: ['json'] }, 'JSON'],
    ['a web page, where all kinds are accepted', HTML, { opaque: ['xls', 'json', 'archive'] }, 'a web page'],
    ['a sentence, where all kinds are accepted', 'The link expired.', { opaque: ['xls', 'json', 'archive'] }, 'text'],
    ['a long web page', `${HTML}${'x'.repeat(5000)}`, { length: null }, 'a web page'],
    ['nothing, as a web page', '', { contentType: 'text/html' }, 'an empty web page'],
    ['gzip of an error', gzipSync(JSON_ERROR), { name: 'leads.csv.gz' }, 'JSON, compressed with gzip'],
    [
      'a workbook where CSV alone is accepted',
      Buffer.from(`PK\x03\x04${'\0'.repeat(26)}xl/workbook.xml`),
      { formats: ['csv'] },
      'a spreadsheet of Excel',
    ],
    ['CSV where spreadsheets alone are accepted', 'id,name\n', { formats: ['xlsx'] }, 'text'],
  ])('%s', (_, text, file, looks) => {
    expect(named(text, file)).toEqual(refused(looks));
    expect(JSON.stringify(named(text, file))).not.toContain(CANARY);
  });
});

describe('what it proves, or leaves open, is stored under what it is', () => {
  test.each<[string, string | Uint8Array, File, string]>([
    ['CSV of any type', 'id,name\n1,a\n', { contentType: 'text/html', name: 'leads.xlsx' }, 'csv'],
    ['a header of labels', 'מזהה,שם\n', {}, 'csv'],
    ['a header of names in angle brackets', '<id>,{x}\n', { columns: ['<id>', '{x}'] }, 'csv'],
    ['nothing', '', { name: 'leads.csv' }, 'csv'],
    ['gzip of CSV', gzipSync('id,name\n'), { contentType: 'text/csv' }, 'csv\\.gz'],
    ['a first line that goes on', `id,"${'a'.repeat(5000)}"\n`, { columns: ['id', 'x', 'y'], length: null }, 'csv'],
    ['a header of other names that goes on', `other,names\n${'1,2\n'.repeat(900)}`, { length: null }, 'csv'],
    ['records without names that go on', `1,2,${'a'.repeat(5000)}`, { columns: ['x', 'y', 'z'] }, 'csv'],
    [
      'an archive that may be a spreadsheet',
      Buffer.from(`504b0304${'00'.repeat(5000)}`, 'hex'),
      { formats: ['xlsx'] },
      'zip',
    ],
    [
      'a damaged byte in the first kilobyte, behind a header of labels',
      Buffer.concat([Buffer.from('מזהה,שם\n1,'), Buffer.of(0xff), Buffer.from('\n')]),
      {},
      'csv',
    ],
    ['an archive that may be a spreadsheet, and is named so', UNSURE_ZIP, { name: 'leads.xlsx' }, 'xlsx'],
    ['an archive that may be a spreadsheet, and has its type', UNSURE_ZIP, { contentType: XLSX_TYPE }, 'xlsx'],
    ['an archive that may be a spreadsheet, and is named as CSV', UNSURE_ZIP, { name: 'leads.csv' }, 'zip'],
    [
      'an archive that may be a spreadsheet, where those are not accepted',
      UNSURE_ZIP,
      { name: 'leads.zip', formats: ['csv'] },
      'zip',
    ],
    ['an archive that is none, and is named as one', zipOf('leads.csv'), { name: 'leads.xlsx' }, 'zip'],
    ['JSON Lines where JSON is accepted', '{"id":1,"name":"a"}\n{"id":2}\n', { opaque: ['json'] }, 'json'],
    ['a list of records where JSON is accepted', '[{"id":1,"name":{"first":"a"}}]', { opaque: ['json'] }, 'json'],
    ['records in an envelope', '{"total":1,"data":[{"id":1,"name":"a"}]}', { opaque: ['json'] }, 'json'],
    ['an empty list', '[]', { opaque: ['json'] }, 'json'],
    ['a long envelope', `{"about":"${'x'.repeat(5000)}","data":[{"id":1}]}`, { opaque: ['json'] }, 'json'],
  ])('%s', (_, text, file, extension) => {
    expect(named(text, file)).toMatchObject(stored(extension));
  });
});

test('a run whose fields were too many to be carried knows the columns of its request', () => {
  const head = { length: null, contentType: 'text/csv', disposition: '', contentEncoding: '' };
  const listed = { others: [], labels: null, types: null, complete: false };
  const judged = (text: string) =>
    nameFile(head, Buffer.from(text), 'leads/leads', { ...listedFields(run({ listed })), ...ACCEPTED });

  expect(judged('name,id\n')).toMatchObject(stored('csv'));
  expect(judged('מזהה,שם\n')).toEqual(refused('text whose first record has 2 fields, 0 of them listed'));
});

test('only the beginning of gzip is unpacked: 64 KB may hold 64 MB, and damage further down is not seen here', () => {
  const rows = Array.from(
    { length: 1000 },
    (_, row) => `${row},${createHash('sha256').update(`${row}`).digest('hex')}`,
  );
  const packed = Buffer.concat([
    gzipSync(['id,name', ...rows].join('\n')),
    Buffer.from('1f8bffffffffffffffffff', 'hex'),
  ]);
  const head = { length: packed.length, contentType: '', disposition: '', contentEncoding: '' };
  const expected = { ...listedFields(run({ request: { columns: ['id', 'name'] } })), ...ACCEPTED };

  expect(nameFile(head, packed, 'leads', expected)).toMatchObject({ key: 'leads.csv.gz' });
});
