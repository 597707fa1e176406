/** x^n modulo the CRC polynomial, as 32 bits with the highest power first (reflected, as zlib keeps it). */
const POLYNOMIAL = 0xedb88320;

/** The product of two polynomials modulo the CRC polynomial: zlib's `multmodp`. */
function multiply(a: number, b: number): number {
  let product = 0;
  let factor = b;
  for (let bit = 0x80000000; bit !== 0; bit >>>= 1) {
    if (a & bit) product ^= factor;
    factor = factor & 1 ? (factor >>> 1) ^ POLYNOMIAL : factor >>> 1;
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

/**
 * The CRC-32 of two pieces one behind the other, from the CRC-32 of each: parts may be measured in any order, by anyone.
 * @param bytes length of the second piece.
 */
export function combineCrc32(first: number, second: number, bytes: number): number {
  return (multiply(shiftBy(bytes), first) ^ second) >>> 0;
}

/** A CRC-32 as S3 writes it: base64 of its four bytes, big-endian. */
export function crc32Text(value: number): string {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes.toString('base64');
}

/** The opposite; `null` for what is none, such as the checksum of checksums that S3 marks by `-3` behind it. */
export function crc32Value(text: string | undefined): number | null {
  if (!text || !/^[A-Za-z0-9+/]{6}==$/.test(text)) return null;
  return Buffer.from(text, 'base64').readUInt32BE();
}
