import { crc32, deflateRawSync } from 'node:zlib';

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
export const zipWith = (name: string, content: string): Buffer => zipOfFiles({ name, content });

interface ZippedFile {
  name: string;
  content: string | Uint8Array;
  deflated?: boolean;
  /** What the directory, or both headers, say otherwise than is so. */
  lies?: { name?: string; size?: number; crc?: number; offset?: number };
  /** Bit 0: encrypted. Bit 3: sizes and CRC-32 follow the content. */
  flags?: number;
}

/** A zip archive of these files (APPNOTE.TXT, 4.3). */
export function zipOfFiles(...files: ZippedFile[]): Buffer {
  const locals: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const { name, content, deflated = false, lies = {}, flags = 0 } of files) {
    const bytes = Buffer.from(content);
    const data = deflated ? deflateRawSync(bytes) : bytes;
    const known = [lies.crc ?? crc32(bytes), data.length, lies.size ?? bytes.length];
    const described = (flags & 8) !== 0;
    const method = deflated ? 8 : 0;
    const local = Buffer.concat([
      ...[
        Buffer.from('PK\x03\x04'),
        numbers(2, 20, flags, method, 0, 0),
        numbers(4, ...(described ? [0, 0, 0] : known)),
      ],
      ...[numbers(2, Buffer.byteLength(name), 0), Buffer.from(name), data],
      ...(described ? [Buffer.from('PK\x07\x08'), numbers(4, ...known)] : []),
    ]);
    const listed = lies.name ?? name;
    directory.push(
      ...[Buffer.from('PK\x01\x02'), numbers(2, 20, 20, flags, method, 0, 0), numbers(4, ...known)],
      ...[numbers(2, Buffer.byteLength(listed), 0, 0, 0, 0), numbers(4, 0, lies.offset ?? offset), Buffer.from(listed)],
    );
    locals.push(local);
    offset += local.length;
  }
  const entries = Buffer.concat(directory);
  const counts = numbers(2, 0, 0, files.length, files.length);
  const end = [Buffer.from('PK\x05\x06'), counts, numbers(4, entries.length, offset), numbers(2, 0)];
  return Buffer.concat([...locals, entries, ...end]);
}

/** Little-endian numbers of so many bytes. */
function numbers(bytes: 2 | 4, ...values: number[]): Buffer {
  const buffer = Buffer.alloc(bytes * values.length);
  for (const [place, value] of values.entries()) buffer.writeUIntLE(value, bytes * place, bytes);
  return buffer;
}
