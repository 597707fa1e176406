import { crc32 } from 'node:zlib';

/** What a zip archive ends with, and all of one without a file (APPNOTE.TXT, 4.3.16). */
export const END_OF_ZIP = Buffer.from(`504b0506${'00'.repeat(18)}`, 'hex');

/** A zip archive so far as it is looked into: empty entries of these names, and the end of its directory. */
export function zipOf(...names: string[]): Buffer {
  const entries = names.map((name) => {
    const header = Buffer.alloc(30);
    header.write('PK\x03\x04\x14', 'latin1');
    header.writeUInt16LE(name.length, 26);
    return Buffer.concat([header, Buffer.from(name)]);
  });
  return Buffer.concat([...entries, END_OF_ZIP]);
}

/** A zip archive of one file, not compressed. */
export function zipWith(name: string, content: string): Buffer {
  const sizes = Buffer.alloc(12);
  sizes.writeUInt32LE(crc32(content));
  sizes.writeUInt32LE(Buffer.byteLength(content), 4);
  sizes.writeUInt32LE(Buffer.byteLength(content), 8);
  const lengths = Buffer.alloc(4);
  lengths.writeUInt16LE(name.length);
  const common = [Buffer.alloc(8), sizes, lengths];
  const file = Buffer.concat([Buffer.from('PK\x03\x04\x14\0'), ...common, Buffer.from(name + content)]);
  const entry = Buffer.concat([
    ...[Buffer.from('PK\x01\x02\x14\0\x14\0'), ...common],
    ...[Buffer.alloc(14), Buffer.from(name)],
  ]);
  const end = Buffer.from(END_OF_ZIP);
  for (const at of [8, 10]) end.writeUInt16LE(1, at);
  end.writeUInt32LE(entry.length, 12);
  end.writeUInt32LE(file.length, 16);
  return Buffer.concat([file, entry, end]);
}
