import { gzipSync } from 'node:zlib';
import { parse } from 'csv-parse/sync';
import { expect, it, test } from 'vitest';
import { CONTENT_NOT_READ } from '../../../core/gate/facts.ts';
import { TableError } from '../../../core/table/table-error.ts';
import { encodedAs } from '../../support/encoded.ts';
import { expectMessages } from '../../support/screen.ts';
import { zipWith } from '../../support/zip.ts';
import { columnsIn, type Published, placeForTables, putTable } from './support.ts';

const { path, tableOf } = await placeForTables();

const BOM = '\uFEFF';
const windows1255 = (text: string) => encodedAs(text, 'windows-1255');
const utf16 = (text: string) => Buffer.from(BOM + text, 'utf16le');
const utf16be = (text: string) => encodedAs(text, 'utf-16be');
const wide = (row: (place: number) => unknown) => Array.from({ length: 1000 }, (_, place) => row(place)).join(',');
const twice = (text: string) => Buffer.concat([gzipSync(text.slice(0, 11)), gzipSync(text.slice(11))]);

test.each<[what: string, text: string, file?: Published['file'], as?: (text: string) => Uint8Array]>([
  ['only a header', 'id,name\n'],
  ['a header without a line break', 'id,name'],
  ['a byte order mark', `${BOM}id,name\n1,Ann\n`, { dialect: { byteOrderMark: true } }],
  ['Hebrew, in the header too', 'מזהה,שם\n1,"שרה ""לוי"""\n2,דוד\n'],
  ['UTF-16', 'id,a\n1,א😀\n', { dialect: { encoding: 'utf-16le' } }, utf16],
  ['UTF-16 big-endian', 'id,a\n1,א😀\n', { dialect: { encoding: 'utf-16be' } }, utf16be],
  ['windows-1255', 'id,שם\n1,"דוד, שרה"\n', { dialect: { encoding: 'windows-1255' } }, windows1255],
  ['UTF-8 with an unknown encoding in the manifest', 'id,שם\n1,דוד\n', { dialect: { encoding: null } }],
  ['gzip in two members', 'id,name\n1,Ann\n', { compression: 'gzip' }, twice],
  ['a thousand columns', `${wide((place) => `c${place}`)}\n${wide((place) => place)}\n${wide(() => '')}\n`],
  ['a cell of a million characters', `id,name\n1,${'שלום '.repeat(200_000)}\n2,b\n`],
  ['texts that look like other types', 'id,name\nNULL,\\N\nNaN,None\ntrue,0x1\n 1 ,=SUM(A1)\n'],
  ['column names with capital letters, and the name of a folder', 'Id,FIRST Name,date\n1,Ann,x\n'],
])('writes the rows that csv-parse reads from a file with %s', async (_, text, file, as = Buffer.from) => {
  const [header = [], ...rows] = parse(text, { bom: true, skip_empty_lines: true, relax_quotes: true });

  const table = { content: as(text), file: { header, ...file }, chunk: text.length < 100 ? 1 : 65_536 };

  expect((await tableOf(table)).rows).toEqual(rows);
});

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

test.each<[what: string, published: Published, rows: string[][]]>([
  [
    'a line that names the separator is skipped',
    {
      content: 'sep=;\nid;name\n1;Ann\n',
      file: { header: ['id', 'name'], dialect: { separator: ';', separatorLine: true } },
    },
    [['1', 'Ann']],
  ],
  [
    'cells may end at tabs, and records at carriage returns',
    {
      content: 'id\tname\r1\t"a\tb"\r',
      file: { header: ['id', 'name'], dialect: { separator: '\t', lineBreak: 'cr' } },
    },
    [['1', 'a\tb']],
  ],
  [
    'a zip archive is unpacked',
    { content: zipWith('leads.csv', 'id,name\n1,Ann\n'), file: { header: ['id', 'name'], compression: 'zip' } },
    [['1', 'Ann']],
  ],
  [
    'text after a closing quotation mark belongs to its cell, and so does a lone carriage return',
    { content: Buffer.from('id,name\n1,"An"n\n2,Bo\rb\n'), file: { header: ['id', 'name'] } },
    [
      ['1', 'Ann'],
      ['2', 'Bo\rb'],
    ],
  ],
  ['the DOS end-of-file mark is ignored', { content: 'id,name\n1,Ann\n\x1a', file: { rows: 1 } }, [['1', 'Ann']]],
  [
    'characters with the code 0 are kept',
    { content: 'id,name\n1,a\0b\n2,\0\n' },
    [
      ['1', 'a\0b'],
      ['2', '\0'],
    ],
  ],
  [
    'line breaks are of both kinds if the manifest says so',
    {
      content: 'id,name\r\n1,Ann\n2,Bob\r\n',
      file: { header: ['id', 'name'], dialect: { lineBreak: 'mixed' } },
    },
    [
      ['1', 'Ann'],
      ['2', 'Bob'],
    ],
  ],
])('%s', async (_, published, rows) => {
  expect((await tableOf(published)).rows).toEqual(rows);
});

it('names columns as in the manifest if the first line has labels', async () => {
  await tableOf({ content: 'מזהה,שם\n1,דוד\n', file: { header: ['id', 'firstName'] } });

  expect(columnsIn(path)).toEqual(['id UTF8', 'firstname UTF8']);
});

const headed = { header: ['id', 'name'] };
const gzip = { compression: 'gzip', ...headed };

const UNTABLED: [what: string, published: Published][] = [
  ['a row longer than the header', { content: 'id,name\n1,a\n2,b,c\n' }],
  ...(['except', 'hash'] as const).map((covers): [string, Published] => [
    `a row that is shorter than the header if a column is in \`${covers}\``,
    { content: 'id,name,city\n1,Ann,Ur\n2,Ur\n', settings: { [covers]: ['city'] }, hashKey: 'k' },
  ]),
  ['no header', { content: '1,a\n2,b\n', file: { header: null } }],
  [
    'no header, and fewer columns than were requested',
    { content: '1\n', file: { header: null, content: { ...CONTENT_NOT_READ, width: 1 } } },
  ],
  ['a header that names a column twice', { content: 'id,id\n1,2\n' }],
  ['another header than in the manifest', { content: 'id;name\n', file: headed }],
  ...['xls', 'json', 'archive'].map((format): [string, Published] => [
    `an unread file of the format ${format}`,
    { content: 'PK', file: { format } },
  ]),
  ['gzip that is cut off', { content: gzipSync('id,name\n1,Ann\n').subarray(0, -6), file: gzip }],
  ['bytes that are not UTF-8', { content: Buffer.from('id,name\n1,\xe0\n', 'latin1'), file: headed }],
  ['another checksum than in the manifest', { content: 'id,name\n1,Ann\n', file: { crc32: 'AAAAAA==' } }],
  ['another number of rows than in the manifest', { content: 'id,name\n1,Ann\n', file: { rows: 2 } }],
  ...[null, ''].map((hashKey): [string, Published] => [
    `the key ${JSON.stringify(hashKey)} for a hashed column`,
    { content: 'id,name\n1,Ann\n', settings: { hash: ['id'] }, hashKey },
  ]),
];

test('throws TableError for files that become no table', async () => {
  const told: [what: string, message: string][] = [];
  for (const [what, published] of UNTABLED) {
    const error = await putTable(path, published).catch((thrown: unknown) => thrown);
    expect(error, what).toBeInstanceOf(TableError);
    told.push([what, (error as TableError).message]);
  }
  await expectMessages('no-table', told);
});
