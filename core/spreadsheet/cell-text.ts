const DAY_MS = 86_400_000;
/**
 * Day 0 of each calendar. The 1900 calendar contains 29 February 1900, which did not exist, so the numbers of the days
 * before it differ by one.
 */
const CALENDARS = { 1900: Date.UTC(1899, 11, 30), 1904: Date.UTC(1904, 0, 1) };
const FIRST_RIGHT_DAY_OF_1900 = 60;
const LAST_MS = Date.UTC(9999, 11, 31);

export type Calendar = keyof typeof CALENDARS;

/** Whole numbers are kept as text, so that no digit is lost. */
const WHOLE = /^-?(?:0|[1-9]\d*)$/;
const DECIMAL = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i;
/** Numbers that need more zeros keep their exponent. */
const MOST_ZEROS = 40;

/** The display of a number. A `moment` is a date with a time; a `duration` counts hours beyond 24. */
type Shown = 'number' | 'date' | 'moment' | 'time' | 'duration';

export interface NumberFormat {
  shown: Shown;
  /** The text of a number with leading zeros, such as `000-00-0000`: `PLACE` stands for each digit. */
  mask: string | null;
}

/**
 * The text of a number: ISO 8601 if the format shows a date or time; with leading zeros if the format has them;
 * otherwise the shortest decimal that reads back equal. A text that is not a number stays as it is.
 */
export function numberText(text: string, { shown, mask }: NumberFormat, calendar: Calendar): string {
  if (mask === null && shown === 'number' && WHOLE.test(text)) return text === '-0' ? '0' : text;
  if (!DECIMAL.test(text)) return text;
  const value = Number(text);
  if (!Number.isFinite(value)) return text;
  if (shown !== 'number') return momentText(value, shown, calendar) ?? decimalText(value);
  const digits = WHOLE.test(text) ? text : decimalText(value);
  return mask !== null && WHOLE.test(digits) ? maskedText(digits, mask) : digits;
}

/** Fills digits into a mask from the right. The first place takes all digits that are left. */
function maskedText(whole: string, mask: string): string {
  const places = mask.split(PLACE).length - 1;
  const digits = whole.replace('-', '').padStart(places, '0');
  let next = digits.length - places;
  let first = digits.slice(0, next);
  const filled = mask.replaceAll(PLACE, () => {
    const text = `${first}${digits[next] ?? ''}`;
    first = '';
    next += 1;
    return text;
  });
  return whole.startsWith('-') && /[1-9]/.test(digits) ? `-${filled}` : filled;
}

/** Writes a number without an exponent if that needs few zeros. */
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
  // The 1900 calendar has no date for day 0.
  if (day === 0 && (shown === 'time' || calendar === 1900)) return clockText(ms);
  const late = calendar === 1900 && value < FIRST_RIGHT_DAY_OF_1900 ? 1 : 0;
  const date = new Date(CALENDARS[calendar] + (day + late) * DAY_MS + ms);
  if (!(date.getTime() < LAST_MS + DAY_MS)) return undefined;
  const iso = date.toISOString();
  const midnight = date.getTime() % DAY_MS === 0;
  return shown === 'date' && midnight ? iso.slice(0, 10) : iso.slice(0, -1).replace(/\.000$/, '');
}

/** `HH:mm:ss` with any number of hours, and milliseconds if there are any. */
function clockText(ms: number): string {
  const parts = [ms / 3_600_000, (ms / 60_000) % 60, (ms / 1000) % 60];
  const text = parts.map((part) => String(Math.floor(part)).padStart(2, '0')).join(':');
  return ms % 1000 === 0 ? text : `${text}.${String(ms % 1000).padStart(3, '0')}`;
}

/** Escapes of spreadsheets for characters that XML cannot contain (ECMA-376, part 1, 22.9.2.19, ST_Xstring). */
const ESCAPED = /_x([0-9a-f]{4})_/gi;

export function unescaped(text: string): string {
  if (!text.includes('_x')) return text;
  return text.replaceAll(ESCAPED, (_, code) => String.fromCharCode(Number.parseInt(code, 16)));
}

/** Built-in formats (ECMA-376, part 1, 18.8.30). The formats for East Asia are dates in all its languages. */
const BUILT_IN: [shown: Shown, ids: number[]][] = [
  ['date', [14, 15, 16, 17, 27, 28, 29, 30, 31, 36, 50, 51, 52, 53, 54, 57, 58]],
  ['time', [18, 19, 20, 21, 32, 33, 34, 35, 45, 47, 55, 56]],
  ['moment', [22]],
  ['duration', [46]],
];

export function builtInFormat(id: number): NumberFormat {
  return { shown: BUILT_IN.find(([, ids]) => ids.includes(id))?.[0] ?? 'number', mask: null };
}

/** Parts of a format code that show no digits: texts, escapes, widths, fillings, and brackets except of durations. */
const NO_PLACEHOLDER = /"[^"]*"?|\\.|_.|\*.|\[(?!(?:h+|m+|s+)\])[^\]]*\]?/gis;
/** A word with other letters than those of dates: "General" in another language. Some programs write `JJJJ` and `TT`. */
const OTHER_WORD = /^ *(?=\p{L}*[^abdeghjmsty ])\p{Script=Latin}+ *$/u;
/** Fractions of a second, which follow the seconds. */
const FRACTION = /s[.,]0+/g;

/** The display of a number with a format code. The first section of the code decides. */
export function formatOf(code: string): NumberFormat {
  const [first = ''] = code.replaceAll(NO_PLACEHOLDER, ' ').split(';');
  const text = first.toLowerCase().replaceAll(FRACTION, 's');
  if (/\[[hms]+\]/.test(text)) return { shown: 'duration', mask: null };
  // In a format with a digit or "General", letters are the name of a currency.
  if (/[0#?]|general/.test(text) || OTHER_WORD.test(text)) return { shown: 'number', mask: maskOf(code) };
  const time = /[hs]/.test(text);
  // Beside hours or seconds, `m` means minutes.
  const date = /[yd]/.test(text) || (!time && text.includes('m'));
  if (date) return { shown: time ? 'moment' : 'date', mask: null };
  return { shown: time ? 'time' : 'number', mask: null };
}

/** Marks the place of a digit in a mask. XML cannot contain this character, so no text of a format code has it. */
const PLACE = '\0';
/** A part of a format code: a text, an escaped character, a width, a filling, brackets, or a character. */
const PARTS = /"([^"]*)"|\\(.)|[_*].|\[(?:\$-[^\]]*|[a-z]+\d*)\]|(.)/gis;
/** Excel's limit for a format code. A longer mask would be filled for every cell. */
const LONGEST_CODE = 255;
/** Characters between digits that need no escape. A point, a comma or `#` would be part of a quantity. */
const BETWEEN = /^[-+() :]$/;

/** The mask of a code with only zeros and texts: it shows identifiers, such as telephone numbers, not quantities. */
function maskOf(code: string): string | null {
  if (code.length > LONGEST_CODE) return null;
  let mask = '';
  for (const [, text, escaped, character] of code.matchAll(PARTS)) {
    if (character === ';') break;
    if (character !== undefined && !/[0#]/.test(character) && !BETWEEN.test(character)) return null;
    // After a zero, the sign for a digit that may be missing shows a zero too.
    const isPlace = character === '0' || (character === '#' && mask.includes(PLACE));
    mask += isPlace ? PLACE : (text ?? escaped ?? character?.replace('#', '') ?? '');
  }
  return mask.split(PLACE).length > 2 ? mask.trim() : null;
}
