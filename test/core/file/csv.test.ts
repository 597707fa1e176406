import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { readContent } from '../../../core/file/read-content.ts';
import { type Content, mayName } from '../../../core/gate/facts.ts';
import { encodedAs } from '../../support/encoded.ts';
import { failureOf } from '../../support/failures.ts';
import { bytesSource, reading } from '../../support/reading.ts';

/** Reads a small text in pieces of five bytes. */
const judged = (text: string | Uint8Array, settings = {}) =>
  readContent(bytesSource(text, text.length < 100_000 ? 5 : 65_536), reading({ expected: settings }));
const contentOf = async (text: string | Uint8Array, settings = {}) => (await judged(text, settings)).facts.content;
const utf16 = (text: string) => Buffer.from(`\uFEFF${text}`, 'utf16le');

test.each<[string, string | Uint8Array, Partial<Content>, string?]>([
  ['rows without a value', 'id,name\n,\n"",""\n1,a\n" ",\n', { emptyRows: 2, records: 5 }, 'are 2 rows'],
  ['a single row without a value', 'id,name\n,\n', { emptyRows: 1 }, 'There is 1 row without a value'],
  ['a repeated header', 'id,name\n1,a\nid,name\n"id",name\nid,names\n', { repeatedHeaders: 2 }, '2 rows that repeat'],
  ['a repeated header in UTF-16', utf16('id,name\n1,a\nid,name\n'), { repeatedHeaders: 1, ascii: false }, 'repeats'],
  ['a row that begins like the header', 'id,name\nid,nam\nid,name2\nid\n', { repeatedHeaders: 0 }],
  ['a quotation mark inside an unquoted cell', 'id,name\n1,5" wide\n', { strayQuotes: 0 }],
  ['text after a closing mark', 'id,name\n1,5" wide\n2,"a"b\n', { strayQuotes: 1 }, 'is 1 cell with text after its'],
  ['text after a closing mark in a title', '"All" leads\nid,name\n1,a\n', { rowsAbove: 1, strayQuotes: 0 }],
  ['doubled quotation marks', 'id,name\n1,"a ""b"""\n', { strayQuotes: 0 }],
  ['a longer record', 'id,name\n1,a,secret\n1\n', { longer: 1, irregular: 2 }],
  ['an end without a line break', 'id,name\n1,a\n2', { ending: { cells: 1, lineBreak: false } }],
  ['an end with empty lines', 'id,name\n1,a\n\n\n', { ending: { cells: 2, lineBreak: true } }],
  ['half of a line break at the end', 'id,name\r\n1,a\r', { ending: { cells: 2, lineBreak: false } }],
  ['a DOS end-of-file mark', 'id,name\r\n1,a\r\n\x1a', { ending: { cells: 2, lineBreak: true }, records: 2 }],
  ['a quoted part that may begin after a lone carriage return', 'id,name\n1,a\r"b\nc\nd"\n', { doubts: 1 }],
  ['a line feed that may be part of a field', 'id,name\r1,a\nb\r', { doubts: 1 }],
  ['ASCII', 'id,name\n1,a\n', { ascii: true }],
  ['NUL characters as cells', 'id,name\n1,\0,\0,\0,\0\n', { nulRun: 1, elsewhere: 0 }],
  ['a letter that is not ASCII', 'id,name\n1,ש\n', { ascii: false }],
  ['values below an empty cell', 'id,,name,\n1,x,a,\n2,,b,\n', { unnamed: 1, unlisted: 0 }],
  ['values below two empty cells', 'id,,name,\n1,,a,"x"\n2,y,b\n', { unnamed: 2 }],
  ['no values below empty cells', 'id,,name,\n1,,a,\n2,"",b\n', { unnamed: 0, headed: true }],
])('the facts and warnings describe a file with %s', async (_, text, content, warning = '') => {
  const { facts, warnings } = await judged(text);

  expect(facts.content).toMatchObject(content);
  expect(warnings.join('\n')).toContain(warning);
});

test('a name with a gershayim shows that a short file is in windows-1255', async () => {
  const { facts } = await judged(encodedAs('id,name\n1,כ\xd8ץ-לוי\n', 'windows-1255'));

  expect(facts.dialect?.encoding).toBe('windows-1255');
});

test('counts unlisted texts of a header with their columns, and does not quote them', async () => {
  const columns = ['id', 'name', 'phone', 'city'];
  const { facts } = await judged('id,name,Total,x@y.z\n1,a,b,c\n', { columns });

  expect(facts).toMatchObject({ header: null, content: { headed: true, unlisted: 2, unlistedPlaces: [3, 4] } });
  expect(JSON.stringify(facts)).not.toMatch(/Total|x@y/);
});

test('a release can teach an unknown header, unless its names are in another order', async () => {
  const settings = { columns: ['id', 'name', 'phone', 'city'], labels: { None: null } };
  const canTeach = async (line: string) => {
    const content = await contentOf(`${line}\n1,a,b,c\n`, settings);
    return content?.firstRecord && mayName(content, settings.columns);
  };

  for (const line of ['#id,name,phone,city', 'a,b,phone,d']) expect(await canTeach(line), line).toBe(true);
  const moved = ['#id,phone,name,city', 'id,city,Total,phone', 'a,b,city,d', 'a,None,b,c', '#id,name,phone,city,zip'];
  for (const line of moved) expect(await canTeach(line), line).toBe(false);
});

