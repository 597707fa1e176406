import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { sheetXml, workbookOf } from '../../../cli/data/excel.ts';
import type { Manifest } from '../../../core/export/manifest.ts';
import { CONTENT_NOT_READ } from '../../../core/gate/facts.ts';
import { awkwardTexts } from '../../support/awkward-texts.ts';
import { tempDir } from '../../support/project.ts';
import { expectResults, expectTexts } from '../../support/screen.ts';
import { all, readWorkbook, smallWorkbook, workbookFile } from '../../support/workbook.ts';
import { aws } from '../support/cloud/cloud.ts';

async function* streamed<T>(values: Iterable<T>): AsyncGenerator<T> {
  yield* values;
}

/** A published file, and `download --excel` of it into an empty directory. */
async function setting(content: string | Buffer, file: Partial<Manifest['file']> = {}) {
  const cloud = await aws();
  cloud.publish({ content, manifest: { file } });
  const directory = await tempDir();
  const path = join(directory, 'leads.xlsx');
  const excel = (...args: string[]) => cloud.cli('download', 'leads', '--excel', '-o', path, ...args);
  const records = async (columns = ['id', 'name']) => (await readWorkbook(await readFile(path), columns)).records;
  return { directory, path, excel, records };
}

test('any texts in a workbook are read back equal', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(awkwardTexts, awkwardTexts), { maxLength: 20 }), async (texts) => {
      const written = [['id', 'a', 'b'], ...texts.map(([a, b], row) => [String(row), a, b])];
      const bytes = Buffer.concat(await all(workbookOf('leads', streamed(written))));
      expect((await readWorkbook(bytes, ['id', 'a', 'b'])).records).toEqual(written);
    }),
  );
});

test('keeps telephone numbers, leading zeros and texts like formulas unchanged', async () => {
  const cells = '+972501234567|0501234567|-5|=1+1|@SUM(A1)|1e5| blank |two\nlines|TRUE|<&>'.split('|');
  const { excel, records, path } = await setting(`id,name\n${cells.map((cell, row) => `${row},"${cell}"\n`).join('')}`);
  const result = await excel();
  expect(result.code).toBe(0);
  await expectResults('download-excel', [['a file as a workbook', result]]);
  expect(await records()).toEqual([['id', 'name'], ...cells.map((cell, row) => [String(row), cell])]);
  expect((await readFile(path)).includes('docProps')).toBe(false);
});

test('writes a cell as inline text in the format "text", never as a formula', async () => {
  const xml = Buffer.concat(await all(sheetXml(streamed([['=1+1', '', ' a']])))).toString();
  expect(xml).toContain(
    '<row r="1"><c r="A1" s="2" t="inlineStr"><is><t>=1+1</t></is></c><c r="C1" s="2" t="inlineStr"><is><t xml:space="preserve"> a</t></is></c></row>',
  );
  expect(xml).not.toMatch(/<f|<v/);
});

test('makes the header bold, frozen and filtered, and columns as wide as their texts', async () => {
  const rows = [['id', 'name'], ['1', 'x'.repeat(30)], ...Array.from({ length: 200 }, () => ['2', LONG])];
  const written = Buffer.concat(await all(sheetXml(streamed(rows)))).toString();
  expect(written).toContain('<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/>');
  expect(written).toContain('<col min="1" max="1" width="8" customWidth="1"/><col min="2" max="2" width="60"');
  expect(written).toContain('</sheetData><autoFilter ref="A1:B202"/>');
  expect(written).toMatch(/<c r="A1" s="2" .*<c r="A2" s="1" /);
  const few = Buffer.concat(await all(sheetXml(streamed(rows.slice(0, 2))))).toString();
  expect(few).toContain('<col min="2" max="2" width="32" customWidth="1"/></cols><sheetData><row r="1">');
});

const dialect = {
  ...{ encoding: 'windows-1255', byteOrderMark: false },
  ...{ separator: ';', separatorLine: true, lineBreak: 'crlf' },
};
const NAMES = ['id', 'name'];
const sheet = smallWorkbook([NAMES, ['1', '=1+1']]);
const headerless = { header: null, content: { ...CONTENT_NOT_READ, headed: false, width: 2 } };

