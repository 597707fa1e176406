import { expect, test } from 'vitest';
import { LONGEST_LINE, linesOf } from '../../../core/updates/lines.ts';
import { CSV } from '../../../core/updates/read-csv.ts';
import { formatOf, JSONL, readUpdates, type UpdateFormat } from '../../../core/updates/read-updates.ts';
import { expectTexts } from '../../support/screen.ts';
import { allOf, bytesOf, entriesOf, idOf, problemsText } from './support/lines.ts';

const MB = 1024 * 1024;
const utf16 = (text: string) => Buffer.from(text, 'utf16le');
const good = `{"id":"${idOf(1)}","notes":"x"}\n`;

const FILES: [string, UpdateFormat, string | Uint8Array][] = [
  ['an empty file', 'csv', ''],
  ['an empty file', 'jsonl', ''],
  ['a file with only a byte order mark', 'csv', '\uFEFF'],
  ['a file with only empty lines', 'jsonl', '\n \r\n\n'],
  ['a file with only a header', 'csv', 'id,notes\n'],
  ['a UTF-16 file', 'csv', utf16(`\uFEFFid,notes\n${idOf(1)},שלום וברכה\n`)],
  ['a big-endian UTF-16 file', 'jsonl', utf16(good).swap16()],
  ['a binary file', 'jsonl', Buffer.from([1, 2, 0, 3, 0, 0, 0, 9, 8, 7])],
  ['a binary file without a line break', 'csv', Buffer.alloc(2 * MB)],
];

test('reports a file that has no records once, as a whole', async () => {
  const reported: [string, string][] = [];
  for (const [what, format, content] of FILES) {
    const entries = await entriesOf(format, content);

    expect([what, entries]).toEqual([what, [{ line: 0, field: null, sentence: expect.any(String) }]]);
    reported.push([`${what} (${format})`, problemsText(entries)]);
  }
  await expectTexts('update-file-problems', reported);
});

test.each<[string, UpdateFormat, (id: string) => string]>([
  ['CSV', 'csv', (id) => `id,notes\n${id},a\n${idOf(2)},b\n${id.toUpperCase()},c\n`],
  ['JSON Lines', 'jsonl', (id) => `\n{"id":"${id}","notes":"a"}\n\n{"id":"${id.toUpperCase()}","notes":"c"}\n`],
])('reports a repeated id in %s with both lines, in any letter case', async (_, format, content) => {
  const problems = (await entriesOf(format, content('ABCDEFAB-0000-4000-8000-00000000abcd'))).filter(
    (e) => 'field' in e,
  );

  expect(problems).toEqual([{ line: 4, field: 'id', sentence: expect.stringContaining('line 2') }]);
});

test.each<[UpdateFormat, string, string, string]>([
  ['jsonl', good, '{"notes":"', `{"id":"${idOf(3)}","notes":"x"}`],
  ['csv', `id,notes\n${idOf(1)},"x\n${'y\n'.repeat(100_000)}"\n`, `${idOf(2)},"a\n`, `${idOf(3)},x`],
])(
  '%s: reports the first line that is not UTF-8, even within a long cell, and ends there',
  async (format, before, start, next) => {
    // The next record is read in another block.
    const after = `${'\n'.repeat(70_000)}${next}\n`;
    const file = Buffer.concat([Buffer.from(before + start), Buffer.from([0xf9, 0xec]), Buffer.from(`"\n${after}`)]);

    const entries = await entriesOf(format, file);

    const line = (before + start).split('\n').length;
    expect(entries.at(-1)).toEqual({ line, field: null, sentence: expect.stringContaining('UTF-8') });
  },
);

test.each<[UpdateFormat, string]>([
  ['csv', `"id",notes\n${idOf(1)},x\n`],
  ['jsonl', good],
])('%s: reads a file after any number of byte order marks', async (format, text) => {
  for (const marks of ['', '\uFEFF', '\uFEFF\uFEFF', '\uFEFF'.repeat(7)]) {
    const record = { id: idOf(1), notes: 'x' };
    expect(await entriesOf(format, marks + text)).toMatchObject([{ line: text.split('\n').length - 1, record }]);
  }
});

