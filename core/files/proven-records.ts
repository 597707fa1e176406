import { crc32 } from 'node:zlib';
import { crc32Text } from '../../transfer/index.ts';
import type { Manifest } from '../export/manifest.ts';
import type { ByteSource } from './byte-source.ts';
import { fileRecords } from './file-records.ts';
import { isEmptyFile } from './read-formats.ts';

/**
 * The records of a whole published file, its header first; none of an empty one. That they are of the bytes of its manifest is proven by the last one;
 * of spreadsheets and zip archives, which are not read in order, before the first.
 * @param refuse makes the error for other bytes, of their CRC-32
 * @throws UnreadableCsv or RunError `FileRejected` where the content cannot be read; what reading the bytes throws
 */
export async function* provenRecords(
  source: ByteSource,
  file: Manifest['file'],
  refuse: (crc: number) => Error,
): AsyncGenerator<string[]> {
  let crc = 0;
  const read = async function* (from: number, to: number): AsyncGenerator<Uint8Array> {
    for await (const chunk of source.read(from, to)) {
      crc = crc32(chunk, crc);
      yield chunk;
    }
  };
  const empty = isEmptyFile(file);
  const inOrder = !empty && file.format !== 'xlsx' && file.compression !== 'zip';
  if (inOrder) yield* fileRecords({ size: source.size, read }, file);
  else for await (const _ of read(0, source.size));
  if (crc32Text(crc) !== file.crc32) throw refuse(crc);
  if (!empty && !inOrder) yield* fileRecords(source, file);
}
