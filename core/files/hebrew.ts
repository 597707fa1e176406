/** What was seen of a text that may be Hebrew in windows-1255: numbers and flags, no byte of it. */
export interface HebrewSigns {
  /** Nothing in it is what windows-1255 does not have, or what shows another encoding. */
  mayBeHebrew: boolean;
  /** Bytes beyond ASCII. */
  highBytes: number;
  /** Letters of Hebrew that stand right behind another one. */
  joinedLetters: number;
  /** The kind of the last byte. */
  before: number;
}

export const NO_SIGNS: HebrewSigns = { mayBeHebrew: true, highBytes: 0, joinedLetters: 0, before: 0 };

/** What a byte was, for the byte behind it. */
const OTHER = 0;
const LATIN = 1;
/** A letter of Hebrew; in UTF-8 it would begin a character of three or four bytes. */
const LETTER = 2;
/** A point or a mark of Hebrew; in UTF-8 it would begin a character of two bytes. */
const MARK = 3;
/** What goes on such a longer character of UTF-8. */
const BEHIND_LETTER = 4;

/** What windows-1255 does not define. */
const UNDEFINED = new Set([
  0x81, 0x8a, 0x8c, 0x8d, 0x8e, 0x8f, 0x90, 0x9a, 0x9c, 0x9d, 0x9e, 0x9f, 0xd9, 0xda, 0xdb, 0xdc, 0xdd, 0xde, 0xdf,
  0xfb, 0xfc, 0xff,
]);
/** Fewer letters that stand together show nothing: other code pages have accented letters in their place. */
const FEWEST_JOINED = 3;

/**
 * Looks at the next bytes of a text. Each is held against windows-1255 and against the byte before it alone, so that it does
 * not matter where a text is cut into pieces. What shows another encoding: a byte that windows-1255 does not define; a
 * whole character of UTF-8; an accented letter, which stands behind a letter of ASCII where a letter of Hebrew does not, or
 * in the place of a point that has no letter below it.
 */
export function lookForHebrew(signs: HebrewSigns, bytes: Uint8Array): void {
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

/** Of punctuation, which has the place of what goes on a character in UTF-8. */
function kindOfSign(before: number): number | undefined {
  if (before === MARK || before === BEHIND_LETTER) return undefined;
  return before === LETTER ? BEHIND_LETTER : OTHER;
}

/** Whether a text that is not UTF-8 is Hebrew in windows-1255: it has words of Hebrew, and little else beyond ASCII. */
export function isHebrew({ mayBeHebrew, highBytes, joinedLetters }: HebrewSigns): boolean {
  return mayBeHebrew && joinedLetters >= FEWEST_JOINED && joinedLetters * 2 >= highBytes;
}

function isAsciiLetter(byte: number): boolean {
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x7a;
}