test.each<[UpdateFormat, string, string]>([
  ['jsonl', `${good}{"id":"${idOf(2)}","notes":"`, '"}\n'],
  ['csv', `id,notes\n${idOf(1)},x\n${idOf(2)},"a`, '"\n'],
])('%s: reports the first line with a NUL character, wherever it is in the file', async (format, before, after) => {
  // More than one piece.
  const start = before.replace(/\n/, `\n${' '.repeat(70_000)}\n`);
  for (const text of [before, start]) {
    const line = text.split('\n').length;
    const problem = { line, field: null, sentence: 'has a NUL character: save the file as UTF-8' };
    expect((await entriesOf(format, `${text}\0\0${after}`)).at(-1)).toEqual(problem);
  }
});

test.each<[UpdateFormat, string]>([
  ['jsonl', `${good}{"id":"${idOf(2)}","gender":9}\n\0\n${good}`],
  ['csv', `id,gender\n${idOf(1)},9\n${idOf(2)},9\n${idOf(3)},1\n\0\n${idOf(4)},9\n`],
  ['csv', `id;gender\n${idOf(1)};"9"9\n`],
])('%s: reports the same before a line that ends the file, in pieces of any size: %j', async (format, text) => {
  const reader = format === 'csv' ? CSV : JSONL;
  const whole = await entriesOf(format, text);

  expect(whole.length).toBeGreaterThan(1);
  for (const size of [1, 7, 60]) expect(await allOf(readUpdates(reader, bytesOf(text, size)))).toEqual(whole);
});

test('reports a repeated id even if its line has another problem', async () => {
  const lines = `${good}{"id":"${idOf(1)}","gender":9}\n`;

  expect((await entriesOf('jsonl', lines)).slice(1)).toMatchObject([{ field: 'id' }, { field: 'gender' }]);
});

test('closes the file when the reader stops early', async () => {
  let closed = false;
  async function* file() {
    try {
      for (let n = 0; ; n += 1) yield Buffer.from(`{"id":"${idOf(n)}","notes":"${'x'.repeat(1000)}"}\n`);
    } finally {
      closed = true;
    }
  }
  for await (const entry of readUpdates(JSONL, file())) if (entry.line === 3) break;

  expect(closed).toBe(true);
});

test.each([
  ['a/b.csv', 'csv'],
  ['B.CSV', 'csv'],
  ['b.jsonl', 'jsonl'],
  ['b.v2.ndjson', 'jsonl'],
])('the format of %s is %s', (name, format) => {
  expect(formatOf(name)).toBe(format);
});

test.each(['a.xlsx', 'a.json', 'csv', 'a.csv/b', 'a.constructor', ''])('%j has the wrong ending', (name) => {
  expect(formatOf(name)).toEqual({ line: 0, field: null, sentence: expect.stringContaining('.csv, .jsonl, .ndjson') });
});

test('passes on only the start of a line that is too long, and the position of the next line', async () => {
  const pieces = await allOf(linesOf(bytesOf(`a\n${'x'.repeat(3 * LONGEST_LINE)}\nb\n`, 20_000)));

  const [first, start, ...others] = pieces.flat().map(({ bytes, ...place }) => ({ ...place, text: bytes.toString() }));
  expect([first, ...others]).toEqual([
    { line: 1, from: 0, text: 'a' },
    { line: 3, from: 3 + 3 * LONGEST_LINE, text: 'b' },
  ]);
  expect(start?.from).toBe(2);
  expect(start?.text.length).toBeGreaterThan(LONGEST_LINE);
  expect(start?.text.length).toBeLessThan(LONGEST_LINE + 20_000);
});
