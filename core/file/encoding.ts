import { isAscii, isUtf8, transcode } from 'node:buffer';

/** The encoding of a text, by its beginning. */
export type Encoding = 'utf-8' | 'utf-16le' | 'utf-16be';
/** The decoder for the cells of a text whose encoding is not certain. */
export type Decoder = 'utf-8' | 'windows-1255' | 'latin1';

export interface TextStart {
  /** `null` if none of these encodings fits. */
  encoding: Encoding | null;
  decoder: Decoder;
  /** Length of the byte order marks: some programs write two. */
  markBytes: number;
  /** The beginning of the text, without byte order marks and without a character that is cut off at the end. */
  text: string;
}

/**
 * Whether a byte is the high byte of a usual UTF-16 character: a letter of Europe, Israel or its neighbours, a sign, or
 * half of a rare character. In other encodings, the bytes for letters are control characters, which no text has.
 */
const isHighByte = (byte: number) => byte < 0x09 || byte === 0x20 || byte >> 3 === 0xd8 >> 3;
const UTF16_BYTES_SEARCHED = 64;
const MARKS: Record<Encoding, readonly number[]> = {
  'utf-8': [0xef, 0xbb, 0xbf],
  'utf-16le': [0xff, 0xfe],
  'utf-16be': [0xfe, 0xff],
};

/**
 * Detects the encoding by the byte order mark, or by which encoding fits the bytes. A damaged text is decoded as far as
 * possible.
 */
export function textStart(bytes: Uint8Array): TextStart {
  const encoding = wideEncodingOf(bytes) ?? 'utf-8';
  const markBytes = markBytesOf(bytes, MARKS[encoding]);
  const text = bytes.subarray(markBytes);
  if (encoding !== 'utf-8' || mayBeUtf8(text))
    return { encoding, decoder: 'utf-8', markBytes, text: decode(text, encoding) };
  const [line = ''] = FIRST_BEYOND_ASCII.exec(Buffer.from(text).toString('latin1')) ?? [];
  const decoder = decoderFor(Buffer.from(line, 'latin1'));
  return { encoding: null, decoder, markBytes, text: decode(text, decoder) };
}

export function isWide(encoding: string | null): encoding is 'utf-16le' | 'utf-16be' {
  return encoding === 'utf-16le' || encoding === 'utf-16be';
}

/** Whether a text has control characters other than tabs, line breaks and the DOS end-of-file mark. */
export function hasControls(text: string): boolean {
  for (const character of text) if (character < ' ' && !'\t\n\r\x1a'.includes(character)) return true;
  return false;
}

/** Decodes whole records. */
export function decoded(bytes: Buffer, decoder: Decoder): string {
  if (decoder === 'windows-1255') return WINDOWS_1255.decode(bytes);
  return bytes.toString(decoder === 'utf-8' ? 'utf8' : decoder);
}

/**
 * Decodes a text below the first record, whose bytes are given as Latin-1. A joined page may have another encoding than
 * the file. So each line that is valid UTF-8 is decoded as UTF-8, and any other line of a UTF-8 file as windows-1255.
 */
export function decodedBelow(text: string, decoder: Decoder): string {
  return text.replace(BEYOND_ASCII, (line) => {
    const bytes = Buffer.from(line, 'latin1');
    return decoded(bytes, isUtf8(bytes) ? 'utf-8' : decoder === 'utf-8' ? 'windows-1255' : decoder);
  });
}

/** The rest of a line from its first character outside ASCII. */
const BEYOND_ASCII = /[^\0-\x7f][^\r\n]*/g;
const WINDOWS_1255 = new TextDecoder('windows-1255');

/** Encodes Hebrew letters and ASCII. */
export function windows1255(text: string): Buffer {
  return Buffer.from(
    Uint8Array.from(text, (letter) => letter.charCodeAt(0) - (letter >= 'א' && letter <= 'ת' ? 0x4f0 : 0)),
  );
}

function markBytesOf(bytes: Uint8Array, mark: readonly number[]): number {
  let at = 0;
  while (mark.every((byte, place) => bytes[at + place] === byte)) at += mark.length;
  return at;
}

