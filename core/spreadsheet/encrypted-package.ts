/** Signature of a compound file: an Excel 97 workbook, or the wrapper of a document with a password (MS-CFB, 2.2). */
export const COMPOUND_FILE = 'd0cf11e0a1b11ae1';

/** A wrapper has fewer sectors in its directory. */
const MOST_SECTORS = 64;
/** Sizes of a sector, by the power of two in the header. */
const SECTOR_BYTES = new Map([
  [9, 512],
  [12, 4096],
]);
const ENTRY_BYTES = 128;
const HEADER_SECTORS = 109;

/**
 * Whether a compound file wraps a document with a password (MS-OFFCRYPTO, 2.3): it has a stream named
 * `EncryptedPackage`.
 * @param first the beginning of the file, which contains its directory
 */
export function isEncryptedPackage(first: Uint8Array): boolean {
  const bytes = Buffer.from(first.buffer, first.byteOffset, first.byteLength);
  if (bytes.length < 512) return false;
  const size = SECTOR_BYTES.get(bytes.readUInt16LE(30));
  if (size === undefined) return false;
  let sector = bytes.readUInt32LE(48);
  for (let count = 0; count < MOST_SECTORS; count += 1) {
    const from = (sector + 1) * size;
    if (from + size > bytes.length) return false;
    for (let at = from; at < from + size; at += ENTRY_BYTES) if (nameOf(bytes, at) === 'EncryptedPackage') return true;
    const next = nextSector(bytes, sector, size);
    if (next === undefined) return false;
    sector = next;
  }
  return false;
}

function nameOf(bytes: Buffer, at: number): string {
  const length = Math.min(bytes.readUInt16LE(at + 64), 64);
  return bytes.toString('utf16le', at, at + Math.max(0, length - 2));
}

/** The next sector by the allocation table. The header names the sectors of that table. */
function nextSector(bytes: Buffer, sector: number, size: number): number | undefined {
  const perSector = size / 4;
  const part = Math.floor(sector / perSector);
  if (part >= HEADER_SECTORS) return undefined;
  const at = (bytes.readUInt32LE(76 + 4 * part) + 1) * size + 4 * (sector % perSector);
  return at + 4 <= bytes.length ? bytes.readUInt32LE(at) : undefined;
}
