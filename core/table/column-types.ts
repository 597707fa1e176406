import { createHmac } from 'node:crypto';
import type { SchemaElement } from 'hyparquet-writer';
import type { ColumnType } from '../config/table-settings.ts';
import { dateReader, timestampReader } from './moments.ts';
import type { TableColumn } from './table-columns.ts';

/** A value as hyparquet-writer takes it; `null` = no value. */
export type Value = string | number | bigint | boolean | null;
/** Reads the value of a field; `undefined` if the text does not fit the type. */
export type Reader = (text: string) => Value | undefined;

type Primitive = Omit<SchemaElement, 'name' | 'repetition_type'>;

/**
 * How the types are stored, so that Athena, DuckDB and pyarrow read them alike (docs/adr/0025-parquet-tables.md). Each
 * type is declared in both of Parquet's ways. Timestamps are in milliseconds, the only unit that Athena reads
 * (https://docs.aws.amazon.com/dms/latest/APIReference/API_S3Settings.html, ParquetTimestampInMillisecond).
 */
const STORED: Record<Exclude<ColumnType, object> | 'decimal', Primitive> = {
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } },
  integer: { type: 'INT64' },
  double: { type: 'DOUBLE' },
  boolean: { type: 'BOOLEAN' },
  date: { type: 'INT32', converted_type: 'DATE', logical_type: { type: 'DATE' } },
  decimal: { type: 'INT64', converted_type: 'DECIMAL' },
  timestamp: {
    type: 'INT64',
    converted_type: 'TIMESTAMP_MILLIS',
    logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MILLIS' },
  },
};

/** The Parquet schema. Every column may have rows without a value. */
export function schemaOf(columns: readonly TableColumn[]): SchemaElement[] {
  const leaves = columns.map(
    ({ name, type }): SchemaElement => ({ name, repetition_type: 'OPTIONAL', ...storedAs(type) }),
  );
  return [{ name: 'table', num_children: leaves.length }, ...leaves];
}

function storedAs(type: ColumnType): Primitive {
  if (typeof type === 'string') return STORED[type];
  if (type.type !== 'decimal') return STORED[type.type];
  const { precision, scale } = type;
  return { ...STORED.decimal, precision, scale, logical_type: { type: 'DECIMAL', precision, scale } };
}

/** The longest text that is read as a typed value. The patterns would be slow for longer ones. */
const LONGEST = 100;

/** Reads the fields of a column. An empty field is an empty text in a text column, and no value in any other. */
export function readerOf({ type, hashed }: TableColumn, hashKey: string): Reader {
  if (hashed) return (text) => (text === '' ? text : hashOf(text, hashKey));
  if (type === 'text') return (text) => text;
  const read = typedReader(type);
  return (text) => {
    if (text === '') return null;
    return text.length > LONGEST ? undefined : read(text);
  };
}

function hashOf(text: string, key: string): string {
  return createHmac('sha256', key).update(text, 'utf8').digest('hex');
}

function typedReader(type: Exclude<ColumnType, 'text'>): Reader {
  if (typeof type === 'object') {
    if (type.type === 'decimal') return decimalReader(type);
    return type.type === 'date' ? dateReader(type.format) : timestampReader(type.format);
  }
  return {
    integer: readInteger,
    double: readDouble,
    boolean: readBoolean,
    date: dateReader(),
    timestamp: timestampReader(),
  }[type];
}

/** A number of more digits does not fit into 64 bits. Leading zeros do not count. */
const INTEGER = /^[+-]?0*\d{1,19}$/;

function readInteger(text: string): bigint | undefined {
  if (!INTEGER.test(text)) return undefined;
  const value = BigInt(text);
  return BigInt.asIntN(64, value) === value ? value : undefined;
}

const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i;

function readDouble(text: string): number | undefined {
  const value = NUMBER.test(text) ? Number(text) : Number.NaN;
  return Number.isFinite(value) ? value : undefined;
}

const TRUTHS: Record<string, boolean> = { true: true, false: false, 1: true, 0: false };

function readBoolean(text: string): boolean | undefined {
  const word = text.toLowerCase();
  return Object.hasOwn(TRUTHS, word) ? TRUTHS[word] : undefined;
}

const DECIMAL = /^([+-]?)0*(\d*?)(?:\.(\d*?)0*)?$/;

/** Reads decimals digit by digit: a binary fraction would round. */
function decimalReader({ precision, scale }: { precision: number; scale: number }): Reader {
  return (text) => {
    const [, sign, whole = '', fraction = ''] = /\d/.test(text) ? (DECIMAL.exec(text) ?? []) : [];
    if (sign === undefined || fraction.length > scale || whole.length > precision - scale) return undefined;
    const digits = BigInt(`${whole}${fraction.padEnd(scale, '0')}` || 0);
    return sign === '-' ? -digits : digits;
  };
}
