import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { readContent } from '../../../core/file/read-content.ts';
import { isEncryptedPackage } from '../../../core/spreadsheet/encrypted-package.ts';
import { failureOf } from '../../support/failures.ts';
import { bytesSource, reading } from '../../support/reading.ts';

interface Draft {
  /** Sectors of the directory, in the order of its chain. */
  sectors?: number[];
  sectorBytes?: 512 | 4096;
  total?: number;
}

/** A compound file (MS-CFB) with these directory entries. */
function compoundFile(names: string[], { sectors = [1, 3], sectorBytes = 512, total = 8 }: Draft = {}): Buffer {
  const bytes = Buffer.alloc(sectorBytes * (total + 1));
  const at = (sector: number) => (sector + 1) * sectorBytes;
  Buffer.from('d0cf11e0a1b11ae1', 'hex').copy(bytes);
  bytes.writeUInt16LE(Math.log2(sectorBytes), 30);
  bytes.writeUInt32LE(sectors[0] ?? 0, 48);
  // The allocation table is sector 0.
  bytes.fill(0xff, 76, 512);
  bytes.writeUInt32LE(0, 76);
  bytes.fill(0xff, at(0), at(1));
  for (const [place, sector] of sectors.entries()) {
    bytes.writeUInt32LE(sectors[place + 1] ?? 0xfffffffe, at(0) + 4 * sector);
  }
  const perSector = sectorBytes / 128;
  for (const [place, name] of names.entries()) {
    const entry = at(sectors[Math.floor(place / perSector)] ?? 0) + 128 * (place % perSector);
    bytes.write(name, entry, 'utf16le');
    bytes.writeUInt16LE(2 * name.length + 2, entry + 64);
  }
  return bytes;
}

const WRAPPING = ['Root Entry', '\u0006DataSpaces', 'Version', 'DataSpaceMap', 'EncryptionInfo', 'EncryptedPackage'];

describe('a workbook with a password', () => {
  test.each<[string, Buffer]>([
    ['with a directory of two sectors', compoundFile(WRAPPING)],
    ['whose directory goes backwards', compoundFile(WRAPPING, { sectors: [6, 2] })],
    ['of large sectors', compoundFile(WRAPPING, { sectors: [1], sectorBytes: 4096 })],
  ])('is called encrypted, and refused also where Excel 97 is allowed: %s', async (_, bytes) => {
    for (const stored of [bytes, gzipSync(bytes)]) {
      const allowed = readContent(bytesSource(stored), reading({ expected: { opaque: ['xls'] } }));

      expect((await failureOf(allowed, 'FileRejected')).message).toContain('encrypted with a password');
    }
  });
});

test.each<[string, Buffer]>([
  ['a workbook of Excel 97', compoundFile(['Root Entry', 'Workbook', '\u0005SummaryInformation'])],
  [
    'one with the word in a cell',
    Buffer.concat([compoundFile(['Root Entry', 'Workbook']), Buffer.from('EncryptedPackage', 'utf16le')]),
  ],
  ['a directory that goes round', compoundFile(['Root Entry'], { sectors: [1, 3, 1, 3] })],
  ['a directory beyond the end', compoundFile([], { sectors: [30], total: 2 })],
  ['sectors of no size', compoundFile(WRAPPING).fill(0, 30, 32)],
  ['a header alone', compoundFile(WRAPPING).subarray(0, 100)],
])('is no encrypted package: %s', (_, bytes) => {
  expect(isEncryptedPackage(bytes)).toBe(false);
});
