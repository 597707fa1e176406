import { gzipSync } from 'node:zlib';
import { parse } from 'csv-parse/sync';
import { expect, it, test } from 'vitest';
import { TableError } from '../../../core/table/table-error.ts';
import { columnsIn, type Published, placeForTables, putTable, rowsIn } from './support.ts';

const { path } = await placeForTables();

const BOM = '\uFEFF';
/** Hebrew letters start at 0xe0 in windows-1255. */
const windows1255 = (text: string) =>
  Buffer.from(
    text.replaceAll(/[א-ת]/g, (letter) => String.fromCharCode(letter.charCodeAt(0) - 0x4f0)),
    'latin1',
  );
const utf16 = (text: string) => Buffer.from(BOM + text, 'utf16le');
const wide = (row: (place: number) => unknown) => Array.from({ length: 1000 }, (_, place) => row(place)).join(',');
const twice = (text: string) => Buffer.concat([gzipSync(text.slice(0, 11)), gzipSync(text.slice(11))]);

test.each<[what: string, text: string, file?: Published['file'], as?: (text: string) => Uint8Array]>([
  ['only a header', 'id,name\n'],
  ['a header without a line break', 'id,name'],
  ['a byte order mark', `${BOM}id,name\n1,Ann\n`, { dialect: { byteOrderMark: true } }],
  ['Hebrew, in the header too', 'מזהה,שם\n1,"שרה ""לוי"""\n2,דוד\n'],
  ['UTF-16', 'id,a\n1,א😀\n', { dialect: { encoding: 'utf-16le' } }, utf16],
  ['windows-1255', 'id,שם\n1,"דוד, שרה"\n', { dialect: { encoding: 'windows-1255' } }, windows1255],
  ['UTF-8 with an unknown encoding in the manifest', 'id,שם\n1,דוד\n', { dialect: { encoding: null } }],
  ['gzip in two members', 'id,name\n1,Ann\n', { compression: 'gzip' }, twice],
  ['a thousand columns', `${wide((place) => `c${place}`)}\n${wide((place) => place)}\n${wide(() => '')}\n`],
  ['a cell of a million characters', `id,name\n1,${'שלום '.repeat(200_000)}\n2,b\n`],
  ['texts that look like other types', 'id,name\nNULL,\\N\nNaN,None\ntrue,0x1\n 1 ,=SUM(A1)\n'],
  ['column names with capital letters, and the name of a folder', 'Id,FIRST Name,date\n1,Ann,x\n'],
])('writes the rows that csv-parse reads from a file with %s', async (_, text, file, as = Buffer.from) => {
  const [header = [], ...rows] = parse(text, { bom: true, skip_empty_lines: true, relax_quotes: true });

  await putTable(path, { content: as(text), file: { header, ...file }, chunk: text.length < 100 ? 1 : 65_536 });

  expect((await rowsIn(path)).map((row) => Object.values(row))).toEqual(rows);
});

const tableOf = async (published: Published) => {
  const written = await putTable(path, published);
  return { written, rows: (await rowsIn(path)).map((row) => Object.values(row)) };
};

it('writes no value where a row is shorter than the header, and counts such rows', async () => {
  const { rows, written } = await tableOf({ content: 'id,name,city\n1,Ann,Ur\n2\n3,,\n4,Dan\n' });

  expect(rows).toEqual([
    ['1', 'Ann', 'Ur'],
    ['2', null, null],
    ['3', '', ''],
    ['4', 'Dan', null],
  ]);
  expect(written.shortRows).toEqual({ count: 2, row: 2 });
});

it('leaves out values that do not fit their type, and returns their number and first row', async () => {
  const content = 'id,day\nx,2026-02-30\n2,2026-03-01\n3.5,\n,soon\n';
  const { rows, written } = await tableOf({ content, settings: { columns: { id: 'integer', day: 'date' } } });

  expect(rows).toEqual([
    [null, null],
    ['2', '2026-03-01'],
    [null, null],
    [null, null],
  ]);
  expect(written.misfits).toEqual([
    { column: 'id', type: 'integer', count: 2, row: 1 },
    { column: 'day', type: 'date', count: 2, row: 1 },
  ]);
});

it('takes the columns of a file of 0 bytes from the request', async () => {
  const { rows } = await tableOf({ content: '', file: { format: null, header: [], rows: 0 } });

  expect(rows).toEqual([]);
  expect(columnsIn(path)).toEqual(['id UTF8', 'name UTF8']);
});

