import { createHmac } from 'node:crypto';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { ColumnType, TableSettings } from '../../../core/config/table-settings.ts';
import { writeParquet } from '../../../core/table/write-parquet.ts';
import {
  columnsIn,
  inputOf,
  limitsIn,
  type Published,
  parquetOf,
  placeForTables,
  putTable,
  rowsIn,
} from './support.ts';

const { dir, path, tableOf } = await placeForTables();

it('writes columns with the declared types', async () => {
  const columns: TableSettings['columns'] = {
    a: 'text',
    b: 'integer',
    c: 'double',
    d: 'boolean',
    e: 'date',
    f: 'timestamp',
    g: { type: 'decimal', precision: 18, scale: 2 },
    h: { type: 'date', format: 'DD/MM/YYYY' },
    i: { type: 'timestamp', format: 'DD.MM.YYYY HH:mm' },
  };
  const content = 'a,b,c,d,e,f,g,h,i\nx,1,1.5,true,2026-11-22,2026-11-22T10:00:00Z,1.25,22/11/2026,22.11.2026 10:00\n';

  const { rows } = await tableOf({ content, settings: { columns } });

  expect(columnsIn(path)).toEqual([
    ...['a UTF8', 'b INT_64', 'c DOUBLE', 'd BOOLEAN', 'e DATE', 'f TIMESTAMP_MICROS', 'g DECIMAL 18 2', 'h DATE'],
    'i TIMESTAMP_MICROS',
  ]);
  const at = '2026-11-22T10:00:00.000Z';
  expect(rows).toEqual([['x', '1', '1.5', 'true', '2026-11-22', at, '1.25', '2026-11-22', at]]);
});

it('writes run, checksum and release to the metadata of the file', async () => {
  await putTable(path, { content: 'id\n1\n' });

  const said = parquetOf(path).metadata.key_value_metadata ?? [];
  expect(Object.fromEntries(said.map(({ key, value }) => [key, value]))).toEqual({
    'crm-export.entity': 'leads',
    'crm-export.date': '2026-11-22',
    'crm-export.run': 'leads-1',
    'crm-export.file': 'runs/leads.csv',
    'crm-export.crc32': 'zVvpDw==',
    'crm-export.identity': 'abcdefabcdefabcd',
  });
});

it('writes hashes in place of values, and no left-out column', async () => {
  const content = 'id,idNumber,notes\n1,012345678,secret\n2,,secret\n3,012345678,\n';
  const settings: Published['settings'] = { hash: ['idNumber'], except: ['notes'], columns: { id: 'integer' } };
  const { rows, written } = await tableOf({ content, settings, hashKey: 'key' });

  const hash = createHmac('sha256', 'key').update('012345678').digest('hex');
  expect(rows).toEqual([
    ['1', hash],
    ['2', ''],
    ['3', hash],
  ]);
  expect(written.misfits).toEqual([]);
  expect(readFileSync(path).includes('012345678')).toBe(false);
  expect(readFileSync(path, 'latin1')).not.toMatch(/secret|notes/);
});

const ofCity = (type: ColumnType, ...values: string[]): Published => ({
  content: `id,city\n${values.map((value, row) => `${row},"${value}"\n`).join('')}`,
  settings: { columns: { city: type } },
});

it.each<[word: string, type: ColumnType, other: string]>([
  ['integer', 'integer', 'Haifa'],
  ['decimal', { type: 'decimal', precision: 4, scale: 2 }, '1.255'],
  ['date', { type: 'date', format: 'DD/MM/YYYY' }, '2026-11-22'],
])('throws if the type %s fits no value of its column: %o', async (word, type, other) => {
  await expect(putTable(path, ofCity(type, '', other, '', other))).rejects.toThrow(
    new RegExp(`"city", ${word}, .*\\(2, .* 2\\)`),
  );
});

it('counts the values that do not fit if one fits, or if all are empty', async () => {
  const misfit = { column: 'city', type: 'integer', count: 1, row: 1 };
  expect((await putTable(path, ofCity('integer', 'Haifa', '7'))).misfits).toEqual([misfit]);
  expect((await putTable(path, ofCity('integer', '', ''))).misfits).toEqual([]);
});

it('writes equal bytes for equal files in any pieces, in several row groups in order', async () => {
  const row = (at: number) => `${at},${'שם ארוך '.repeat(60)}${at},20${10 + (at % 90)}-01-01\n`;
  const content = `id,name,d\n${Array.from({ length: 20_000 }, (_, at) => row(at)).join('')}`;
  const bytesOf = async (chunk: number, bufferMB: number) => {
    const settings: Published['settings'] = { columns: { id: 'integer', d: 'date' } };
    await putTable(path, { content, chunk, settings }, { bufferMB });
    return readFileSync(path);
  };

  expect((await bytesOf(20_001, 200)).equals(await bytesOf(65_536, 1000))).toBe(true);
  const { row_groups: groups } = parquetOf(path).metadata;
  expect(groups.length).toBeGreaterThan(1);
  const codecs = groups.flatMap(({ columns }) => columns.map(({ meta_data }) => meta_data?.codec));
  expect(new Set(codecs)).toEqual(new Set(['SNAPPY']));
  expect((await rowsIn(path)).map(({ id }) => Number(id))).toEqual(Array.from({ length: 20_000 }, (_, at) => at));
});

it('writes booleans with the encoding PLAIN, because some readers misread run lengths', async () => {
  await putTable(path, { content: `b\n${'true\n'.repeat(100)}`, settings: { columns: { b: 'boolean' } } });

  const encodings = parquetOf(path).metadata.row_groups[0]?.columns[0]?.meta_data?.encodings;
  expect(encodings).toEqual(['PLAIN']);
});

it('rethrows the error of the source and of onProgress', async () => {
  const folder = join(dir, 'own');
  mkdirSync(folder);
  const input = inputOf({ content: 'id\n1\n' });
  async function* broken() {
    yield Buffer.from('id\n1\n');
    throw new Error('gone');
  }
  const source = { size: 5, read: broken };

  await expect(writeParquet({ ...input, source }, path, limitsIn(folder))).rejects.toThrow('gone');
  const late = new Error('late');
  const onProgress = () => {
    throw late;
  };
  await expect(putTable(path, { content: 'id\n1\n' }, { onProgress })).rejects.toBe(late);
});

it('throws an error of the kind "memory" if there is too little memory', async () => {
  const header = Array.from({ length: 300 }, (_, at) => `c${at}`).join(',');
  const content = `${header}\n${`${header}\n`.repeat(3000)}`;
  await expect(putTable(path, { content }, { bufferMB: 60, diskBytes: 0 })).rejects.toMatchObject({ kind: 'memory' });
});
