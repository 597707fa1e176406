import fc from 'fast-check';
import { expect, test } from 'vitest';
import { CSV, csvToJsonl } from '../../../core/updates/read-csv.ts';
import { readUpdates } from '../../../core/updates/read-updates.ts';
import { failureOf } from '../../support/failures.ts';
import { rowsOf } from '../../support/rows.ts';
import { expectTexts } from '../../support/screen.ts';
import { allOf, bytesOf, entriesOf, idOf, problemsText, textOf } from './support/lines.ts';

const MB = 1024 * 1024;
const csv = (header: string, ...rows: string[]) =>
  [`id,${header}`, ...rows.map((row, n) => `${idOf(n + 1)},${row}`), ''].join('\n');
const recordsOf = async (text: string) =>
  (await entriesOf('csv', text, { allowNull: true })).map((entry) => ('record' in entry ? entry.record : entry));

test('reads cells by the type of their field', async () => {
  const text = csv(
    'gender,smoker,height,monthlyRevenue,birthDate,customerServiceContactDate,classId,cellNumber,notes',
    `2,true,-5,12.50,2024-02-29,2026-11-21T10:00:00Z,${idOf(7)},+972501234567,"a, ""b""\nc"`,
    '1,false,0,-1e3,,,,,007',
  );

  expect(await recordsOf(text)).toEqual([
    {
      id: idOf(1),
      gender: 2,
      smoker: true,
      height: -5,
      monthlyRevenue: 12.5,
      birthDate: '2024-02-29',
      customerServiceContactDate: '2026-11-21T10:00:00Z',
      classId: idOf(7),
      cellNumber: '+972501234567',
      notes: 'a, "b"\nc',
    },
    { id: idOf(2), gender: 1, smoker: false, height: 0, monthlyRevenue: -1000, notes: '007' },
  ]);
});

test('reads an empty cell as absent, quoted or not, and \\N as null only without quotation marks', async () => {
  expect(await recordsOf(csv('notes,gender,city', ',1,""', '\\N,\\N,', '"\\N",1,x'))).toEqual([
    { id: idOf(1), gender: 1 },
    { id: idOf(2), notes: null, gender: null },
    { id: idOf(3), notes: '\\N', gender: 1, city: 'x' },
  ]);
});

test.each(
  rowsOf([
    ['gender', '01', '1.0', ' 1', 'male'],
    ['height', '1e2', '+180', '-0', '2147483648', '99999999999999999999'],
    ['smoker', 'TRUE', '1', 'yes'],
    ['monthlyRevenue', '"1,000"', '.5', 'NaN', 'Infinity', '1e400', '0x10'],
    ['birthDate', '29/02/2024', 'null'],
  ]),
)('%s refuses the cell %s, because values are not converted', async (field, cell) => {
  expect(await entriesOf('csv', csv(field, cell))).toMatchObject([{ line: 2, field }]);
});

test('reads a byte order mark, Windows line breaks and a last line without a line break', async () => {
  const text = csv('notes,city', '"a\nb",c', 'd,e');

  const windows = `\uFEFF${text.replaceAll('\n', '\r\n').trimEnd()}`;

  expect(await entriesOf('csv', windows)).toMatchObject([
    { line: 2, record: { notes: 'a\r\nb', city: 'c' } },
    { line: 4, record: { notes: 'd', city: 'e' } },
  ]);
});

const HEADERS: [what: string, text: string][] = [
  ['a column twice', 'id,notes,notes\n'],
  ['no id', 'notes,city\na,b\n'],
  ['no id, and a name of the wrong letter case', 'ID,notes\na,b\n'],
  ['semicolons', 'id;notes\na;b\n'],
  ['a column without a name', `id,notes,\n${idOf(1)},x,y\n`],
  ['a column for the deprecated object', `id,customFields,notes\n${idOf(1)},,x\n`],
  ['line breaks of CR only', 'id,notes\ra,b\r'],
  ['an unknown column, once, before the problems of the rows', csv('frstName,gender', 'a,9', 'b,1')],
];

test('reports each problem of a header', async () => {
  const reported = HEADERS.map(async ([what, text]) => [what, problemsText(await entriesOf('csv', text))] as const);

  await expectTexts('csv-header-problems', await Promise.all(reported));
});

