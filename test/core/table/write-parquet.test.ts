import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import type { TableSettings } from '../../../core/config/table-settings.ts';
import { writeParquet } from '../../../core/table/write-parquet.ts';
import { inputOf, type Published, placeForTables, putTable } from './support.ts';

const { path, duckDb } = await placeForTables();

const rowsOf = async (published: Published) => {
  const written = await putTable(path, published);
  return { written, rows: await duckDb.rows(`from read_parquet('${path}')`) };
};

it('has the declared types', async () => {
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

  const { rows } = await rowsOf({ content, settings: { columns } });

  expect(await duckDb.columns('leads.parquet')).toEqual([
    ...['a VARCHAR', 'b BIGINT', 'c DOUBLE', 'd BOOLEAN', 'e DATE', 'f TIMESTAMP WITH TIME ZONE', 'g DECIMAL(18,2)'],
    ...['h DATE', 'i TIMESTAMP WITH TIME ZONE'],
  ]);
  expect(rows).toEqual([
    ['x', '1', 1.5, true, '2026-11-22', '2026-11-22 10:00:00+00', '1.25', '2026-11-22', '2026-11-22 10:00:00+00'],
  ]);
});

it('says in the file which run, which bytes and which release it is of', async () => {
  await putTable(path, { content: 'id\n1\n' });

  const said = await duckDb.rows(`select decode(key), decode(value) from parquet_kv_metadata('${path}')`);
  expect(Object.fromEntries(said)).toEqual({
    'crm-export.entity': 'leads',
    'crm-export.date': '2026-11-22',
    'crm-export.run': 'leads-1',
    'crm-export.file': 'runs/leads.csv',
    'crm-export.crc32': 'zVvpDw==',
    'crm-export.software': '0.2.0',
    'crm-export.settings': 'fedcba98fedcba98',
    'crm-export.identity': 'abcdefabcdefabcd',
  });
});

it('names its writer in the form that readers parse', async () => {
  await putTable(path, { content: 'id\n1\n' });

  expect(await duckDb.rows(`select created_by from parquet_file_metadata('${path}')`)).toEqual([
    ['crm-nightly-export version 0.2.0 (build 0.2.0)'],
  ]);
});

it('has hashes in the place of values, and not the columns that are left out', async () => {
  const content = 'id,idNumber,notes\n1,012345678,secret\n2,,secret\n3,012345678,\n';
  const { rows } = await rowsOf({ content, settings: { hash: ['idNumber'], except: ['notes'] }, hashKey: 'key' });

  const hash = createHmac('sha256', 'key').update('012345678').digest('hex');
  expect(rows).toEqual([
    ['1', hash],
    ['2', ''],
    ['3', hash],
  ]);
  expect(readFileSync(path).includes('012345678')).toBe(false);
  expect(readFileSync(path, 'latin1')).not.toMatch(/secret|notes/);
});

it('names the columns that have a type and are not in the file', async () => {
  const settings: Published['settings'] = { columns: { id: 'integer', total: 'integer' } };
  const { written } = await rowsOf({ content: 'id\n1\n', settings });

  expect(written.missing).toEqual(['total']);
});

const DECIMAL = { type: 'decimal', precision: 4, scale: 2 } as const;
const DAY = { type: 'date', format: 'DD/MM/YYYY' } as const;
const INSTANT = { type: 'timestamp', format: 'DD/MM/YYYY HH:mm' } as const;

it.each([
  ['integer', 'Haifa', '7'],
  ['double', '1,5', '1.5'],
  ['boolean', 'yes', 'false'],
  ['date', '22/11/2026', '2026-11-22'],
  ['timestamp', 'yesterday', '2026-11-22T10:00:00Z'],
  [DECIMAL, '1.255', '1.25'],
  [DAY, '2026-11-22', '22/11/2026'],
  [INSTANT, '2026-11-22', '22/11/2026 10:00'],
] as const)('makes no table where the type %o fits no value of its column', async (type, other, fitting) => {
  const of = (...values: string[]): Published => ({
    content: `id,city\n${values.map((value, row) => `${row},"${value}"\n`).join('')}`,
    settings: { columns: { city: type } },
  });
  const word = typeof type === 'string' ? type : type.type;

  await expect(putTable(path, of('', other, '', other))).rejects.toThrow(
    `The type of the column "city", ${word}, fits none of its values (2, the first in row 2).`,
  );
  expect((await putTable(path, of(other, fitting))).misfits).toEqual([
    { column: 'city', type: word, count: 1, row: 1 },
  ]);
  expect((await putTable(path, of('', ''))).misfits).toEqual([]);
});

it('makes a table where a hashed column has any texts', async () => {
  const settings: Published['settings'] = { hash: ['id'], columns: { n: 'integer' } };
  const { misfits } = await putTable(path, { content: 'id,n\nx,1\n', settings, hashKey: 'key' });

  expect(misfits).toEqual([]);
});

