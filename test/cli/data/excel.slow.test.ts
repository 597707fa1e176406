import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { sheetXml, workbookOf } from '../../../cli/data/excel.ts';
import type { Manifest } from '../../../core/export/manifest.ts';
import { awkwardTexts } from '../../support/awkward-texts.ts';
import { tempDir } from '../../support/project.ts';
import { expectResults, expectTexts } from '../../support/screen.ts';
import { all, readWorkbook } from '../../support/workbook.ts';
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