/** A row, and the field of its problem; `ends`: the cells after it are uncertain, so reading stops. */
const ROWS: [row: string, field: string | null, ends?: 'ends'][] = [
  [`${idOf(1)},x`, null],
  [`${idOf(1)},x,y,z`, null],
  [',x,y', 'id'],
  ['\\N,x,y', 'id'],
  ['17,x,y', 'id'],
  [`${idOf(1)},,`, null],
  [`${idOf(1)},x\ry,z`, null],
  [`${idOf(1)},x"y,z`, null, 'ends'],
  [`${idOf(1)},"x"y,z`, null, 'ends'],
  [`${idOf(1)},x,"y`, null, 'ends'],
];

test('reports the problem of a row, and continues reading unless the cells after it are uncertain', async () => {
  const reported: [string, string][] = [];
  for (const [row, field, ends] of ROWS) {
    const entries = await entriesOf('csv', `id,notes,city\n${idOf(2)},"a\n",b\n${row}\n${idOf(3)},a,b\n`);

    const next = ends ? [] : [{ line: 5, record: { id: idOf(3) } }];
    expect([row, entries]).toMatchObject([row, [{ line: 2, record: { id: idOf(2) } }, { line: 4, field }, ...next]]);
    expect([row, entries.length]).toEqual([row, ends ? 2 : 3]);
    reported.push([row.replace('\r', '\\r'), problemsText(entries)]);
  }
  await expectTexts('csv-row-problems', reported);
});

test.each([
  ['a cell of 10 MB', `id,notes\n${idOf(1)},${'x'.repeat(10 * MB)}\n${idOf(2)},y\n`],
  ['a quotation mark that is never closed', csv('notes', '"x', ...Array.from({ length: 40_000 }, () => 'y'))],
])('stops reading at %s, and reports the limit', async (_, text) => {
  const entries = await entriesOf('csv', text, { allowNull: true });

  expect(entries).toMatchObject([{ line: 2, field: null }]);
  expect(entries).toHaveLength(1);
  await expectTexts('csv-too-long', [['a row without an end', problemsText(entries)]]);
});

test('refuses a record that is too long as JSON, even if its CSV is not', async () => {
  const text = csv('notes', `"${'\u0001'.repeat(200_000)}"`, 'y');

  expect(await entriesOf('csv', text, { allowNull: true })).toMatchObject([
    { line: 2, field: null },
    { line: 3, record: { notes: 'y' } },
  ]);
});

test.each([1, 3, 100])('reads the same entries in pieces of %i bytes', async (size) => {
  const text = csv('notes,city', '"שלום\r\n""😀""",x', '\\N,"a,b"', '"c",d', 'bad"cell,x');

  expect(await allOf(readUpdates(CSV, bytesOf(text, size), { allowNull: true }))).toEqual(
    await entriesOf('csv', text, { allowNull: true }),
  );
});

test('reports every column of a header with more cells than a call may have arguments', async () => {
  const entries = await entriesOf('csv', `id${','.repeat(200_000)}\n`);

  expect(entries).toHaveLength(200_000);
});

test('writes every record on the line on which it began', async () => {
  const csv = `id,notes,gender\n${idOf(1)},"a\nb",\n\n${idOf(2)},\\N,2\n`;

  expect(await textOf(csvToJsonl(bytesOf(csv)))).toBe(
    `\n{"id":"${idOf(1)}","notes":"a\\nb"}\n\n\n{"id":"${idOf(2)}","notes":null,"gender":2}\n`,
  );
});

test('JSON Lines made from a CSV have the same entries and line numbers as the CSV', async () => {
  const cell = fc.string({ unit: fc.constantFrom('a', 'ש', '"', ',', '\n', '\\', ' '), minLength: 1, maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(
      fc.array(cell, { minLength: 1, maxLength: 20 }),
      fc.integer({ min: 1, max: 90 }),
      async (cells, size) => {
        const rows = cells.map((text, n) => `${idOf(n)},"${text.replaceAll('"', '""')}"\n`);
        const csv = `id,notes\n${rows.join('')}`;

        const jsonl = await textOf(csvToJsonl(bytesOf(csv, size)));

        const withoutBytes = (await entriesOf('jsonl', jsonl)).map((entry) => ({ ...entry, from: null }));
        expect(withoutBytes).toEqual(await entriesOf('csv', csv));
      },
    ),
  );
});

test('refuses an invalid CSV with its line number, without quoting values', async () => {
  const failure = await failureOf(textOf(csvToJsonl(bytesOf(`id,gender\n${idOf(1)},Canary\n`))), 'UpdateFileInvalid');

  await expectTexts('csv-changed', [['a row that was valid when it was checked', failure.message]]);
});
