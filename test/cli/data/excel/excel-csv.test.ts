import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Manifest } from '../../../../core/export/manifest.ts';
import { UNSEEN } from '../../../../core/gate/facts.ts';
import { tempDir } from '../../../local/support/support.ts';
import { smallWorkbook, workbookFile } from '../../../support/small-workbook.ts';
import { aws } from '../../support/cloud/cloud.ts';

/** A published file, and `download --excel-csv` of it into an empty directory. */
async function setting(content: string | Buffer, file: Partial<Manifest['file']> = {}) {
  const cloud = await aws();
  cloud.publish({ content, manifest: { file } });
  const directory = await tempDir();
  const path = join(directory, 'leads.csv');
  const excel = (...args: string[]) => cloud.cli('download', 'leads', '--excel-csv', '-o', path, ...args);
  return { directory, path, excel };
}

const csv = (records: string[][]) =>
  records.map((record) => `${record.map((cell) => `"${cell.replaceAll('"', '""')}"`).join(',')}\n`).join('');

test('what a spreadsheet would run gets an apostrophe, and all cells are quoted behind a byte order mark', async () => {
  const run = [
    '=1+1',
    '+972 3',
    '-5',
    '@SUM(A1)',
    ' =1',
    '\tx',
    '\rx',
    '\nx',
    '＝1',
    'x;=1',
    'x, -1',
    'x\n@y',
    '"=1',
    ')+1',
  ];
  const plain = ['a=b', 'a - b', '2026-11-20', 'dana@example.com', 'YWI==', 'דנה', ''];
  const { path, excel } = await setting(csv([['id', 'name'], ...[...run, ...plain].map((cell) => ['1', cell])]));
  const { code, stdout } = await excel();
  expect(code).toBe(0);
  expect(stdout).toMatch(/size and CRC-32 as the manifest .* says; for spreadsheets: 14 cells got an apostrophe\.\n$/);
  const text = await readFile(path, 'utf8');
  expect(text.startsWith('\ufeff"id","name"\r\n"1","\'=1+1"\r\n')).toBe(true);
  const names = parse(text, { bom: true, record_delimiter: '\r\n' }).map((record) => record[1]);
  const harmless = ["'=1+1", "'+972 3", "'-5", "'@SUM(A1)", " '=1", "'\tx", "'\rx", "'\nx", "'＝1"];
  const inside = ["x;'=1", "x, '-1", "x\n'@y", '"\'=1', ")'+1"];
  expect(names).toEqual(['name', ...harmless, ...inside, ...plain]);
});

/**
 * The fields of a text as a program splits it by a separator of its own: quotation marks count where they begin a field, and what
 * follows the closing one belongs to it.
 */
function fieldsBy(separator: string, text: string): string[] {
  const end = `[^${separator}\r\n]*`;
  const field = new RegExp(`(?:"((?:[^"]|"")*)"(${end})|(${end}))(?:${separator}|\r\n|\r|\n|$)`, 'g');
  return [...text.matchAll(field)].map(
    ([, quoted = '', tail = '', bare = '']) => quoted.replaceAll('""', '"') + tail + bare,
  );
}

test.each([
  [',', ','],
  [';', ';'],
  ['tab', '\t'],
  ['|', '\\|'],
  [':', ':'],
  ['؛', '؛'],
])(
  'whatever the cells, none can be run where the separator is %s, with quotation marks or without',
  async (_, separator) => {
    const cell = fc.stringMatching(/^[=+\-@\t\r\n"',;|:؛ aא1]{0,8}$/);
    const records = fc.sample(fc.tuple(cell, cell), 300);
    const { path, excel } = await setting(csv([['id', 'name'], ...records]), { dialect: null });
    await excel();
    const text = (await readFile(path, 'utf8')).replace('\ufeff', '');
    const naive = text.split(new RegExp(`${separator}|[\r\n]`)).map((field) => field.replace(/^[\s"]+/, ''));
    const run = [...fieldsBy(separator, text), ...naive].filter((field) => /^\s*[=+\-@]/.test(field));
    expect(run).toEqual([]);
  },
);

test('without the apostrophes, all cells are as they were', async () => {
  const cell = fc.stringMatching(/^[=+\-@\t\r\n",;a א]{0,6}$/);
  const records = fc.sample(fc.tuple(cell, cell), 300);
  const { path, excel } = await setting(csv([['id', 'name'], ...records]), { dialect: null });
  await excel();
  const written: string[][] = parse(await readFile(path), { bom: true, record_delimiter: '\r\n' }).slice(1);
  expect(written.map((record) => record.map((one) => one.replaceAll("'", '')))).toEqual(records);
});

test('a file in another encoding with another separator becomes UTF-8 with the same separator', async () => {
  const dialect = {
    encoding: 'windows-1255',
    byteOrderMark: false,
    separator: ';',
    separatorLine: true,
    lineBreak: 'crlf',
  };
  const content = Buffer.concat([Buffer.from('sep=;\r\nid;name\r\n1;'), Buffer.from([0xe0, 13, 10])]);
  const { path, excel } = await setting(content, { dialect });
  await excel();
  expect(await readFile(path, 'utf8')).toBe('\ufeff"id";"name"\r\n"1";"א"\r\n');
});

test('a spreadsheet becomes a CSV file in which no cell can be run', async () => {
  const workbook = smallWorkbook([
    ['id', 'name'],
    ['1', '=1+1'],
    [2, 'b'],
  ]);
  const { path, excel } = await setting(workbook, await workbookFile(workbook, ['id', 'name']));
  expect((await excel()).code).toBe(0);
  expect(await readFile(path, 'utf8')).toBe('\ufeff"id","name"\r\n"1","\'=1+1"\r\n"2","b"\r\n');
});

test('a file without a header, by the configuration, gets the requested columns as its first line', async () => {
  const { path, excel } = await setting('1,a\n', { header: null, content: { ...UNSEEN, headed: false, width: 2 } });
  await excel();
  expect(await readFile(path, 'utf8')).toBe('\ufeff"id","name"\r\n"1","a"\r\n');
});

test.each<[string, string, Partial<Manifest['file']>, RegExp]>([
  [
    'is published unread',
    'PK',
    { format: 'xls' },
    /^The leads of 2026-11-20 are a file of the kind xls, which nothing looks into: download gets/,
  ],
  ['is malformed at its end', `id,name\n${'1,a\n'.repeat(40_000)}2,"b" c\n`, {}, /is malformed CSV in line 40002/],
  ['has another checksum', `id,name\n${'1,a\n'.repeat(40_000)}`, { crc32: 'AAAAAA==' }, /is corrupt: its CRC-32/],
])('of a file that %s nothing is left', async (_, content, file, sentence) => {
  const { directory, excel } = await setting(content, file);
  const { code, stdout, stderr } = await excel();
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toMatch(sentence);
  expect(await readdir(directory)).toEqual([]);
});

test('what is there is kept without force, and what another attempt left is not gone on with', async () => {
  const { path, excel } = await setting('id,name\n1,a\n');
  await writeFile(path, 'mine');
  expect((await excel()).code).toBe(2);
  expect(await readFile(path, 'utf8')).toBe('mine');
  await writeFile(`${path}.part`, 'half');
  expect(JSON.parse((await excel('--force', '--json')).stdout)).toMatchObject({
    excel: 'csv',
    apostrophes: 0,
    file: path,
  });
  expect(await readFile(path, 'utf8')).toBe('\ufeff"id","name"\r\n"1","a"\r\n');
});
