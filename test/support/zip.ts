import { crc32, deflateRawSync } from 'node:zlib';

export const zipOf = (...names: string[]): Buffer => zipOfFiles(...names.map((name) => ({ name, content: '' })));

/** A zip archive of one uncompressed file. */
export const zipWith = (name: string, content: string): Buffer => zipOfFiles({ name, content });

interface ZippedFile {
  name: string;
  content: string | Uint8Array;
  deflated?: boolean;
  /** Stores the file although both headers say that it is deflated. */
  deflatedLie?: boolean;
  /** The sizes after the content have no signature before them. */
  unsigned?: boolean;
  /** False values in the directory, or in both headers. */
  lies?: {
    name?: string;
    size?: number;
    crc?: number;
    offset?: number;
    localSize?: number;
    localCrc?: number;
    localMethod?: number;
    localFlags?: number;
    describedSize?: number;
  };
  /** Bit 0: encrypted. Bit 3: sizes and CRC-32 follow the content. */
  flags?: number;
  /** Comments of the archive, and of the entry. */
  comment?: string;
  entryComment?: string;
  /** Extra fields in the directory, and before the content. */
  extra?: Uint8Array;
  localExtra?: Uint8Array;
}

/** A zip archive of these files (APPNOTE.TXT, 4.3). */
export function zipOfFiles(...files: ZippedFile[]): Buffer {
  const locals: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const file of files) {
    const { local, listed } = entryOf(file, offset);
    locals.push(local);
    directory.push(listed);
    offset += local.length;
  }
  const entries = Buffer.concat(directory);
  const counts = numbers(2, 0, 0, files.length, files.length);
  const comment = Buffer.from(files.find((file) => file.comment)?.comment ?? '');
  const end = [
    Buffer.from('PK\x05\x06'),
    counts,
    numbers(4, entries.length, offset),
    numbers(2, comment.length),
    comment,
  ];
  return Buffer.concat([...locals, entries, ...end]);
}

/** A zip archive of these files by name, compressed. */
export function zipOfTexts(files: Record<string, string | Uint8Array>): Buffer {
  return zipOfFiles(...Object.entries(files).map(([name, content]) => ({ name, content, deflated: true })));
}

/** An entry with its content, and its record in the directory. */
function entryOf(file: ZippedFile, offset: number): { local: Buffer; listed: Buffer } {
  const { name, content, deflated = false, lies = {}, flags = 0, entryComment: comment = '' } = file;
  const { extra = new Uint8Array(), localExtra = new Uint8Array() } = file;
  const bytes = Buffer.from(content);
  const data = deflated ? deflateRawSync(bytes) : bytes;
  const [crc, size] = [lies.crc ?? crc32(bytes), lies.size ?? bytes.length];
  const described = (flags & 8) !== 0;
  const before = described ? [0, 0, 0] : [lies.localCrc ?? crc, data.length, lies.localSize ?? size];
  const signature = file.unsigned ? '' : 'PK\x07\x08';
  const behind = [Buffer.from(signature), numbers(4, crc, data.length, lies.describedSize ?? size)];
  const method = deflated || file.deflatedLie ? 8 : 0;
  const listedName = lies.name ?? name;
  return {
    local: Buffer.concat([
      ...[Buffer.from('PK\x03\x04'), numbers(2, 20, lies.localFlags ?? flags, lies.localMethod ?? method, 0, 0)],
      ...[numbers(4, ...before), numbers(2, Buffer.byteLength(name), localExtra.length), Buffer.from(name), localExtra],
      ...[data, ...(described ? behind : [])],
    ]),
    listed: Buffer.concat([
      ...[Buffer.from('PK\x01\x02'), numbers(2, 20, 20, flags, method, 0, 0), numbers(4, crc, data.length, size)],
      numbers(2, Buffer.byteLength(listedName), extra.length, Buffer.byteLength(comment), 0, 0),
      ...[numbers(4, 0, lies.offset ?? offset), Buffer.from(listedName), extra, Buffer.from(comment)],
    ]),
  };
}

/** Little-endian numbers of this many bytes. */
function numbers(bytes: 2 | 4, ...values: number[]): Buffer {
  const buffer = Buffer.alloc(bytes * values.length);
  for (const [place, value] of values.entries()) buffer.writeUIntLE(value, bytes * place, bytes);
  return buffer;
}
