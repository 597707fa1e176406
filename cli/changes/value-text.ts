import type { Stored } from '../../core/changes/row-code.ts';
import type { TableColumn } from '../../core/changes/table-reader.ts';

const DAY_MS = 86_400_000;

/**
 * A value of a feed as a text that says all of it: numbers by their digits, dates and timestamps as ISO 8601 has them. `null` is no value.
 * A number of JSON would round decimals and large integers.
 */
export function storedText({ converted_type, scale = 0 }: TableColumn, value: Stored): string | null {
  if (value === null || value === undefined) return null;
  if (typeof value === 'object') return Buffer.from(value.buffer, value.byteOffset, value.length).toString();
  if (converted_type === 'DATE') return new Date(Number(value) * DAY_MS).toISOString().slice(0, 'YYYY-MM-DD'.length);
  if (converted_type === 'TIMESTAMP_MILLIS') return new Date(Number(value)).toISOString();
  return converted_type === 'DECIMAL' ? decimalText(String(value), scale) : String(value);
}

function decimalText(digits: string, scale: number): string {
  if (scale === 0) return digits;
  const sign = digits.startsWith('-') ? '-' : '';
  const padded = digits.slice(sign.length).padStart(scale + 1, '0');
  return `${sign}${padded.slice(0, -scale)}.${padded.slice(-scale)}`;
}