function wideEncodingOf(bytes: Uint8Array): 'utf-16le' | 'utf-16be' | undefined {
  for (const encoding of ['utf-16le', 'utf-16be'] as const) {
    const high = encoding === 'utf-16le' ? 1 : 0;
    if (markBytesOf(bytes.subarray(0, 2), MARKS[encoding]) > 0 || isUtf16(bytes, high)) return encoding;
  }
  return undefined;
}

/** @param high position of the high byte in each pair: 1 in little-endian text */
function isUtf16(bytes: Uint8Array, high: 0 | 1): boolean {
  const pairs = Math.floor(Math.min(bytes.length, UTF16_BYTES_SEARCHED) / 2);
  let ascii = 0;
  for (let pair = 0; pair < pairs; pair += 1) {
    const highByte = bytes[2 * pair + high] ?? 0;
    if (!isHighByte(highByte)) return false;
    if (highByte > 0) continue;
    if (bytes[2 * pair + 1 - high] === 0) return false;
    ascii += 1;
  }
  return ascii > 0;
}

/** Whether bytes are valid UTF-8. They may end in the middle of a character. */
function mayBeUtf8(bytes: Uint8Array): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true });
    return true;
  } catch {
    return false;
  }
}

/** The first line with a byte outside ASCII, from the byte before it: ASCII text reads the same in every encoding. */
const FIRST_BEYOND_ASCII = /.?[^\0-\x7f].*/;

/** Chooses the decoder for a text of an unknown encoding by its first line with characters outside ASCII. */
function decoderFor(line: Uint8Array): Decoder {
  if (mayBeUtf8(line)) return 'utf-8';
  const signs = new HebrewSigns();
  signs.read(line);
  // The header is compared with the labels later, so fewer Hebrew letters than usual are enough here.
  return signs.possible ? 'windows-1255' : 'latin1';
}

/** Decodes a text. Bytes that are invalid in the encoding become U+FFFD. */
function decode(bytes: Uint8Array, encoding: Encoding | Decoder): string {
  if (encoding === 'latin1') return Buffer.from(bytes).toString('latin1');
  // Decodes in stream mode, because the last character may be cut off.
  return new TextDecoder(encoding, { ignoreBOM: true }).decode(bytes, { stream: true });
}

/** Stands for half of a surrogate pair: two bytes that never occur in UTF-8. */
const BROKEN = Buffer.of(0xff, 0xff);

/** Converts UTF-16 to UTF-8, chunk by chunk. */
export class Utf16Reader {
  /** The text ends in the middle of a character. */
  cut = false;
  readonly #bigEndian: boolean;
  #rest: Uint8Array = new Uint8Array();

  constructor(encoding: 'utf-16le' | 'utf-16be') {
    this.#bigEndian = encoding === 'utf-16be';
  }

