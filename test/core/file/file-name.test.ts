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
  ['attachment; filename="leads.csv"', '', '', 'csv'],
  ['attachment; filename=leads.XLSX', '', '', 'xlsx'],
  ["attachment; filename*=UTF-8''%D7%9C%D7%99%D7%93.csv", '', '', 'csv'],
  ['attachment; filename="a.csv"; size=7', '', '', 'csv'],
  ['attachment; filename="a.b.c.zip"', 'text/csv', '', 'zip'],
  ['attachment; filename="leads.csv.gz"', '', '', 'csv.gz'],
  ['attachment; filename="leads.csv.gz"', 'text/csv', 'gzip', 'csv.gz'],
  ['attachment; filename="leads.csv"', 'text/csv', 'x-gzip', 'csv.gz'],
  ['attachment; filename="leads.gz"', 'application/json', '', 'json.gz'],
  ['attachment', 'text/csv; charset=utf-8', '', 'csv'],
  ['', 'Application/Vnd.Openxmlformats-Officedocument.Spreadsheetml.Sheet', '', 'xlsx'],
  ['', 'application/octet-stream', '', 'bin'],
  ['', '', '', 'bin'],
  ['', 'constructor', '', 'bin'],
  ['attachment; filename="leads.20.11.2026"', 'text/csv', '', 'csv'],
  ['attachment; filename="../../etc/passwd"', '', '', 'bin'],
  ['attachment; filename="x.c/sv"', '', '', 'bin'],
])('a file of unknown content named %j, of type %j and encoding %j, is stored as .%s', (name, type, encoding, end) => {
  expect(extensionFor(file(name, type, encoding), UNSEEN)).toBe(end);
});

test('an extension has only letters and digits and an optional ".gz", for any answer', () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), fc.string(), (name, type, encoding) => {
      expect(extensionFor(file(`attachment; filename="${name}"`, type, encoding), UNSEEN)).toMatch(
        /^[a-z0-9]{1,8}(\.gz)?$/,
      );
    }),
  );
});

test.each([
  ['csv', false, 'attachment; filename="leads.xlsx"', 'application/json', 'csv'],
  ['csv', true, 'attachment; filename="leads.csv"', 'text/csv', 'csv.gz'],
  ['zip', false, 'attachment; filename="leads.csv"', 'text/csv', 'zip'],
  ['json', true, '', 'text/plain', 'json.gz'],
] as const)(
  'a file with the content %s (gzip: %s), named %j and of type %j, is stored as .%s',
  (format, gzipped, name, type, extension) => {
    expect(extensionFor(file(name, type), { format, gzipped, open: false })).toBe(extension);
  },
);

test.each([
  [' Text/CSV; charset=utf-8', 'text/csv'],
  ['nonsense', ''],
  ['', ''],
])('the media type of %j is %j', (value, type) => {
  expect(mediaType(value)).toBe(type);
});