it('skips a line that names the separator', async () => {
  const { rows } = await tableOf({
    content: 'sep=;\nid;name\n1;Ann\n',
    file: { header: ['id', 'name'], dialect: { separator: ';', separatorLine: true } },
  });

  expect(rows).toEqual([['1', 'Ann']]);
});

it('ignores the DOS end-of-file mark', async () => {
  expect((await tableOf({ content: 'id,name\n1,Ann\n\x1a', file: { rows: 1 } })).rows).toEqual([['1', 'Ann']]);
});

it('keeps characters with the code 0', async () => {
  expect((await tableOf({ content: 'id,name\n1,a\0b\n2,\0\n' })).rows).toEqual([
    ['1', 'a\0b'],
    ['2', '\0'],
  ]);
});

it('reads line breaks of both kinds if the manifest says that they are mixed', async () => {
  const content = 'id,name\r\n1,Ann\n2,Bob\r\n';

  expect(
    (await tableOf({ content, file: { header: ['id', 'name'], dialect: { lineBreak: 'mixed' } } })).rows,
  ).toHaveLength(2);
});

it('names columns as in the manifest if the first line has labels', async () => {
  await tableOf({ content: 'מזהה,שם\n1,דוד\n', file: { header: ['id', 'firstName'] } });

  expect(columnsIn(path)).toEqual(['id UTF8', 'firstname UTF8']);
});

const headed = { header: ['id', 'name'] };
const gzip = { compression: 'gzip', ...headed };

test.each<[string, Published, RegExp]>([
  ['a row longer than the header', { content: 'id,name\n1,a\n2,b,c\n' }, /^Row 2 has 3 fields, the header has 2\.$/],
  ...(['except', 'hash'] as const).map((covers): [string, Published, RegExp] => [
    `a row that is shorter than the header if a column is in \`${covers}\``,
    { content: 'id,name,city\n1,Ann,Ur\n2,Ur\n', settings: { [covers]: ['city'] }, hashKey: 'k' },
    /^Row 2 has 2 fields, the header has 3\.$/,
  ]),
  ['no header', { content: '1,a\n2,b\n', file: { header: null } }, /^The first line of the file has no column/],
  ['a header that names a column twice', { content: 'id,id\n1,2\n' }, /"id" and "id" would both be named "id"/],
  ['another header than in the manifest', { content: 'id;name\n', file: headed }, /^The header has 1 fields, not 2/],
  ...['xls', 'json', 'archive'].map((format): [string, Published, RegExp] => [
    `an unread file of the format ${format}`,
    { content: 'PK', file: { format } },
    new RegExp(`^The file is ${format}: tables are made of CSV files and spreadsheets\\.$`),
  ]),
  [
    'gzip that is cut off',
    { content: gzipSync('id,name\n1,Ann\n').subarray(0, -6), file: gzip },
    /^The file is gzip .* cut off\.$/,
  ],
  [
    'bytes that are not UTF-8',
    { content: Buffer.from('id,name\n1,\xe0\n', 'latin1'), file: headed },
    /^The file has bytes that are not utf-8\.$/,
  ],
  [
    'another checksum than in the manifest',
    { content: 'id,name\n1,Ann\n', file: { crc32: 'AAAAAA==' } },
    /^The CRC-32 of the stored file differs/,
  ],
  [
    'another number of rows than in the manifest',
    { content: 'id,name\n1,Ann\n', file: { rows: 2 } },
    /^The file has 1 rows .*, 2 by its manifest\.$/,
  ],
  [
    'a value that does not fit its type, if misfit is "stop"',
    { content: 'id,day\n1,2026-01-01\n2,secret\n', settings: { columns: { day: 'date' }, misfit: 'stop' } },
    /^The value in row 2 of the column "day" does not fit its type, date\.$/,
  ],
  ...[null, ''].map((hashKey): [string, Published, RegExp] => [
    `the key ${JSON.stringify(hashKey)} for a hashed column`,
    { content: 'id,name\n1,Ann\n', settings: { hash: ['id'] }, hashKey },
    /^The key of the hashed columns is missing\.$/,
  ]),
])('throws TableError for %s', async (_, published, message) => {
  const written = putTable(path, published);

  await expect(written).rejects.toThrow(TableError);
  await expect(written).rejects.toThrow(message);
});
