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
  ['by a comment before everything', `<!-- ${CANARY} --><html>`, 'text/csv'],
  ['by a comment that is longer than what is looked at', `\r\n\t<!--${CANARY}`, 'application/json'],
  ['by a doctype of another kind', `<!DOCTYPE wml PUBLIC "x">${CANARY}`, 'text/csv'],
  ['by an XML declaration, whatever follows', `<?xml version="1.0"?>\n<Response>${CANARY}`, 'text/csv'],
  ['by white space in front of its byte order mark', `  \uFEFF \n<html>${CANARY}`, 'application/x-ndjson'],
  ['of XHTML behind its prologue', `<?xml version="1.0"?>\n<!-- a -->\n<!DOCTYPE html><html>${CANARY}`, ''],
  ['of XML, without any type, behind a comment', `<!-- a -->\n<Error>${CANARY}`, 'application/xml'],
  ['of XML with attributes', `<Error xmlns="x">${CANARY}`, ''],
  ['by its doctype, whatever follows it', `<!DOCTYPE html>\t<html>\t<head>${CANARY}`, 'text/csv'],
  ['by its doctype in front of a separator', `<!DOCTYPE html> , ${CANARY}`, 'text/csv'],
  ['by its first tag in front of a tab', `<html>\t<body>${CANARY}`, ''],
  ['by its first tag with attributes in front of a separator', `<html lang="he"> | ${CANARY}`, 'text/csv'],
  ['by a head without a tag around it', `<head>\n\t<title>${CANARY}`, 'text/csv'],
  ['by a body without a tag around it', `<BODY onload="go()">${CANARY}`, 'application/octet-stream'],
  ['by a script that leads elsewhere', `<script>location="/login?${CANARY}"</script>`, 'text/csv'],
])('a page is known %s, even where the file is named as CSV, and is not quoted', (_, text, type) => {
  expect(judged(text, type, NAMED)).toMatch(/^A web page \([a-z+/-]*( ?no type)?\) came where a data file was due\.$/);
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
  ['a file whose header is an error in angle brackets', '<error>,id\n', 'text/csv', ''],
  ['a file whose header begins like a tag', '<html-body>;<html>\n', 'text/csv', NAMED],
  ['a file whose header is a tag in front of a tab', '<error>\tid\tname\n1\t<html>\tb\n', 'text/csv', ''],
  ['a file of one line whose header is a tag in front of a tab', '<body>\tid', 'text/csv', ''],
  ['a file whose header is several words in angle brackets', '<error code>,<error text>\n', 'text/csv', ''],
  ['a file that begins with a lone bracket', '<', 'text/csv', NAMED],
  ['a file that begins with a comparison', '<5,>5\n1,2\n', 'text/csv', NAMED],
  ['a file of markup in quotes', '"<!doctype html>",id\n', 'text/csv', NAMED],
  ['JSON Lines of markup', '"<html>"\n{"a":"<!-- -->"}\n', 'application/x-ndjson', ''],
  ['JSON behind a byte order mark and white space', '\uFEFF \n[{"id":"<?xml"}]', 'application/json', ''],
  ['white space alone', ' \n\n', 'text/csv', NAMED],
  ['an XML file that is named as one', '<!-- a -->\n<!DOCTYPE leads>\n<leads/>', '', 'inline; filename=leads.xml'],
  ['an XML file of nothing but its prologue so far', '<?xml version="1.0"?><!--', 'text/xml', ''],
  ['a spreadsheet of XML', '<?xml version="1.0"?>\n<Workbook>', 'application/vnd.ms-excel', ''],
  ['an XML file of data', '<?xml version="1.0"?>\n<leads><lead/></leads>', 'application/xml', ''],
  ['a JSON file', '[{"id":1}]', 'application/json', ''],
  ['a JSON file that is named as one', '[{"id":1}]', 'application/json', 'attachment; filename="leads.json"'],
  ['a JSON Lines file that is declared as JSON', '{"id":1}\n', 'application/json', 'inline; filename=leads.jsonl'],
  ['an NDJSON file that is declared as JSON', '{"id":1}\n', 'application/json', 'inline; filename=leads.ndjson'],
  ['a compressed JSON file', '\u001F\u008B', 'application/json', 'attachment; filename="leads.json.gz"'],
  ['a compressed JSON Lines file', '\u001F\u008B', 'application/json', 'attachment; filename="leads.jsonl.gz"'],
  ['a compressed NDJSON file', '\u001F\u008B', 'application/json', 'attachment; filename="leads.ndjson.gz"'],
  ['an XML file that lost its compression', '<?xml version="1.0"?>\n<leads/>', '', 'inline; filename=leads.xml.gz'],
  ['a spreadsheet', 'PK\u0003\u0004', 'application/octet-stream', 'attachment; filename="leads.xlsx"'],
])('%s is a data file', (_, text, type, disposition) => {
  expect(judged(text, type, disposition)).toBeUndefined();
});

test('a JSON file that came compressed unasked is a data file', () => {
  const head = { length: 3, contentType: 'application/json', disposition: '', contentEncoding: 'gzip' };

  expect(webPage(head, Uint8Array.of(0x1f, 0x8b, 8))).toBeUndefined();
});

test('JSON is none where a compressed file of another kind is due', () => {
  expect(judged('{}', 'application/json', 'attachment; filename="leads.csv.gz"')).toContain('ends in .csv.gz');
});