it('makes equal bytes of equal files, however they come', async () => {
  const content = `id,name\n${Array.from({ length: 500 }, (_, row) => `${row},שם ${row % 7}\n`).join('')}`;
  const bytesOf = async (chunk: number) => {
    await putTable(path, { content, chunk });
    return readFileSync(path);
  };

  expect((await bytesOf(7)).equals(await bytesOf(4096))).toBe(true);
});

it('compresses with snappy', async () => {
  await putTable(path, { content: 'id\n1\n' });

  expect(await duckDb.rows(`select distinct lower(compression) from parquet_metadata('${path}')`)).toEqual([
    ['snappy'],
  ]);
});

describe('a file of several row groups', () => {
  const ROWS = 16_000;
  const rowOf = (row: number) => [
    ...[row, `${'שם ארוך '.repeat(60)}${row}`, row % 2 === 0, `20${10 + (row % 90)}-01-01`, (row - ROWS / 2) / 4],
    ...[`2026-11-22T10:00:00.${String(row % 1000).padStart(3, '0')}Z`, row / 8],
  ];
  const content = `id,name,b,d,m,t,n\n${Array.from({ length: ROWS }, (_, row) => rowOf(row).join(',')).join('\n')}\n`;
  const money = { type: 'decimal', precision: 12, scale: 2 } as const;
  const columns: TableSettings['columns'] = {
    id: 'integer',
    b: 'boolean',
    d: 'date',
    m: money,
    t: 'timestamp',
    n: 'double',
  };
  const parts: number[] = [];

  beforeAll(async () => {
    const written = await putTable(path, { content, settings: { columns } }, (bytes) => parts.push(bytes.length));
    expect(written).toMatchObject({ rows: ROWS, misfits: [], bytes: readFileSync(path).length });
  });

  it('hands each of them on before the next one is read', async () => {
    const [[groups]] = (await duckDb.rows(
      `select count(distinct row_group_id)::int from parquet_metadata('${path}')`,
    )) as [[number]];

    expect(groups).toBeGreaterThan(1);
    expect(parts).toHaveLength(groups + 1);
  });

  it('keeps the order of the rows', async () => {
    const [first] = await duckDb.rows(`select list(id) = range(${ROWS}) from read_parquet('${path}')`);
    expect(first).toEqual([true]);
  });

  // Readers skip row groups by the minimum and maximum in the file's metadata.
  it.each([
    ['id', String(ROWS - 1), 1],
    ['id', '0', 1],
    ['name', `repeat('שם ארוך ', 60) || '15999'`, 1],
    ['name', `repeat('שם ארוך ', 60) || '0'`, 1],
    ['b', 'true', ROWS / 2],
    ['d', `date '2099-01-01'`, 177],
    ['m', '-2000', 1],
    ['m', '1999.75', 1],
    ['t', `timestamptz '2026-11-22 10:00:00.999+00'`, 16],
    ['n', '1999.875', 1],
  ])('finds the rows by %s = %s', async (column, value, rows) => {
    const found = `select count(*)::int from read_parquet('${path}') where ${column} = ${value}`;
    expect(await duckDb.rows(found)).toEqual([[rows]]);
  });
});

it('passes on what the source and the sink throw, and then hands on nothing more', async () => {
  const input = inputOf({ content: 'id\n1\n' });
  async function* broken() {
    yield Buffer.from('id\n1\n');
    throw new Error('gone');
  }
  const parts: Uint8Array[] = [];
  const sink = async (bytes: Uint8Array) => void parts.push(bytes);

  await expect(writeParquet({ ...input, source: { size: 5, read: broken } }, sink)).rejects.toThrow('gone');
  expect(parts).toEqual([]);
  await expect(writeParquet(inputOf({ content: 'id\n1\n' }), () => Promise.reject(new Error('full')))).rejects.toThrow(
    'full',
  );
});

it('stores truth values plainly, for some readers take run lengths of them for values', async () => {
  await putTable(path, { content: `b\n${'true\n'.repeat(100)}`, settings: { columns: { b: 'boolean' } } });

  expect(await duckDb.rows(`select encodings from parquet_metadata('${path}')`)).toEqual([['PLAIN']]);
});

it('says the least and the largest value of short texts, not of long ones, which would fill the memory', async () => {
  await putTable(path, { content: `a,b\n1,${'x'.repeat(2000)}\n2,y\n` });

  const said = await duckDb.rows(
    `select path_in_schema, stats_min_value, stats_max_value from parquet_metadata('${path}')`,
  );
  expect(said).toEqual([
    ['a', '1', '2'],
    ['b', null, null],
  ]);
});
