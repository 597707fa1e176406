import { expect, test } from 'vitest';
import { CSV } from '../../../core/updates/read-csv.ts';
import { readUpdates } from '../../../core/updates/read-updates.ts';
import { allOf, bytesOf, entriesOf, idOf } from './support/lines.ts';

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

test.each([
  ['gender', '01'],
  ['gender', '1.0'],
  ['gender', ' 1'],
  ['gender', 'male'],
  ['height', '1e2'],
  ['height', '+180'],
  ['height', '-0'],
  ['height', '2147483648'],
  ['height', '99999999999999999999'],
  ['smoker', 'TRUE'],
  ['smoker', '1'],
  ['smoker', 'yes'],
  ['monthlyRevenue', '"1,000"'],
  ['monthlyRevenue', '.5'],
  ['monthlyRevenue', 'NaN'],
  ['monthlyRevenue', 'Infinity'],
  ['monthlyRevenue', '1e400'],
  ['monthlyRevenue', '0x10'],
  ['birthDate', '29/02/2024'],
  ['birthDate', 'null'],
])('%s refuses the cell %s, because values are not converted', async (field, cell) => {
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

test.each<[string, string, object[]]>([
  ['a column twice', 'id,notes,notes\n', [{ line: 1, field: 'notes', sentence: 'is the name of two columns' }]],
  [
    'no id',
    'notes,city\na,b\n',
    [{ line: 1, field: 'id', sentence: 'is missing: the first line names the columns, one of them id' }],
  ],
  [
    'no id, and a name of the wrong letter case',
    'ID,notes\na,b\n',
    [
      { line: 1, field: 'ID', sentence: 'is not a field of a customer (did you mean "id"?)' },
      { line: 1, field: 'id' },
    ],
  ],
  [
    'semicolons',
    'id;notes\na;b\n',
    [
      { line: 1, field: 'id;notes' },
      { line: 1, field: 'id', sentence: 'is missing: columns are separated by commas, nothing else' },
    ],
  ],
  [
    'a column without a name',
    `id,notes,\n${idOf(1)},x,y\n`,
    [{ line: 1, field: '(empty name)', sentence: 'is column 3: each column needs the name of a field' }, { line: 2 }],
  ],
  [
    'a column for the deprecated object',
    `id,customFields,notes\n${idOf(1)},,x\n`,
    [
      {
        line: 1,
        field: 'customFields',
        sentence: 'is an object, which a cell cannot hold: use JSON Lines (and it is deprecated)',
      },
      { line: 2 },
    ],
  ],
  ['line breaks of CR only', 'id,notes\ra,b\r', [{ line: 1, field: null }]],
])('reports %s in the header', async (_, text, expected) => {
  const entries = await entriesOf('csv', text);

  expect(entries).toMatchObject(expected);
  expect(entries).toHaveLength(expected.length);
});

test('reports unknown columns once, and checks the rest of the file', async () => {
  expect(await entriesOf('csv', csv('frstName,gender', 'a,9', 'b,1'))).toMatchObject([
    { line: 1, field: 'frstName', sentence: 'is not a field of a customer (did you mean "firstName"?)' },
    { line: 2, field: 'gender' },
    { line: 3, record: { gender: 1 } },
  ]);
});

test.each([
  [`${idOf(1)},x`, { field: null, sentence: 'has 2 cells where the header has 3' }],
  [`${idOf(1)},x,y,z`, { field: null, sentence: 'has 4 cells where the header has 3' }],
  [',x,y', { field: 'id', sentence: 'is missing' }],
  ['\\N,x,y', { field: 'id', sentence: 'is missing' }],
  ['17,x,y', { field: 'id', sentence: 'is no UUID' }],
  [`${idOf(1)},,`, { field: null, sentence: 'has no field to change' }],
  [`${idOf(1)},x\ry,z`, { field: null, sentence: expect.stringContaining('save the file with LF or CRLF') }],
])('refuses the row %s, and continues reading', async (row, problem) => {
  expect(await entriesOf('csv', `id,notes,city\n\n${row}\n${idOf(2)},a,b\n`)).toMatchObject([
    { line: 3, ...problem },
    { line: 4, record: { id: idOf(2) } },
  ]);
});

test.each([
  [`${idOf(1)},x"y,z`, 'has a quotation mark inside a cell that does not begin with one; reading ended here'],
  [`${idOf(1)},"x"y,z`, 'has characters after the closing quotation mark of a cell; reading ended here'],
  [`${idOf(1)},x,"y`, 'opens a quotation mark that is never closed; reading ended here'],
])('stops reading at the row %s, because the cells after it are uncertain', async (row, sentence) => {
  expect(await entriesOf('csv', `id,notes,city\n${idOf(2)},"a\n",b\n${row}\n${idOf(3)},a,b\n`)).toMatchObject([
    { line: 2, record: { id: idOf(2) } },
    { line: 4, field: null, sentence },
  ]);
});

test.each([
  ['a cell of 10 MB', `id,notes\n${idOf(1)},${'x'.repeat(10 * MB)}\n${idOf(2)},y\n`],
  ['a quotation mark that is never closed', csv('notes', '"x', ...Array.from({ length: 40_000 }, () => 'y'))],
])('stops reading at %s, and reports the limit', async (_, text) => {
  expect(await entriesOf('csv', text, { allowNull: true })).toEqual([
    {
      line: 2,
      field: null,
      sentence:
        'is longer than 1048576 bytes, the most that a line may have, or opens a quotation mark that is never closed; reading ended here',
    },
  ]);
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
