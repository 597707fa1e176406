import { closingQuote, isColonNext } from './json-keys.ts';

/** Digits that a number of JavaScript, and of most programs that read JSON, keeps whatever they are. */
const KEPT_DIGITS = 15;

/** What is said of a number that would be sent otherwise than it is written. */
export const ROUNDED = `has more digits than a number keeps: ${KEPT_DIGITS} at most`;

const NUMBERS = /-?\d[\d.]*(?:[eE][-+]?\d+)?/g;
/** All that can be rounded has many digits in a row, or a negative exponent of several. */
const SUSPICIOUS = /[\d.]{16}|\d[eE]-\d\d/;

/** A number as JSON writes it. */
const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?$/;

/** The number that a text is, rounded or not; `undefined` where it is none as JSON writes them. */
export function numberOf(text: string): number | undefined {
  return NUMBER.test(text) ? Number(text) : undefined;
}

/** Whether a number, written as JSON writes it, has the same value when it is read and written again. */
export function keepsDigits(text: string): boolean {
  const value = Number(text);
  const plain = plainOf(text);
  return plain === plainOf(String(value)) && (digitsOf(plain) <= KEPT_DIGITS || Number.isSafeInteger(value));
}

/** The field of the first number in a valid JSON text whose value `JSON.parse` did not keep. */
export function roundedField(json: string): string | undefined {
  if (!SUSPICIOUS.test(json)) return undefined;
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

function digitsOf(plain: string): number {
  return plain.replace(/^-/, '').indexOf('e');
}