  read(chunk: Uint8Array): Uint8Array {
    // Swapping changes the bytes, so a chunk of the caller is copied first.
    const isCopied = this.#bigEndian || this.#rest.length > 0;
    const bytes = isCopied
      ? Buffer.concat([this.#rest, chunk])
      : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length);
    let even = bytes.length - (bytes.length % 2);
    // Keeps the first half of a surrogate pair until the second half arrives.
    const high = bytes[even - (this.#bigEndian ? 2 : 1)] ?? 0;
    if (even > 0 && high >= 0xd8 && high <= 0xdb) even -= 2;
    this.#rest = Buffer.from(bytes.subarray(even));
    this.cut = this.#rest.length > 0;
    const whole = bytes.subarray(0, even);
    if (this.#bigEndian) whole.swap16();
    try {
      return transcode(whole, 'utf16le', 'utf8');
    } catch {
      // UTF-8 cannot represent half of a surrogate pair.
      return withBroken(whole);
    }
  }
}

function withBroken(utf16: Buffer): Uint8Array {
  const parts = utf16.toString('utf16le').split(/\p{Surrogate}/u);
  return Buffer.concat(parts.flatMap((part) => [BROKEN, Buffer.from(part)]).slice(1));
}

/** Bytes that are not valid UTF-8. */
export interface BrokenBytes {
  bytes: number;
  /** The number of the record with the first invalid byte, from 1. */
  record: number;
}

/** The most invalid bytes per valid character outside ASCII. A text with more has another encoding. */
const MOST_BROKEN = 1 / 2;
/** An estimate: a text outside ASCII has at least one such character in this number of bytes. */
const BYTES_PER_CHARACTER = 20;
/** This number of ASCII bytes counts as one valid character: text in another encoding has fewer between its letters. */
const ASCII_PER_CHARACTER = 2000;
/** After this number of invalid bytes, counting stops if the text is mostly invalid. */
const ENOUGH_BROKEN = 10_000;

/** Checks a text block by block: its encoding, and traces of damage in storage. */
export class TextCheck {
  ascii = true;
  /** The most NUL characters in a row. */
  nulRun = 0;
  /** A part of the text has NUL characters after single bytes: a page in UTF-16 or UTF-32. */
  hasUtf16 = false;
  broken: BrokenBytes | null = null;
  readonly #hebrew = new HebrewSigns();
  #valid = 0;

  /**
   * @param block whole records, so that no character is cut off
   * @param recordAt returns the number of the record at a position of the block
   */
  read(block: Buffer, recordAt: (place: number) => number): void {
    if (block.includes(0)) {
      this.nulRun = Math.max(this.nulRun, longestNulRun(block));
      this.hasUtf16 ||= UTF16_BYTES.test(block.toString('latin1'));
    }
    this.#valid += block.length / ASCII_PER_CHARACTER;
    if (isAscii(block)) return;
    this.ascii = false;
    if (isUtf8(block)) {
      this.#hebrew.possible = false;
      this.#valid += block.length / BYTES_PER_CHARACTER;
      return;
    }
    this.#hebrew.read(block);
    if (!this.#isMostlyUtf8() && (this.broken?.bytes ?? 0) > ENOUGH_BROKEN) return;
    const { valid, broken, first } = countCharacters(block);
    this.#valid += valid;
    this.broken ??= { bytes: 0, record: recordAt(first) };
    this.broken.bytes += broken;
  }

  /** `null` = not recognised. */
  get encoding(): 'utf-8' | 'windows-1255' | null {
    if (!this.broken) return 'utf-8';
    if (this.#hebrew.proven) return 'windows-1255';
    return this.#isMostlyUtf8() ? 'utf-8' : null;
  }

  #isMostlyUtf8(): boolean {
    return (this.broken?.bytes ?? 0) <= MOST_BROKEN * this.#valid;
  }
}

/** Four characters of a word in UTF-16 or UTF-32. Separators do not match: empty cells may have a NUL character. */
const UTF16_BYTES = /(?:[^\0,;\t|]\0{1,3}){4}/;

function longestNulRun(block: Buffer): number {
  let longest = 0;
  let run = 0;
  for (const byte of block) {
    run = byte === 0 ? run + 1 : 0;
    if (run > longest) longest = run;
  }
  return longest;
}

/** The character U+FFFD, which also stands for broken bytes in a decoded text. */
const REPLACEMENT = Buffer.from('\uFFFD');

/** Characters outside ASCII, bytes that are not valid UTF-8, and the position of the first invalid byte. */
function countCharacters(block: Buffer): { valid: number; broken: number; first: number } {
  const parts = block.toString().split('\uFFFD');
  const valid = parts.reduce((sum, part) => sum + part.replaceAll(/[\0-\x7f]+/g, '').length, 0);
  const sizes = parts.map((part) => Buffer.byteLength(part));
  const replacements = block.toString('latin1').split(REPLACEMENT.toString('latin1')).length - 1;
  const broken = block.length - sizes.reduce((sum, size) => sum + size, 0) - REPLACEMENT.length * replacements;
  let first = -REPLACEMENT.length;
  for (const size of sizes) {
    first += REPLACEMENT.length + size;
    if (!block.subarray(first).subarray(0, REPLACEMENT.length).equals(REPLACEMENT)) break;
  }
  return { valid: valid + replacements, broken, first };
}

/**
 * What two consecutive bytes show: a letter after a letter or a vowel point, a byte outside ASCII, another encoding, or
 * two signs. A sum of up to `SUMMED` of these numbers has the counts of `JOINED` and `HIGH` in separate bits.
 */
const JOINED = 1;
const HIGH = 1 << 15;
const IMPOSSIBLE = 1 << 30;
const SIGNS = 1 << 31;
const SUMMED = 1 << 14;
/**
 * Bytes of windows-1255 as classes of characters: letters, vowel points, geresh and gershayim (which may begin a word,
 * as a quotation mark does), and signs. In UTF-8, a vowel point is the first byte of a two-byte character, a letter
 * that of a longer one, and the bytes after the first are signs.
 */
const [LETTER, POINT, GERESH, SIGN] = ['\xe0-\xfa', '\xc0-\xd6', '\xd7\xd8', '\x80\x82-\x89\x8b\x91-\x99\x9b\xa0-\xbf'];
const UNDEFINED = '\x81\x8a\x8c-\x90\x9a\x9c-\x9f\xd9-\xdf\xfb\xfc\xff';
const SHOWN: [pair: RegExp, shown: number][] = [
  [new RegExp(`[${SIGN}]{2}`), SIGNS],
  [new RegExp(`[${LETTER}${POINT}${GERESH}][${LETTER}]`), JOINED],
  [
    new RegExp(
      `[^][${UNDEFINED}]|[a-zA-Z][${LETTER}]|[^${LETTER}${POINT}][${POINT}]|[${POINT}${GERESH}][${SIGN}]|[${GERESH}][a-zA-Z]`,
    ),
    IMPOSSIBLE,
  ],
];
/** What each pair of bytes shows. The table takes milliseconds, so it is made for the first text that is not UTF-8. */
let pairs: Int32Array | undefined;
function tableOfPairs(): Int32Array {
  return Int32Array.from({ length: 1 << 16 }, (_, pair) => {
    const text = String.fromCharCode(pair >> 8, pair & 0xff);
    const [, shown = 0] = SHOWN.find(([pattern]) => pattern.test(text)) ?? [];
    return shown | ((pair & 0x80) > 0 ? HIGH : 0);
  });
}
/** A UTF-8 character of three bytes, unless the signs are usual ones: no-break spaces, punctuation, a shekel sign. */
const LETTER_AND_SIGNS = /[\xe0-\xfa](?![\x85\x91-\x97\xa0\xa4\xb7]{2})[\x80-\xbf]{2}/;

/** Fewer joined letters do not prove Hebrew: other code pages have accented letters at the same codes. */
const FEWEST_JOINED = 3;

/**
 * Detects Hebrew in windows-1255: words of Hebrew letters, and few other characters outside ASCII. Three things show
 * another encoding: an undefined byte, a complete UTF-8 character, or an accented letter, which follows an ASCII letter
 * or stands at a place where a vowel point has no Hebrew letter before it.
 */
class HebrewSigns {
  possible = true;
  #joined = 0;
  #high = 0;

  /** @param bytes whole lines, so the byte before them is not a letter */
  read(bytes: Uint8Array): void {
    pairs ??= tableOfPairs();
    let [previous, found] = [0, 0];
    for (let from = 0; this.possible && from < bytes.length; from += SUMMED) {
      const to = Math.min(bytes.length, from + SUMMED);
      let sum = 0;
      for (let at = from; at < to; at += 1) {
        const byte = bytes[at] as number;
        const shown = pairs[(previous << 8) | byte] as number;
        sum = (sum + shown) | 0;
        found |= shown;
        previous = byte;
      }
      this.#joined += sum & (HIGH - 1);
      this.#high += (sum & (IMPOSSIBLE - 1)) >> 15;
      this.possible = (found & IMPOSSIBLE) === 0;
    }
    if ((found & SIGNS) !== 0 && LETTER_AND_SIGNS.test(Buffer.from(bytes).toString('latin1'))) this.possible = false;
  }

  get proven(): boolean {
    return this.possible && this.#joined >= FEWEST_JOINED && this.#joined * 2 >= this.#high;
  }
}
