import { createHash } from 'node:crypto';
import type { ColumnType } from '../config/table-settings.ts';
import { quoted } from './engine.ts';

const YEAR = '(?:\\d{3}[1-9]|\\d\\d[1-9]\\d|\\d[1-9]\\d\\d|[1-9]\\d{3})';
const HOUR = '(?:[01]\\d|2[0-3])';
const SIXTY = '[0-5]\\d';
/** The parts of configured formats: pattern, and the name of the part for strptime. */
const PARTS: Record<string, readonly [pattern: string, part: string]> = {
  YYYY: [YEAR, '%Y'],
  MM: ['\\d\\d', '%m'],
  DD: ['\\d\\d', '%d'],
  HH: [HOUR, '%H'],
  mm: [SIXTY, '%M'],
  ss: [SIXTY, '%S'],
};
const OFFSET = `(?:Z|[+-]${HOUR}(?::?${SIXTY})?)?`;
const ISO_TIMESTAMP = `${YEAR}-\\d\\d-\\d\\d[T ]${HOUR}:${SIXTY}(?::${SIXTY}(?:\\.\\d{1,9})?)?${OFFSET}`;

/**
 * The value of a text as SQL: NULL if the text does not fit the type. DuckDB's casts accept more than the types allow
 * (`1.239` as an integer, `0x10`, blanks), so a pattern checks the text before each cast. Athena, DuckDB and pyarrow
 * read the values alike (docs/adr/0025-parquet-tables.md).
 */
export function typedValue(column: string, type: Exclude<ColumnType, 'text'>): string {
  const guarded = (pattern: string, value: string) =>
    `CASE WHEN regexp_full_match(${column}, ${quoted(pattern)}) THEN ${value} END`;
  const parsed = (format: string) => {
    const replaced = (at: 0 | 1) =>
      format.replace(/YYYY|MM|DD|HH|mm|ss/g, (name) => PARTS[name]?.[at] ?? '').replaceAll('.', at === 0 ? '\\.' : '.');
    return guarded(replaced(0), `try_strptime(${column}, ${quoted(replaced(1))})`);
  };
  if (typeof type === 'object') {
    const { precision, scale } = { precision: 0, scale: 0, ...type };
    if (type.type === 'date') return `CAST(${parsed(type.format)} AS DATE)`;
    if (type.type === 'timestamp') return `CAST(${parsed(type.format)} AS TIMESTAMPTZ)`;
    const digits = `[+-]?(?:0*\\d{0,${precision - scale}}\\.\\d{0,${scale}}0*|0*\\d{0,${precision - scale}})`;
    return guarded(digits, `TRY_CAST(${column} AS DECIMAL(${precision}, ${scale}))`);
  }
  switch (type) {
    case 'integer':
      return guarded('[+-]?\\d+', `TRY_CAST(${column} AS BIGINT)`);
    case 'double': {
      const value = guarded('[+-]?(?:\\d+\\.?\\d*|\\.\\d+)(?:[eE][+-]?\\d+)?', `TRY_CAST(${column} AS DOUBLE)`);
      return `nullif(nullif(${value}, 'Infinity'), '-Infinity')`;
    }
    case 'boolean':
      return `CASE lower(${column}) WHEN 'true' THEN true WHEN '1' THEN true WHEN 'false' THEN false WHEN '0' THEN false END`;
    case 'date':
      return `CAST(${parsed('YYYY-MM-DD')} AS DATE)`;
    case 'timestamp': {
      // DuckDB reads an offset only after seconds.
      const text = `CASE WHEN ${column}[17] IN ('Z', '+', '-') THEN ${column}[:16] || ':00' || ${column}[17:] ELSE ${column} END`;
      const microseconds = `epoch_us(${guarded(ISO_TIMESTAMP, `TRY_CAST(${text} AS TIMESTAMPTZ)`)})`;
      // Cuts to milliseconds; date_trunc is slow. A division cuts towards 0, so all years have to be positive numbers.
      const shift = '100000000000000000';
      const instant = `make_timestamptz((${microseconds} + ${shift}) // 1000 * 1000 - ${shift})`;
      // An offset can move a time of the first or last day into a year that Python cannot read.
      const isInYears = `${instant} BETWEEN '0001-01-01 00:00:00Z' AND '9999-12-31 23:59:59.999Z'`;
      return `CASE WHEN ${column} BETWEEN '0001-01-02' AND '9999-12-31' OR ${isInYears} THEN ${instant} END`;
    }
  }
}

/** The HMAC-SHA-256 of a text as SQL, in hexadecimal. An empty text stays empty. */
export function hashedText(column: string, key: string): string {
  const short = Buffer.byteLength(key) > 64 ? createHash('sha256').update(key).digest() : Buffer.from(key);
  const block = Buffer.concat([short], 64);
  const mixed = (pad: number) => `unhex('${Buffer.from(block.map((byte) => byte ^ pad)).toString('hex')}')`;
  return `CASE WHEN ${column} <> '' THEN sha256(${mixed(0x5c)} || unhex(sha256(${mixed(0x36)} || encode(${column})))) ELSE ${column} END`;
}
