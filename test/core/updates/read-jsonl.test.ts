import { expect, test } from 'vitest';
import { expectTexts } from '../../support/screen.ts';
import { entriesOf, idOf, problemsText } from './support/lines.ts';

const MB = 1024 * 1024;
const line = (n: number, fields: object = { notes: 'x' }) => `${JSON.stringify({ id: idOf(n), ...fields })}\n`;

test('returns records with their first line and byte, and skips blank lines', async () => {
  const text = `${line(1)}\n  \r\n${line(2, { gender: 2 }).trimEnd()}\r\n${line(3).trimEnd()}`;

  expect(await entriesOf('jsonl', text)).toEqual([
    { line: 1, from: 0, record: { id: idOf(1), notes: 'x' } },
    { line: 4, from: text.indexOf(idOf(2)) - 7, record: { id: idOf(2), gender: 2 } },
    { line: 5, from: text.indexOf(idOf(3)) - 7, record: { id: idOf(3), notes: 'x' } },
  ]);
});

test.each([
  ['{"id":', 'is not JSON: each line must have one complete object'],
  ['[{"id":1},', 'begins a JSON array: write one object on each line, no brackets or commas around'],
  ['[1]', 'is not a JSON object'],
  ['hello', 'is not a JSON object'],
  ['null', 'is not a JSON object'],
  ['7', 'is not a JSON object'],
  [`{"id":"${idOf(1)}","gender":1,"gender":2}`, 'gives a field twice'],
  [`{"id":"${idOf(1)}","gender" :1, "gender" : 2}`, 'gives a field twice'],
  [`{"id":"${idOf(1)}","notes":"a","\\u006eotes":"b"}`, 'gives a field twice'],
  [`{"id":"${idOf(1)}","customFields":{"present":true,"present":false}}`, 'gives a field twice'],
  [`{"id":"${idOf(1)}"}`, 'has no field to change'],
  ['['.repeat(100_000), 'begins a JSON array: write one object on each line, no brackets or commas around'],
])('%#: refuses a line that is not a JSON record, and continues reading', async (text, sentence) => {
  expect(await entriesOf('jsonl', `\n${text}\n${line(9)}`)).toMatchObject([
    { line: 2, field: null, sentence },
    { line: 3, record: { id: idOf(9) } },
  ]);
});

test.each(['__proto__', 'constructor', 'toString'])('%s is an unknown field like any other', async (name) => {
  const text = `{"id":"${idOf(1)}","notes":"x","${name}":{"a":1}}\n`;

  expect(await entriesOf('jsonl', text)).toMatchObject([{ line: 1, field: name }]);
});

test('refuses a line of deeply nested brackets like any other', async () => {
  const deep = `${'['.repeat(300_000)}{"a":1}${']'.repeat(300_000)}`;
  const text = `{"id":"${idOf(1)}","notes":${deep}}\n{"id":"${idOf(2)}","customFields":{"present":${deep}}}\n`;

  const entries = await entriesOf('jsonl', text);

  expect(entries).toMatchObject([
    { line: 1, field: 'notes' },
    { line: 2, field: 'customFields' },
  ]);
  await expectTexts('jsonl-deep', [['a text, and the deprecated object', problemsText(entries)]]);
});

test.each([3 * MB, 10 * MB])('refuses a line of %i bytes, and continues reading', async (size) => {
  const text = `${line(1)}${line(2, { notes: 'x'.repeat(size) })}${line(3)}`;

  expect(await entriesOf('jsonl', text)).toMatchObject([
    { line: 1 },
    { line: 2, field: null },
    { line: 3, from: text.length - line(3).length, record: { id: idOf(3) } },
  ]);
});

test('reads a line of the maximum length, and refuses one byte more', async () => {
  const rest = line(1, { notes: '' }).length - 1;

  expect(await entriesOf('jsonl', line(1, { notes: 'x'.repeat(MB - rest) }))).toMatchObject([{ record: {} }]);
  expect(await entriesOf('jsonl', line(1, { notes: 'x'.repeat(MB - rest + 1) }))).toMatchObject([{ field: null }]);
});
