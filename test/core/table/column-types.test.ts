import { createHmac } from 'node:crypto';
import { describe, expect, it, test } from 'vitest';
import type { ColumnType } from '../../../core/config/table-settings.ts';
import { readerOf, type Value } from '../../../core/table/column-types.ts';

const read = (type: ColumnType, text: string) => readerOf({ name: 'a', place: 0, type, hashed: false }, '')(text);
const MISFIT = undefined;

const money: ColumnType = { type: 'decimal', precision: 5, scale: 2 };
const whole: ColumnType = { type: 'decimal', precision: 18, scale: 0 };
const share: ColumnType = { type: 'decimal', precision: 2, scale: 2 };
const days: ColumnType = { type: 'date', format: 'DD/MM/YYYY' };
const dotted: ColumnType = { type: 'date', format: 'DD.MM.YYYY' };
const packed: ColumnType = { type: 'date', format: 'YYYYMMDD' };
const minutes: ColumnType = { type: 'timestamp', format: 'DD/MM/YYYY HH:mm' };
const seconds: ColumnType = { type: 'timestamp', format: 'YYYY-MM-DD HH:mm:ss' };
const at = (text: string) => BigInt(Date.parse(text));
const day = (text: string) => Date.parse(text) / 86_400_000;

describe.each<[ColumnType, (readonly [text: string, value: Value | undefined])[]]>([
  [
    'text',
    [
      ['', ''],
      [' ', ' '],
      ['NULL', 'NULL'],
      ['שלום', 'שלום'],
    ],
  ],
  [
    'integer',
    [
      ...([
        ['', null],
        ['0', 0n],
        ['-0', 0n],
        ['+7', 7n],
        ['007', 7n],
        ['0'.repeat(60), 0n],
      ] as const),
      ...([
        ['9223372036854775807', 2n ** 63n - 1n],
        ['-9223372036854775808', -(2n ** 63n)],
      ] as const),
      ...([
        ['9223372036854775808', MISFIT],
        ['-9223372036854775809', MISFIT],
        ['99999999999999999999', MISFIT],
      ] as const),
      ...([
        ['1.0', MISFIT],
        ['1e3', MISFIT],
        ['0x10', MISFIT],
        ['1,000', MISFIT],
        [' 1', MISFIT],
        ['-', MISFIT],
      ] as const),
      ...([
        ['٣', MISFIT],
        ['1_000', MISFIT],
        ['0'.repeat(101), MISFIT],
      ] as const),
    ],
  ],
  [
    'double',
    [
      ...([
        ['', null],
        ['1.5', 1.5],
        ['-.5', -0.5],
        ['5.', 5],
        ['2e3', 2000],
        ['1E-3', 0.001],
        ['0.1', 0.1],
      ] as const),
      ...([
        ['1e309', MISFIT],
        ['NaN', MISFIT],
        ['Infinity', MISFIT],
        ['.', MISFIT],
        ['1,5', MISFIT],
        ['0x1', MISFIT],
      ] as const),
    ],
  ],
  [
    'boolean',
    [
      ...([
        ['', null],
        ['true', true],
        ['FALSE', false],
        ['1', true],
        ['0', false],
      ] as const),
      ...([
        ['yes', MISFIT],
        ['2', MISFIT],
        ['t', MISFIT],
        ['constructor', MISFIT],
      ] as const),
    ],
  ],
  [
    money,
    [
      ...([
        ['', null],
        ['1', 100n],
        ['-1.5', -150n],
        ['+0.07', 7n],
        ['.5', 50n],
        ['5.', 500n],
        ['-0', 0n],
      ] as const),
      ...([
        ['999.99', 99999n],
        ['-999.99', -99999n],
        ['00012.3400', 1234n],
      ] as const),
      ...([
        ['1000', MISFIT],
        ['0.001', MISFIT],
        ['.', MISFIT],
        ['-', MISFIT],
        ['1e2', MISFIT],
        ['1,00', MISFIT],
      ] as const),
      [`${'0'.repeat(100_000)}x`, MISFIT],
    ],
  ],
  [
    whole,
    [
      ['999999999999999999', 10n ** 18n - 1n],
      ['1000000000000000000', MISFIT],
      ['9007199254740993', 9007199254740993n],
    ],
  ],
  [
    share,
    [
      ['0.99', 99n],
      ['1', MISFIT],
    ],
  ],
  [
    'date',
    [
      ...([
        ['', null],
        ['1970-01-01', 0],
        ['1969-12-31', -1],
        ['2024-02-29', day('2024-02-29')],
      ] as const),
      ...([
        ['0001-01-01', day('0001-01-01')],
        ['0099-03-01', day('0099-03-01')],
        ['9999-12-31', day('9999-12-31')],
      ] as const),
      ...([
        ['2026-02-29', MISFIT],
        ['1900-02-29', MISFIT],
        ['2026-13-01', MISFIT],
        ['2026-00-10', MISFIT],
      ] as const),
      ...([
        ['2026-04-31', MISFIT],
        ['0000-01-01', MISFIT],
        ['2026-1-1', MISFIT],
        ['22/11/2026', MISFIT],
      ] as const),
      ...([
        ['2026-11-22T00:00:00Z', MISFIT],
        ['2026-11-22 ', MISFIT],
        ['November 22, 2026', MISFIT],
      ] as const),
    ],
  ],
  [
    days,
    [
      ['01/02/2026', day('2026-02-01')],
      ['31/02/2026', MISFIT],
      ['2026-02-01', MISFIT],
      ['1/2/2026', MISFIT],
    ],
  ],
  [
    dotted,
    [
      ['01.02.2026', day('2026-02-01')],
      ['01-02-2026', MISFIT],
    ],
  ],
  [
    packed,
    [
      ['20260201', day('2026-02-01')],
      ['2026020', MISFIT],
    ],
  ],
  [
    'timestamp',
    [
      ...([
        ['', null],
        ['1970-01-01T00:00:00Z', 0n],
        ['2026-11-22T10:00Z', at('2026-11-22T10:00Z')],
      ] as const),
      ['2026-11-22 10:00:00', at('2026-11-22T10:00:00Z')],
      ['2026-11-22T10:00:00.5+02:00', at('2026-11-22T08:00:00.500Z')],
      ['2026-11-22T00:30:00-0130', at('2026-11-22T02:00:00Z')],
      ['2026-11-22T00:30:00+02', at('2026-11-21T22:30:00Z')],
      ['2026-11-22T23:59:59.999999999Z', at('2026-11-22T23:59:59.999Z')],
      ['1969-12-31T23:59:59.9999Z', -1n],
      ['0001-01-01T00:00:00Z', at('0001-01-01T00:00:00Z')],
      ...(['2026-11-22', '2026-11-22T24:00:00Z', '2026-11-22T10:60:00Z', '2026-11-22T10:00:60Z'] as const).map(
        (text) => [text, MISFIT] as const,
      ),
      ...(
        ['2026-11-22T10:00:00+24:00', '2026-02-30T10:00:00Z', '2026-11-22t10:00:00z', '1763805600', '10:00'] as const
      ).map((text) => [text, MISFIT] as const),
    ],
  ],
  [
    minutes,
    [
      ['22/11/2026 10:05', at('2026-11-22T10:05Z')],
      ['22/11/2026 10:05:00', MISFIT],
      ['22/11/2026 24:00', MISFIT],
    ],
  ],
  [
    seconds,
    [
      ['2026-11-22 10:05:06', at('2026-11-22T10:05:06Z')],
      ['2026-11-22T10:05:06', MISFIT],
    ],
  ],
])('%j', (type, values) => {
  test.each(values.map(([text, value]) => [text.slice(0, 40), text, value] as const))('%j', (_, text, value) => {
    expect(read(type, text)).toBe(value);
  });
});

it('replaces the text of a hashed column by its HMAC in UTF-8, but for an empty one, so that those do not match', () => {
  const hash = readerOf({ name: 'a', place: 0, type: 'text', hashed: true }, 'key');

  expect(hash('שרה')).toBe(createHmac('sha256', 'key').update(Buffer.from('שרה')).digest('hex'));
  expect(hash('')).toBe('');
});
