import { expect, test } from 'vitest';
import { webPage } from '../../../../lambdas/shared/files/web-page.ts';
import { CANARY } from '../../../support/builders.ts';

const judged = (text: string, contentType = '', disposition = '') =>
  webPage({ length: null, contentType, disposition, contentEncoding: '' }, Buffer.from(text));

const NAMED = 'attachment; filename="leads.csv"';

test.each([
  ['by its type', CANARY, 'text/html; charset=utf-8'],
  ['by its type, with nothing in it', '', 'text/html'],
  ['by its type in capitals', 'id\n', 'TEXT/HTML'],
  ['by its type as XHTML', CANARY, 'application/xhtml+xml'],
  ['by its first words', `\n <!DOCTYPE html><html>${CANARY}`, 'text/csv'],
  ['by its first words behind a byte order mark', `\uFEFF<!doctype html>${CANARY}`, 'text/csv'],
  ['by its first tag, without any type', `<HTML lang="he">${CANARY}`, ''],
  ['of XML, as stores write their errors', `<Error>${CANARY}`, 'application/xml'],
  ['of XML with a declaration', `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${CANARY}`, 'text/csv'],
  ['of XML with attributes', `<Error xmlns="x">${CANARY}`, ''],
])('a page is known %s, even where the file is named as CSV, and is not quoted', (_, text, type) => {
  expect(judged(text, type, NAMED)).toMatch(/^A web page \([a-z+/]*( ?no type)?\) came where a data file was due\.$/);
});

test('JSON in the place of another format is an error message, perhaps', () => {
  expect(judged('{"message":"no"}', 'application/json; charset=utf-8', NAMED)).toBe(
    'The file is declared as JSON where its name ends in .csv: an error, perhaps.',
  );
});

test.each([
  ['a CSV file', 'id,name\n1,a\n', 'text/csv; charset=utf-8', NAMED],
  ['an empty file', '', 'text/csv', NAMED],
  ['a file that holds tags further on', 'note\n<html>\n', 'text/csv', ''],
  ['a file whose header is a word in angle brackets', '<errors>,id\n', 'text/csv', ''],
  ['an XML file of data', '<?xml version="1.0"?>\n<leads><lead/></leads>', 'application/xml', ''],
  ['a JSON file', '[{"id":1}]', 'application/json', ''],
  ['a JSON file that is named as one', '[{"id":1}]', 'application/json', 'attachment; filename="leads.json"'],
  ['a spreadsheet', 'PK\u0003\u0004', 'application/octet-stream', 'attachment; filename="leads.xlsx"'],
])('%s is a data file', (_, text, type, disposition) => {
  expect(judged(text, type, disposition)).toBeUndefined();
});
