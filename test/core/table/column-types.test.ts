import { createHmac } from 'node:crypto';
import { expect, test } from 'vitest';
import type { ColumnType } from '../../../core/config/table-settings.ts';
import { hashedText } from '../../../core/table/column-types.ts';
import { placeForTables, putTable, rowsIn } from './support.ts';

const { path, duckDb } = await placeForTables();

const money: ColumnType = { type: 'decimal', precision: 5, scale: 2 };
const whole: ColumnType = { type: 'decimal', precision: 18, scale: 0 };
const share: ColumnType = { type: 'decimal', precision: 2, scale: 2 };
const days: ColumnType = { type: 'date', format: 'DD/MM/YYYY' };
const dotted: ColumnType = { type: 'date', format: 'DD.MM.YYYY' };
const packed: ColumnType = { type: 'date', format: 'YYYYMMDD' };
const minutes: ColumnType = { type: 'timestamp', format: 'DD/MM/YYYY HH:mm' };
const seconds: ColumnType = { type: 'timestamp', format: 'YYYY-MM-DD HH:mm:ss' };

const same = (...texts: string[]) => Object.fromEntries(texts.map((text) => [text, text]));

/** Texts with their values, and texts that do not fit the type. */
const VALUES: [ColumnType, values: Record<string, string>, misfits: string[]][] = [
  ['text', { '': '', ' ': ' ', NULL: 'NULL', שלום: 'שלום' }, []],
  [
    'integer',
    {
      ...{ 0: '0', '-0': '0', '+7': '7', '007': '7', ['0'.repeat(60)]: '0' },
      ...same('9223372036854775807', '-9223372036854775808'),
    },
    [
      ...['9223372036854775808', '-9223372036854775809', '99999999999999999999', '1.0', '1.239', '1e3', '0x10'],
      ...['1,000', ' 1', '1 ', '-', '٣', '1_000', '0b1', 'true', '1\n'],
    ],
  ],
  [
    'double',
    { ...same('1.5', '0.1', '5e-324'), '-.5': '-0.5', '5.': '5', '2e3': '2000', '1E-3': '0.001', '+1': '1' },
    ['1e309', '-1e309', 'NaN', 'nan', 'inf', 'Infinity', '.', '1,5', '0x1', ' 1', '1_0', '1e', 'e1'],
  ],
  ['boolean', { true: 'true', FALSE: 'false', 1: 'true', 0: 'false' }, ['yes', '2', 't', 'constructor', ' 1', '01']],
  [
    money,
    {
      ...{ 1: '1.00', '-1.5': '-1.50', '+0.07': '0.07', '.5': '0.50', '5.': '5.00', '-0': '0.00', '999.99': '999.99' },
      ...{ '-999.99': '-999.99', '00012.3400': '12.34', '-.5': '-0.50' },
    },
    ['1000', '0.001', '.', '-', '1e2', '1,00', ' 1', `${'0'.repeat(100_000)}x`, '999.995', '1.239'],
  ],
  [whole, same('999999999999999999', '9007199254740993'), ['1000000000000000000', '.']],
  [share, { '0.99': '0.99', '.01': '0.01' }, ['1', '0.999', '+']],
  [
    'date',
    same('1970-01-01', '1969-12-31', '2024-02-29', '0001-01-01', '0099-03-01', '9999-12-31'),
    [
      ...['2026-02-29', '1900-02-29', '2026-13-01', '2026-00-10', '2026-04-31', '0000-01-01', '2026-1-1', '22/11/2026'],
      ...['2026-11-22T00:00:00Z', '2026-11-22 ', 'November 22, 2026', 'epoch', 'infinity', '2026-11-22 (BC)'],
    ],
  ],
  [days, { '01/02/2026': '2026-02-01' }, ['31/02/2026', '2026-02-01', '1/2/2026', ' 01/02/2026', '01/02/0000']],
  [dotted, { '01.02.2026': '2026-02-01' }, ['01-02-2026', '01a02a2026']],
  [packed, { '20260201': '2026-02-01' }, ['2026020', '2026-02-01']],
  [
    'timestamp',
    {
      '1970-01-01T00:00:00Z': '1970-01-01T00:00:00.000Z',
      '2026-11-22T10:00Z': '2026-11-22T10:00:00.000Z',
      '2026-11-22 10:00': '2026-11-22T10:00:00.000Z',
      '2026-11-22 10:00:00': '2026-11-22T10:00:00.000Z',
      '2026-11-22T10:00+02:00': '2026-11-22T08:00:00.000Z',
      '2026-11-22T10:00:00.5+02:00': '2026-11-22T08:00:00.500Z',
      '2026-11-22T00:30:00-0130': '2026-11-22T02:00:00.000Z',
      '2026-11-22T00:30:00+02': '2026-11-21T22:30:00.000Z',
      '2026-11-22T23:59:59.999999999Z': '2026-11-22T23:59:59.999Z',
      '1969-12-31T23:59:59.9999Z': '1969-12-31T23:59:59.999Z',
      '0001-01-01T00:00:00Z': '0001-01-01T00:00:00.000Z',
      '9999-12-31T23:59:59.999Z': '9999-12-31T23:59:59.999Z',
      '9999-12-31T23:59:59+02:00': '9999-12-31T21:59:59.000Z',
    },
    [
      ...['2026-11-22', '2026-11-22T24:00:00Z', '2026-11-22T10:60:00Z', '2026-11-22T10:00:60Z', '2026-02-30T10:00:00Z'],
      ...['2026-11-22T10:00:00+24:00', '2026-11-22t10:00:00z', '1763805600', '10:00', '2026-11-22T10:00:00 UTC', 'now'],
      ...['9999-12-31T23:59:59-05:00', '0001-01-01T01:59:59+02:00'],
    ],
  ],
  [
    minutes,
    { '22/11/2026 10:05': '2026-11-22T10:05:00.000Z' },
    ['22/11/2026 10:05:00', '22/11/2026 24:00', '22/11/2026'],
  ],
  [seconds, { '2026-11-22 10:05:06': '2026-11-22T10:05:06.000Z' }, ['2026-11-22T10:05:06', '2026-11-22 10:05:60']],
];

test.each(VALUES)(
  'a column of type %j reads valid texts as values, and any other text as a misfit',
  async (type, values, misfits) => {
    const texts = [...Object.keys(values), ...misfits, ''];
    const content = `a,b\n${texts.map((text) => `x,"${text}"\n`).join('')}`;

    const written = await putTable(path, { content, settings: { columns: { b: type } } });

    const found = (await rowsIn(path)).map(({ b }, at) => [texts[at], b]);
    const none = type === 'text' ? '' : null;
    expect(found).toEqual([...Object.entries(values), ...misfits.map((text) => [text, null]), ['', none]]);
    expect(written.misfits.map(({ count, row }) => [count, row])).toEqual(
      misfits.length > 0 ? [[misfits.length, Object.keys(values).length + 1]] : [],
    );
  },
);

test.each(['k', 'k'.repeat(64), 'k'.repeat(65), 'ש'.repeat(33)])('hashes texts with the key %j', async (key) => {
  const texts = ['a', 'שלום', ' ', 'x'.repeat(100_000)];
  const values = texts.map((text) => hashedText(`'${text}'`, key));

  const hashes = texts.map((text) => createHmac('sha256', key).update(text).digest('hex'));
  expect(await duckDb.rows(`SELECT ${values}, ${hashedText("''", key)}, ${hashedText('NULL', key)}`)).toEqual([
    [...hashes, '', null],
  ]);
});
