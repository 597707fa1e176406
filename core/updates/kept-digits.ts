/** The sentence for a number that is another one as soon as JavaScript has read it. */
export const ROUNDED = 'has more digits than a number keeps: another number would be sent';

/** A number as JSON writes it. */
const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?$/;

/** What a number that is rounded has somewhere: so many digits and points in a row, or a negative exponent of three digits. */
const ROUNDED_SOMEWHERE = /\d[\d.]{15}|[eE]-\d{3}/;

/** The number that a text is, rounded or not; `undefined` where it is none as JSON writes them. */
export function numberOf(text: string): number | undefined {
  return NUMBER.test(text) ? Number(text) : undefined;
}

/** Whether a number, written as JSON writes it, has the same value when it is read and written again. */
export function keepsDigits(text: string): boolean {
  return plainOf(text) === plainOf(String(Number(text)));
}

/** The field of the first number in a valid JSON text whose value `JSON.parse` did not keep. */
export function roundedField(json: string): string | undefined {
  // Nearly no line has such a number, and with a reviver reading takes four to seven times as long.
  if (!ROUNDED_SOMEWHERE.test(json)) return undefined;
  let rounded = false;
  let field: string | undefined;
  function note(this: unknown, key: string, value: unknown, { source = '' }: { source?: string } = {}): unknown {
    // What is too large is Infinity, which no field takes.
    if (Number.isFinite(value) && !keepsDigits(source)) rounded = true;
    // An element of an array has no name: its array's is told.
    if (rounded && !Array.isArray(this)) field ??= key;
    return value;
  }
  try {
    JSON.parse(json, note);
  } catch (error) {
    // Brackets within brackets, more than a reviver can go down: no field takes them.
    if (!(error instanceof RangeError)) throw error;
  }
  return field;
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
