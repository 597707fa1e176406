import type { Shown } from './number-formats.ts';

const DAY_MS = 86_400_000;
/** The day 0 of the calendars. That of 1900 counts a 29th of February that there was not: days before it are one off. */
const CALENDARS = { 1900: Date.UTC(1899, 11, 30), 1904: Date.UTC(1904, 0, 1) };
const FIRST_RIGHT_DAY_OF_1900 = 60;
const LAST_MS = Date.UTC(9999, 11, 31);

export type Calendar = keyof typeof CALENDARS;

/** Numbers that are text with all their digits, so that none is lost. */
const WHOLE = /^-?(?:0|[1-9]\d*)$/;
const DECIMAL = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i;
/** Larger and smaller numbers keep their exponent. */
const MOST_ZEROS = 40;

/**
 * The text of a number: ISO 8601 where it is shown as a date or time, else the shortest decimal that reads back equal. What is
 * no number, or no date of the calendar, stays as it is.
 */
export function numberText(text: string, shown: Shown, calendar: Calendar): string {
  if (shown === 'number' && WHOLE.test(text)) return text === '-0' ? '0' : text;
  if (!DECIMAL.test(text)) return text;
  const value = Number(text);
  if (!Number.isFinite(value)) return text;
  return (shown === 'number' ? undefined : momentText(value, shown, calendar)) ?? decimalText(value);
}

/** Writes a number without an exponent where that needs few zeros. */
function decimalText(value: number): string {
  const text = String(value);
  const [, sign = '', whole = '', fraction = '', exponent] = /^(-?)(\d)(?:\.(\d+))?e([+-]\d+)$/.exec(text) ?? [];
  const places = Number(exponent);
  if (exponent === undefined || Math.abs(places) > MOST_ZEROS) return text === '-0' ? '0' : text;
  if (places < 0) return `${sign}0.${'0'.repeat(-places - 1)}${whole}${fraction}`;
  return `${sign}${whole}${fraction.padEnd(places, '0')}`;
}

function momentText(value: number, shown: Shown, calendar: Calendar): string | undefined {
  if (value < 0) return undefined;
  const day = Math.floor(value);
  const ms = Math.round((value - day) * DAY_MS);
  if (shown === 'duration') return clockText(day * DAY_MS + ms);
  // The calendar of 1900 has nothing on day 0.
  const timeAlone = shown === 'time' || calendar === 1900;
  if (day === 0 && ms < DAY_MS && timeAlone) return clockText(ms);
  const late = calendar === 1900 && value < FIRST_RIGHT_DAY_OF_1900 ? 1 : 0;
  const date = new Date(CALENDARS[calendar] + (day + late) * DAY_MS + ms);
  if (!(date.getTime() < LAST_MS + DAY_MS)) return undefined;
  const iso = date.toISOString();
  const midnight = date.getTime() % DAY_MS === 0;
  return shown === 'date' && midnight ? iso.slice(0, 10) : iso.slice(0, -1).replace(/\.000$/, '');
}

/** `HH:mm:ss`, of any number of hours, with milliseconds where there are some. */
function clockText(ms: number): string {
  const parts = [ms / 3_600_000, (ms / 60_000) % 60, (ms / 1000) % 60];
  const text = parts.map((part) => String(Math.floor(part)).padStart(2, '0')).join(':');
  return ms % 1000 === 0 ? text : `${text}.${String(ms % 1000).padStart(3, '0')}`;
}

/** Characters that XML has no place for, as spreadsheets write them (ECMA-376, part 1, 22.9.2.19, ST_Xstring). */
const ESCAPED = /_x([0-9a-f]{4})_/gi;

export function unescaped(text: string): string {
  if (!text.includes('_x')) return text;
  return text.replaceAll(ESCAPED, (_, code) => String.fromCharCode(Number.parseInt(code, 16)));
}
