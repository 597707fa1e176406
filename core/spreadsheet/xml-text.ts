import { isUtf8 } from 'node:buffer';
import { UnreadableSheet } from './unreadable-sheet.ts';

/** Decodes the chunks of an XML document, by its byte order mark or declaration. */
export interface XmlDecoder {
  /** @throws UnreadableSheet where bytes are not of the encoding */
  write(chunk: Uint8Array): string;
  end(): string;
}

/** What names the encoding stands in them. */
export const DECLARATION_BYTES = 200;

/** @param start the first bytes of the document, so many where it has them */
export function xmlDecoder(start: Uint8Array): XmlDecoder {
  const label = encodingOf(start);
  return label === 'utf-8' ? utf8Decoder() : otherDecoder(label);
}

function encodingOf(start: Uint8Array): string {
  const [first = 0, second = 0] = start;
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  if (first === 0xfe && second === 0xff) return 'utf-16be';
  if (first === 0x3c && second === 0) return 'utf-16le';
  if (first === 0 && second === 0x3c) return 'utf-16be';
  const declaration = Buffer.from(start.subarray(0, DECLARATION_BYTES)).toString('latin1');
  const label = /^(?:\xef\xbb\xbf)?<\?xml[^>]*\sencoding\s*=\s*["']([\w.-]+)["']/.exec(declaration)?.[1] ?? 'utf-8';
  return /^(?:utf-?8|us-ascii)$/i.test(label) ? 'utf-8' : label;
}

function otherDecoder(label: string): XmlDecoder {
  try {
    const decoder = new TextDecoder(label, { fatal: true });
    return {
      write: (chunk) => checked(() => decoder.decode(chunk, { stream: true })),
      end: () => checked(() => decoder.decode()),
    };
  } catch {
    throw new UnreadableSheet('has a part in an encoding that is not known');
  }
}

function checked(decode: () => string): string {
  try {
    return decode();
  } catch {
    throw badBytes();
  }
}

const badBytes = () => new UnreadableSheet('has a part with bytes that are not of its encoding');

/** Decodes several times as fast as the streaming decoder of the platform. */
function utf8Decoder(): XmlDecoder {
  let rest: Uint8Array = new Uint8Array();
  return {
    write: (chunk) => {
      const bytes = rest.length === 0 ? asBuffer(chunk) : Buffer.concat([rest, chunk]);
      const end = bytes.length - incompleteAtEnd(bytes);
      rest = Uint8Array.prototype.slice.call(bytes, end);
      const whole = bytes.subarray(0, end);
      if (!isUtf8(whole)) throw badBytes();
      return whole.toString('utf8');
    },
    end: () => {
      if (rest.length > 0) throw badBytes();
      return '';
    },
  };
}

const asBuffer = (bytes: Uint8Array) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** Bytes of a last character of which more is to come. */
function incompleteAtEnd(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte >= 0xc0) return back < lengthOf(byte) ? back : 0;
    if (byte < 0x80) return 0;
  }
  return 0;
}

function lengthOf(lead: number): number {
  if (lead >= 0xf0) return 4;
  return lead >= 0xe0 ? 3 : 2;
}
