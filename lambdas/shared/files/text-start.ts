export type Encoding = 'utf-8' | 'utf-16le' | 'utf-16be' | 'windows-1255';

/** How a text begins. */
export interface TextStart {
  /** `null` where it is none of those that are known; the text is then right in its ASCII characters alone. */
  encoding: Encoding | null;
  /** Bytes of the byte order mark. */
  markBytes: number;
  /** Without the mark. A character that the bytes end in the middle of is left out. */
  text: string;
}

/** What is not defined in windows-1255, and common in other code pages of one byte. */
const UNDEFINED_IN_1255 = new Set([0xd9, 0xda, 0xdb, 0xdc, 0xdd, 0xde, 0xdf, 0xfb, 0xfc, 0xff]);
/** High bytes of what stands in UTF-16 without a mark: ASCII, Hebrew, punctuation. */
const HIGH_BYTES = new Set([0x00, 0x05, 0x20]);
/** How many bytes are looked at for UTF-16 without a mark. */
const LOOKED_AT_FOR_UTF16 = 64;

/** Recognises the encoding of a text by its first bytes: by its byte order mark, else by what the bytes can be. */
export function textStart(bytes: Uint8Array): TextStart {
  const [encoding, markBytes] = wideEncodingOf(bytes) ?? ['utf-8', hasUtf8Mark(bytes) ? 3 : 0];
  const text = bytes.subarray(markBytes);
  const decoded = decode(text, encoding);
  if (decoded !== undefined) return { encoding, markBytes, text: decoded };
  const hebrew = markBytes === 0 && looksHebrew(text) ? decode(text, 'windows-1255') : undefined;
  if (hebrew !== undefined) return { encoding: 'windows-1255', markBytes, text: hebrew };
  return { encoding: null, markBytes, text: Buffer.from(text).toString('latin1') };
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

/** @param high where in each pair of bytes the high one stands: 1 in little-endian text. */
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

function decode(bytes: Uint8Array, encoding: Encoding): string | undefined {
  try {
    // As a stream, for the last character may be cut.
    return new TextDecoder(encoding, { fatal: true, ignoreBOM: true }).decode(bytes, { stream: true });
  } catch {
    return undefined;
  }
}

/**
 * Whether bytes that are not UTF-8 are Hebrew in windows-1255: its letters stand among themselves, where the accented
 * letters that other code pages have in their place stand among those of ASCII.
 */
export function looksHebrew(bytes: Uint8Array): boolean {
  let [high, letters] = [0, 0];
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte < 0x80) continue;
    if (UNDEFINED_IN_1255.has(byte)) return false;
    high += 1;
    if (byte >= 0xe0 && !isAsciiLetter(bytes[at - 1]) && !isAsciiLetter(bytes[at + 1])) letters += 1;
  }
  return letters > 1 && letters >= high * 0.8;
}

function isAsciiLetter(byte = 0): boolean {
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x7a;
}
