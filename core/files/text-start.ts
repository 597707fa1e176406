import { isAscii } from 'node:buffer';
import { csvRecordsIn } from './csv-records-in.ts';
import { lookForHebrew, NO_SIGNS } from './hebrew.ts';

export type Encoding = 'utf-8' | 'utf-16le' | 'utf-16be';

export interface TextStart {
  /** `null` where it is none of them. */
  encoding: Encoding | null;
  /** How many bytes the byte order mark has. */
  markBytes: number;
  /** The beginning of the text without the mark, and without a character that is cut at the end. */
  text: string;
}

/** High bytes of ASCII, Hebrew and punctuation in UTF-16. */
const HIGH_BYTES = new Set([0x00, 0x05, 0x20]);
const LOOKED_AT_FOR_UTF16 = 64;

/**
 * The encoding is that of the byte order mark, else the one that the bytes fit. The rest of a damaged text is still
 * read.
 */
export function textStart(bytes: Uint8Array): TextStart {
  const wide = wideEncodingOf(bytes);
  if (wide) {
    const [encoding, markBytes] = wide;
    return { encoding, markBytes, text: decode(bytes.subarray(markBytes), encoding) };
  }
  const markBytes = hasUtf8Mark(bytes) ? 3 : 0;
  const text = bytes.subarray(markBytes);
  if (isUtf8(text)) return { encoding: 'utf-8', markBytes, text: decode(text, 'utf-8') };
  return { encoding: null, markBytes, text: decode(text, decoderFor(firstBeyondAscii(text))) };
}

/** How to decode a text of an unknown encoding: by its first record beyond ASCII. */
function decoderFor(record: Uint8Array): Encoding | 'windows-1255' | 'latin1' {
  if (isUtf8(record)) return 'utf-8';
  const signs = { ...NO_SIGNS };
  lookForHebrew(signs, record);
  // A header is proven by its labels, so fewer letters are enough here.
  return signs.mayBeHebrew ? 'windows-1255' : 'latin1';
}

/** The first record beyond ASCII, whatever its separator: one of ASCII reads the same in every encoding. */
function firstBeyondAscii(bytes: Uint8Array): Uint8Array {
  for (const { text } of csvRecordsIn(decode(bytes, 'latin1'), ',;\t')) {
    const record = Buffer.from(text, 'latin1');
    if (!isAscii(record)) return record;
  }
  return bytes;
}

function hasUtf8Mark(bytes: Uint8Array): boolean {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
}

function wideEncodingOf(bytes: Uint8Array): [Encoding, number] | undefined {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return ['utf-16le', 2];
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return ['utf-16be', 2];
  if (isUtf16(bytes, 1)) return ['utf-16le', 0];
  if (isUtf16(bytes, 0)) return ['utf-16be', 0];
  return undefined;
}

/** @param high where in each pair of bytes the high one is: 1 in little-endian text. */
function isUtf16(bytes: Uint8Array, high: 0 | 1): boolean {
  const pairs = Math.floor(Math.min(bytes.length, LOOKED_AT_FOR_UTF16) / 2);
  let ascii = 0;
  for (let pair = 0; pair < pairs; pair += 1) {
    const highByte = bytes[2 * pair + high] ?? 0;
    if (bytes[2 * pair + 1 - high] === 0 || !HIGH_BYTES.has(highByte)) return false;
    if (highByte === 0) ascii += 1;
  }
  return ascii > 0;
}

/** The bytes may end in the middle of a character. */
function isUtf8(bytes: Uint8Array): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true });
    return true;
  } catch {
    return false;
  }
}

/** What the encoding does not have becomes U+FFFD. */
function decode(bytes: Uint8Array, encoding: Encoding | 'windows-1255' | 'latin1'): string {
  if (encoding === 'latin1') return Buffer.from(bytes).toString('latin1');
  // The decoder takes the bytes as a stream, for the last character may be cut.
  return new TextDecoder(encoding, { ignoreBOM: true }).decode(bytes, { stream: true });
}
