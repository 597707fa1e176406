import type { Measured } from './types.ts';

/** Polynomials are 32 bits with the highest power first (reflected, as zlib keeps them). */
const CRC_POLYNOMIAL = 0xedb88320;

/** The product of two polynomials modulo the CRC polynomial: zlib's `multmodp`. */
function multiply(a: number, b: number): number {
  let product = 0;
  let factor = b;
  for (let bit = 0x80000000; bit !== 0; bit >>>= 1) {
    if (a & bit) product ^= factor;
    factor = factor & 1 ? (factor >>> 1) ^ CRC_POLYNOMIAL : factor >>> 1;
  }
  return product >>> 0;
}

/** x^(8 * bytes) modulo the CRC polynomial. */
function shiftBy(bytes: number): number {
  let power = 0x80000000 >>> 8;
  let shift = 0x80000000;
  for (let left = bytes; left > 0; left = Math.floor(left / 2)) {
    if (left % 2 === 1) shift = multiply(power, shift);
    power = multiply(power, power);
  }
  return shift;
}

/** The CRC-32 of two pieces in a row, from the CRC-32 of each and the length of the second. */
export function combineCrc32(first: number, second: number, bytes: number): number {
  return (multiply(shiftBy(bytes), first) ^ second) >>> 0;
}

/** Length and CRC-32 of an object, from those of its parts in order. */
export function measuredFrom(parts: readonly Measured[]): Measured {
  return parts.reduce(
    (sum, part) => ({ bytes: sum.bytes + part.bytes, crc32: combineCrc32(sum.crc32, part.crc32, part.bytes) }),
    { bytes: 0, crc32: 0 },
  );
}

/** A CRC-32 as S3 writes it: base64 of its four bytes, big-endian. */
export function crc32Text(value: number): string {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes.toString('base64');
}

/**
 * Reads what `crc32Text` writes. Returns `null` for other text, such as S3's checksum of checksums, which ends in `-3`.
 */
export function crc32Value(text: string | string[] | undefined): number | null {
  if (typeof text !== 'string' || !/^[A-Za-z0-9+/]{6}==$/.test(text)) return null;
  return Buffer.from(text, 'base64').readUInt32BE();
}
