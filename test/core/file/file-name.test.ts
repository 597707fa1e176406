import fc from 'fast-check';
import { expect, test } from 'vitest';
import { extensionFor, mediaType } from '../../../core/file/file-name.ts';

const file = (disposition: string, contentType = '', contentEncoding = '') => ({
  disposition,
  contentType,
  contentEncoding,
});

const UNSEEN = { format: null, gzipped: false, open: true };

test.each([
  ['attachment; filename="leads.csv"', '', 'csv'],
  ['attachment; filename=leads.XLSX', '', 'xlsx'],
  ["attachment; filename*=UTF-8''%D7%9C%D7%99%D7%93.csv", '', 'csv'],
  ['attachment; filename="a.csv"; size=7', '', 'csv'],
  ['attachment; filename="a.b.c.zip"', 'text/csv', 'zip'],
  ['attachment; filename="leads.csv.gz"', '', 'csv.gz'],
  ['attachment; filename=leads.2026.JSONL.GZ', 'application/json', 'jsonl.gz'],
  ['attachment; filename="leads.2026.gz"', '', 'gz'],
  ['attachment; filename="leads.gz"', 'application/json', 'gz'],
  ['attachment; filename="leads.csv.old"', 'application/gzip', 'gz'],
  ['attachment; filename="leads.ndjson"', 'application/json', 'ndjson'],
  ['attachment', 'text/csv; charset=utf-8', 'csv'],
  ['', 'Application/Vnd.Openxmlformats-Officedocument.Spreadsheetml.Sheet', 'xlsx'],
  ['', 'application/zip', 'zip'],
  ['', 'application/octet-stream', 'bin'],
  ['', '', 'bin'],
  ['', 'constructor', 'bin'],
  ['attachment; filename="no-extension"', 'text/csv', 'csv'],
  ['attachment; filename="x.toolongextension"', 'text/csv', 'csv'],
  ['attachment; filename="leads.20.11.2026"', 'text/csv', 'csv'],
  ['attachment; filename="leads v1.2"', 'text/csv', 'csv'],
  ['attachment; filename="../../etc/passwd"', '', 'bin'],
  ['attachment; filename="x.c/sv"', '', 'bin'],
])('disposition %j with type %j is stored as .%s where no byte says more', (disposition, contentType, extension) => {
  expect(extensionFor(file(disposition, contentType), UNSEEN)).toBe(extension);
});

test.each(['gzip', 'x-gzip', 'GZIP'])(
  'a file that came as %s unasked says so, for it is stored as it came',
  (encoding) => {
    expect(extensionFor(file('attachment; filename="leads.csv"', 'text/csv', encoding), UNSEEN)).toBe('csv.gz');
  },
);

test('a file that is named as compressed says so once, also where it came as gzip', () => {
  expect(extensionFor(file('attachment; filename="leads.csv.gz"', 'text/csv', 'gzip'), UNSEEN)).toBe('csv.gz');
});

test('whatever the CRM sends, only letters, digits and one inner dot get into a key', () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), fc.string(), (name, type, encoding) => {
      expect(extensionFor(file(`attachment; filename="${name}"`, type, encoding), UNSEEN)).toMatch(
        /^[a-z0-9]{1,8}(\.gz)?$/,
      );
    }),
  );
});

test.each([
  ['csv', false, '', '', 'csv'],
  ['csv', false, 'attachment; filename="leads.xlsx"', 'application/json', 'csv'],
  ['csv', true, 'attachment; filename="leads.csv"', 'text/csv', 'csv.gz'],
  ['zip', false, 'attachment; filename="leads.csv"', 'text/csv', 'zip'],
  ['json', false, 'attachment; filename="leads.ndjson"', 'text/csv', 'ndjson'],
  ['json', true, '', 'application/x-ndjson', 'jsonl.gz'],
  ['json', true, '', 'text/plain', 'json.gz'],
] as const)(
  'what the bytes show to be %s (gzip: %s), named %j of type %j, is stored as .%s',
  (format, gzipped, name, type, extension) => {
    expect(extensionFor(file(name, type), { format, gzipped, open: false })).toBe(extension);
  },
);

test.each([
  ['text/csv; charset=utf-8', 'text/csv'],
  [' Text/CSV ', 'text/csv'],
  ['nonsense', ''],
  ['', ''],
])('the media type of %j is %j', (value, type) => {
  expect(mediaType(value)).toBe(type);
});
