import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { listedFields } from '../../../core/columns/header.ts';
import { FILE_FORMATS, type FileFormat, type OpaqueKind } from '../../../core/config/file-formats.ts';
import { nameFile } from '../../../lambdas/download-file/download-file.ts';
import { CANARY, run } from '../../support/builders.ts';
import { zipOf } from '../../support/zip.ts';

interface File {
  contentType?: string;
  length?: number | null;
  columns?: string[];
  formats?: FileFormat[];
  opaque?: OpaqueKind[];
}

/** Checks the first kilobyte of a file, or all of a smaller one. */
function named(text: string | Uint8Array, { contentType = '', length, columns, ...rest }: File = {}) {
  const bytes = Buffer.from(text);
  const head = { length: length === undefined ? bytes.length : length, contentType };
  const asked = columns ? run({ request: { columns } }) : run();
  const { formats = [...FILE_FORMATS], opaque = [] } = rest;
  const expected = { ...listedFields(asked), formats, opaque, headerless: false };
  return nameFile(head, bytes.subarray(0, 1024), 'runs/entity=leads/run=night-1/leads', expected);
}

const ACCEPTED = { formats: [...FILE_FORMATS], opaque: [], headerless: false };

const refused = (looks: string) => ({ refuse: expect.stringContaining(`it looks like ${looks}`) });
const stored = (extension: string) => ({ key: expect.stringMatching(new RegExp(`/leads\\.${extension}$`)) });
const JSON_ERROR = `{"error":"link expired","${CANARY}":1}`;
/** A zip whose first kilobyte shows one entry, which only packages have. */
const PACKAGE = Buffer.concat([zipOf('_rels/.rels').subarray(0, 41), Buffer.alloc(5000, 0x41)]);
const HTML = `<!doctype html><title>${CANARY}</title>`;

describe('rejects content that the first kilobyte proves wrong, under any name or type', () => {
  test.each<[string, string | Uint8Array, File, string]>([
    ['a JSON error without a file name', JSON_ERROR, { contentType: 'application/json' }, 'JSON'],
    ['a JSON error as wide as the requested columns', '{"a":1,"b":2,"c":3}', { columns: ['a', 'b', 'c'] }, 'JSON'],
    ['a sentence in brackets, if JSON is accepted', `[not found, ${CANARY}]`, { opaque: ['json'] }, 'text whose'],
    ['half of a JSON document, if JSON is accepted', '{"id":1,', { opaque: ['json'] }, 'JSON'],
    ['a web page, if all kinds are accepted', HTML, { opaque: ['xls', 'json', 'archive'] }, 'a web page'],
    ['a sentence, if all kinds are accepted', 'The link expired.', { opaque: ['xls', 'json', 'archive'] }, 'text'],
    ['a long web page', `${HTML}${'x'.repeat(5000)}`, { length: null }, 'a web page'],
    ['an empty file typed as a web page', '', { contentType: 'text/html' }, 'an empty web page'],
    ['gzip of a JSON error', gzipSync(JSON_ERROR), {}, 'JSON, compressed with gzip'],
    [
      'a workbook, if only CSV is accepted',
      Buffer.from(`PK\x03\x04${'\0'.repeat(26)}xl/workbook.xml`),
      { formats: ['csv'] },
      'an Excel spreadsheet',
    ],
    ['CSV, if only spreadsheets are accepted', 'id,name\n', { formats: ['xlsx'] }, 'text'],
  ])('%s', (_, text, file, looks) => {
    expect(named(text, file)).toEqual(refused(looks));
    expect(JSON.stringify(named(text, file))).not.toContain(CANARY);
  });
});

test('stores no media type that is too long for one', () => {
  const contentType = `text/${'x'.repeat(8000)}; charset=utf-8`;
  expect(named('id,name\n1,a\n', { contentType })).toMatchObject({ contentType: 'application/octet-stream' });
});

describe('stores content that the first kilobyte does not prove wrong, under its real extension', () => {
  test.each<[string, string | Uint8Array, File, string]>([
    ['CSV with a wrong type and name', 'id,name\n1,a\n', { contentType: 'text/html' }, 'csv'],
    ['a header of labels', 'מזהה,שם\n', {}, 'csv'],
    ['an empty file', '', {}, 'csv'],
    ['gzip of CSV', gzipSync('id,name\n'), { contentType: 'text/csv' }, 'csv\\.gz'],
    ['a first line of 5,000 bytes', `id,"${'a'.repeat(5000)}"\n`, { columns: ['id', 'x', 'y'], length: null }, 'csv'],
    ['a header of other names in a longer file', `other,names\n${'1,2\n'.repeat(900)}`, { length: null }, 'csv'],
    ['records without a header, of 5,000 bytes', `1,2,${'a'.repeat(5000)}`, { columns: ['x', 'y', 'z'] }, 'csv'],
    ['a possible spreadsheet', Buffer.from(`504b0304${'00'.repeat(5000)}`, 'hex'), { formats: ['xlsx'] }, 'zip'],
    ['an archive that begins with a part of packages', PACKAGE, {}, 'xlsx'],
    ['JSON Lines, if JSON is accepted', '{"id":1,"name":"a"}\n{"id":2}\n', { opaque: ['json'] }, 'json'],
    ['a JSON list of records, if JSON is accepted', '[{"id":1,"name":{"first":"a"}}]', { opaque: ['json'] }, 'json'],
    ['JSON records in an envelope', '{"total":1,"data":[{"id":1,"name":"a"}]}', { opaque: ['json'] }, 'json'],
    ['an empty JSON list', '[]', { opaque: ['json'] }, 'json'],
    ['a long JSON envelope', `{"about":"${'x'.repeat(5000)}","data":[{"id":1}]}`, { opaque: ['json'] }, 'json'],
  ])('%s', (_, text, file, extension) => {
    expect(named(text, file)).toMatchObject(stored(extension));
  });
});

test('judges by the requested columns if the state does not carry the listed fields', () => {
  const head = { length: null, contentType: 'text/csv' };
  const listed = { others: [], labels: null, types: null, complete: false };
  const judged = (text: string) =>
    nameFile(head, Buffer.from(text), 'leads/leads', { ...listedFields(run({ listed })), ...ACCEPTED });

  expect(judged('name,id\n')).toMatchObject(stored('csv'));
  expect(judged('מזהה,שם\n')).toEqual({ refuse: expect.stringMatching(/\b2 fields, 0 /) });
});

test('unpacks only the beginning of gzip, so damage further down is not found here', () => {
  const rows = Array.from(
    { length: 1000 },
    (_, row) => `${row},${createHash('sha256').update(`${row}`).digest('hex')}`,
  );
  const packed = Buffer.concat([
    gzipSync(['id,name', ...rows].join('\n')),
    Buffer.from('1f8bffffffffffffffffff', 'hex'),
  ]);
  const head = { length: packed.length, contentType: '' };
  const expected = { ...listedFields(run({ request: { columns: ['id', 'name'] } })), ...ACCEPTED };

  expect(nameFile(head, packed, 'leads', expected)).toMatchObject({ key: 'leads.csv.gz' });
});
