import { type HebrewSigns, readHebrew } from './kernel/kernel.ts';

export const NO_SIGNS: HebrewSigns = { mayBeHebrew: true, highBytes: 0, joinedLetters: 0, before: 0 };

/** What a byte was, for the byte behind it. */
const OTHER = 0;
const LATIN = 1;
/** A Hebrew letter; in UTF-8 the start of a character of three or four bytes. */
const LETTER = 2;
/** A Hebrew point or mark; in UTF-8 the start of a character of two bytes. */
const MARK = 3;
/** Continues a character of three or four bytes. */
const BEHIND_LETTER = 4;

/** Bytes that windows-1255 does not define. */
const UNDEFINED = new Set([
  0x81, 0x8a, 0x8c, 0x8d, 0x8e, 0x8f, 0x90, 0x9a, 0x9c, 0x9d, 0x9e, 0x9f, 0xd9, 0xda, 0xdb, 0xdc, 0xdd, 0xde, 0xdf,
  0xfb, 0xfc, 0xff,
]);
/** Fewer joined letters prove nothing: other code pages have accented letters there. */
const FEWEST_JOINED = 3;

/**
 * Judges each byte with the one before it alone, so that a text may be cut anywhere. Another encoding is shown by an
 * undefined byte, a whole character of UTF-8, or an accented letter: behind an ASCII letter, or in the place of a point
 * without a letter below it.
 */
export function lookForHebrew(signs: HebrewSigns, bytes: Uint8Array): void {
  readHebrew(signs, bytes, (part) => lookByStates(signs, part));
}

/** Looks for the signs of Hebrew byte by byte. */
export function lookByStates(signs: HebrewSigns, bytes: Uint8Array): void {
  if (!signs.mayBeHebrew) return;
  for (const byte of bytes) {
    const { before } = signs;
    const kind = kindOf(byte, before);
    if (kind === undefined) {
      signs.mayBeHebrew = false;
      return;
    }
    if (byte >= 0x80) signs.highBytes += 1;
    if (kind === LETTER && (before === LETTER || before === MARK)) signs.joinedLetters += 1;
    signs.before = kind;
  }
}

/** `undefined` for what does not stand there in Hebrew. */
function kindOf(byte: number, before: number): number | undefined {
  if (byte < 0x80) return isAsciiLetter(byte) ? LATIN : OTHER;
  if (UNDEFINED.has(byte)) return undefined;
  if (byte < 0xc0) return kindOfSign(before);
  if (byte < 0xe0) return before === LETTER || before === MARK ? MARK : undefined;
  // Marks of the direction of writing.
  if (byte > 0xfa) return OTHER;
  return before === LATIN ? undefined : LETTER;
}

/** Punctuation: in UTF-8 the bytes that continue a character. */
function kindOfSign(before: number): number | undefined {
  if (before === MARK || before === BEHIND_LETTER) return undefined;
  return before === LETTER ? BEHIND_LETTER : OTHER;
}

/** Whether a text is Hebrew in windows-1255: it has Hebrew words, and little else beyond ASCII. */
export function isHebrew({ mayBeHebrew, highBytes, joinedLetters }: HebrewSigns): boolean {
  return mayBeHebrew && joinedLetters >= FEWEST_JOINED && joinedLetters * 2 >= highBytes;
}

function isAsciiLetter(byte: number): boolean {
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x7a;
}
