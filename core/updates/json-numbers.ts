import { closingQuote, isColonNext } from './json-keys.ts';

export const ROUNDED = 'has more digits than a number keeps: another number would be sent';

const NUMBERS = /-?\d[\d.]*(?:[eE][-+]?\d+)?/g;
/** What can be rounded has so many digits and points in a row, or a negative exponent of three digits. */
const RUN = 16;
/** What may stand behind a number, or behind the bytes. */
const ENDS = new Set([...Buffer.from(',}] \t\r\n'), undefined]);

/** A number as JSON writes it. */
const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?$/;

/** The number that a text is, rounded or not; `undefined` where it is none as JSON writes them. */
export function numberOf(text: string): number | undefined {
  return NUMBER.test(text) ? Number(text) : undefined;
}

/** Whether a number, written as JSON writes it, has the same value when it is read and written again. */
export function keepsDigits(text: string): boolean {
  return plainOf(text) === plainOf(String(Number(text)));
}

/** Whether `JSON.parse` may round a number among these lines of JSON: a cheap look, for nearly no file has one. Strings count too. */
export function mayRound(bytes: Buffer): boolean {
  return hasLongRun(bytes) || hasTinyExponent(bytes, 'e-') || hasTinyExponent(bytes, 'E-');
}

/** A run of `RUN` digits and points: one of them is at a multiple of `RUN`. */
function hasLongRun(bytes: Buffer): boolean {
  for (let at = RUN - 1; at < bytes.length; at += RUN) {
    if (!isDigitOrPoint(bytes[at])) continue;
    let from = at;
    let to = at + 1;
    while (isDigitOrPoint(bytes[from - 1])) from -= 1;
    while (isDigitOrPoint(bytes[to])) to += 1;
    if (to - from >= RUN) return true;
  }
  return false;
}

/** An exponent below -99 at the end of a number. */
function hasTinyExponent(bytes: Buffer, sign: string): boolean {
  for (let at = bytes.indexOf(sign); at !== -1; at = bytes.indexOf(sign, at + 1)) {
    let to = at + 2;
    while (isDigitOrPoint(bytes[to])) to += 1;
    // Not an id, whose groups end in a hyphen, a letter or a quote.
    if (to - at >= 5 && ENDS.has(bytes[to])) return true;
  }
  return false;
}

function isDigitOrPoint(byte: number | undefined): boolean {
  return byte !== undefined && ((byte >= 0x30 && byte <= 0x39) || byte === 0x2e);
}

/** The field of the first number in a valid JSON text whose value `JSON.parse` did not keep. */
export function roundedField(json: string): string | undefined {
  let field = '';
  for (let at = 0; at < json.length; ) {
    const found = json.indexOf('"', at);
    const open = found === -1 ? json.length : found;
    for (const [number] of json.slice(at, open).matchAll(NUMBERS)) if (!keepsDigits(number)) return field;
    const close = closingQuote(json, open + 1);
    if (isColonNext(json, close + 1)) field = JSON.parse(json.slice(open, close + 1));
    at = close + 1;
  }
  return undefined;
}

/** `-1.50e3` as `-15e2`: no zeros at either end of the digits, so that equal values are equal texts. */
function plainOf(text: string): string {
  const [, sign = '', whole = '', part = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d*))?(?:[eE]([-+]?\d+))?$/.exec(text) ?? [];
  const digits = (whole + part).replace(/^0+/, '');
  const kept = digits.replace(/0+$/, '');
  if (kept === '') return '0e0';
  return `${sign}${kept}e${Number(exponent) - part.length + digits.length - kept.length}`;
}