test('an unknown header of the requested width has a digest, and is not quoted', async () => {
  const columns = ['id', 'name', 'phone'];
  const { facts } = await judged('אחד,"שתיים",שלוש\n1,a,2\n', { columns });

  const firstRecord = createHash('sha256').update('["אחד","שתיים","שלוש"]').digest('hex');
  expect(facts).toMatchObject({ header: null, content: { headed: null, firstRecord, unlisted: null, excepted: null } });
  expect((await judged('id,name,phone\n1,a,2\n', { columns })).facts.content?.firstRecord).toBeNull();
});

const ERROR_ROWS = [
  'Error: no answer|Fatal: disk full|Exception in "main"|Traceback (most recent call last):|Stack trace:',
  'Caused by: org.crm.SqlException|java.lang.NullPointerError: x|Internal errors|Service Unavailable',
  'Timed out after 30 s|Time-out|Gateway Timeout|Warning: aborted|ORA-01555: snapshot|SQLSTATE: fatal',
  'at com.crm.Export.run(Export.java:45)|at org.crm.Export.run(Export.java:45)|at java.a.B$c.d(B.java:8)',
  '    at Export.run (export.js)|\tat run(export.js)|  File "export.py"|Request failed to finish|Bad Gateway',
  'Connection reset|Connection refused|Connection closed|Connection lost|Could not write|Unable to write',
  'Result truncated!|Truncated|Limit exceeded|Aborted|Failed|Query aborted|Operation timed out',
  'Sorry: it went wrong|<html>|<!doctype html>|<?xml version="1.0"?>|<error>x</error>|{"error":1}',
  '{"message":"Fatal"}|{"status":"error"}|--- Error ---|*** Aborted ***|Process aborted|Session expired',
  'Token expired|Unauthorized|Unauthorised|Forbidden|Too many requests|Export failed|Job aborted',
  'Access denied,x|Permission denied|Failed to read,x|Stacktrace:|שגיאה|שגיאת שרת',
  'An error occurred,x|An unexpected failure: timeout|Unexpected error|Unhandled exception|Uncaught Error: x,y',
  '500 Internal Server Error,x|502 Bad Gateway,x|503 Service Unavailable|504 Gateway Time-out|System error,x',
  'upstream request timeout|Deadlock found,x|MySQL server has gone away|Cannot connect to the server,x|אירעה שגיאה,x',
  '    at Object.<anonymous> (a.js)|    at $run (a.js)|at com.a.B.lambda$run$0(B.java:8)',
].flatMap((texts) => texts.split('|'));

test.each(ERROR_ROWS)('a row that begins like the text of an error causes a warning: %s', async (row) => {
  const { warnings } = await judged(`id,name\n1,a\n${row}\n2,b\n`);

  expect(warnings).toContain('1 row may be the text of an error.');
});

test.each(['Deadlock Games,x', 'Cannot connect by phone,x', 'Customer has gone away,x'])(
  'a row whose first cell is an ordinary text causes no warning: %s',
  async (row) => {
    expect((await judged(`id,name\n1,a\n${row}\n`)).warnings).toEqual([]);
  },
);

describe('in a file without a header by its setting', () => {
  const none = { headerless: true, columns: ['id', 'name', 'phone'] };

  test('a first line that looks like a header causes a warning', async () => {
    const { facts, warnings } = await judged('id,name,phone\nd,e,f\n', none);

    expect(facts).toMatchObject({ rows: 2, content: { headed: false } });
    expect(warnings.join()).toContain('columns.header');
  });

  test.each([
    ['a single row with an address', '1,a@b.test,c\n', none],
    [
      'two columns with UUIDs',
      '0f8fad5b-d9cb-469f-a165-70867728950e,a\n7c9e6679-7425-40de-944b-e07fc1f90ae7,b\n',
      { headerless: true },
    ],
  ])('%s shows that the file has no header', async (_, text, settings) => {
    expect(await contentOf(text, settings)).toMatchObject({ headed: false });
  });

  test.each([
    ['another width', 'a,b\nc,d\n', none],
    ['a header of another width', 'id,name\n1,a\n', none],
    ['a single sentence', 'Sorry, this link, expired\n', none],
    ['two sentences in two columns', 'Sorry, expired\nAsk again, later\n', { headerless: true }],
    ['JSON', '{"a":1,"b":2,"c":3}\n{"a":1,"b":2,"c":3}\n', none],
  ])('%s causes FileRejected', async (_, text, settings) => {
    await failureOf(judged(text, settings), 'FileRejected');
  });
});

describe('a file of an opaque format', () => {
  test.each([
    ['json', '[{"id":1}]'],
    ['json', '{"status":500}\n{"id":2}\n'],
    ['json', `{"leads":["${'x'.repeat(2_000_000)}"]}`],
    ['xls', Buffer.from('d0cf11e0a1b11ae100', 'hex')],
  ] as const)('has a warning that its content was not read: %s', async (format, bytes) => {
    const { facts, warnings } = await judged(bytes, { opaque: [format] });

    expect(facts).toMatchObject({ format, content: null, header: null, dialect: null });
    expect(warnings).toEqual([expect.stringContaining('not read')]);
    await failureOf(judged(bytes), 'FileRejected');
  });

  test.each(['<html>{}</html>', 'The link expired.', '[not found]', '{"id":1,', '\x01\x02\x03'])(
    'is refused for this content, even if all formats are opaque: %j',
    async (text) => {
      await failureOf(judged(text, { opaque: ['xls', 'json', 'archive'] }), 'FileRejected');
    },
  );
});