test.each<[string, string | Buffer, () => Promise<Partial<Manifest['file']>>, string]>([
  [
    'in windows-1255 with semicolons after a "sep=" line',
    Buffer.concat([Buffer.from('sep=;\r\nid;name\r\n1;'), Buffer.from([0xe0, 13, 10])]),
    async () => ({ dialect }),
    'א',
  ],
  ['compressed with gzip', gzipSync('id,name\n1,a\n'), async () => ({ compression: 'gzip' }), 'a'],
  ['that is a spreadsheet', sheet, () => workbookFile(sheet, NAMES), '=1+1'],
  ['without a header, as configured,', '1,a\n', async () => headerless, 'a'],
])('a file %s becomes the same workbook', async (_, content, file, name) => {
  const { excel, records } = await setting(content, await file());
  const { code, stderr } = await excel();
  expect(code, stderr).toBe(0);
  expect(await records()).toEqual([NAMES, ['1', name]]);
});

const LONG = 'x'.repeat(32_767);

async function* rows(count: number): AsyncGenerator<string[]> {
  for (let row = 1; row <= count; row += 1) yield [];
}

test('refuses what a sheet cannot hold: a longer cell, one row more or one column more', async () => {
  const endOf = async (records: AsyncIterable<string[]>) => {
    let end = '';
    for await (const chunk of sheetXml(records)) end = end.slice(-100_000) + chunk.toString();
    return end;
  };
  const errorOf = (end: Promise<string>) => end.catch((error: unknown) => error);
  const wide = (columns: number) => streamed([Array.from({ length: columns }, () => 'a')]);
  expect((await (await setting(`id,name\n1,${LONG}\n`)).excel()).code).toBe(0);
  expect(await endOf(rows(1_048_576))).toContain('<row r="1048576"></row></sheetData>');
  expect(await endOf(wide(16_384))).toContain(
    '<c r="XFD1" s="2" t="inlineStr"><is><t>a</t></is></c></row></sheetData>',
  );

  const { directory, excel } = await setting(`id,name\n1,a\n2,${LONG}x\n`);
  const cell = await excel();
  const others = [await errorOf(endOf(rows(1_048_577))), await errorOf(endOf(wide(16_385)))];

  expect([cell, ...others]).toMatchObject([{ code: 1, stdout: '' }, { exitCode: 1 }, { exitCode: 1 }]);
  expect(await readdir(directory)).toEqual([]);
  const [row, column] = others.map((error) => (error as Error).message);
  await expectTexts('excel-refusals', [
    ['a cell of 32,768 characters', cell.stderr],
    ['1,048,577 rows', row ?? ''],
    ['16,385 columns', column ?? ''],
  ]);
});

test('closes its source if the workbook is not read to the end', async () => {
  let [begun, closed] = [false, false];
  async function* endless() {
    begun = true;
    try {
      for (;;) yield [LONG];
    } finally {
      closed = true;
    }
  }
  for await (const _ of workbookOf('leads', endless())) if (begun) break;
  await expect.poll(() => closed).toBe(true);
});

test.each<[string, string, Partial<Manifest['file']>]>([
  ['is of a format that the command cannot read', 'PK', { format: 'xls' }],
  ['is malformed at its end', `id,name\n${'1,a\n'.repeat(40_000)}2,"b\n`, {}],
  ['has another checksum', `id,name\n${'1,a\n'.repeat(40_000)}`, { crc32: 'AAAAAA==' }],
])('leaves no workbook if the file %s', async (_, content, file) => {
  const { directory, excel } = await setting(content, file);
  const { code, stdout } = await excel();
  expect([code, stdout]).toEqual([1, '']);
  expect(await readdir(directory)).toEqual([]);
});

test('keeps an existing file without --force, and does not resume an earlier part', async () => {
  const { path, excel, records } = await setting('id,name\n1,a\n');
  await writeFile(path, 'mine');
  expect((await excel()).code).toBe(2);
  expect(await readFile(path, 'utf8')).toBe('mine');
  await writeFile(`${path}.part`, 'half');
  expect(JSON.parse((await excel('--force', '--json')).stdout)).toMatchObject({ excel: 'xlsx', file: path });
  expect(await records()).toEqual([
    ['id', 'name'],
    ['1', 'a'],
  ]);
});
