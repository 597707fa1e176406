import { crc32 } from 'node:zlib';
import { crc32Text } from '../../transfer/base/crc32.ts';
import type { Manifest } from '../export/manifest.ts';
import type { ByteSource } from '../files/byte-source.ts';
import { isEmptyFile } from '../files/read-formats.ts';
import { type ReadingLimits, ReadingUnfinished } from '../zip/reading-limits.ts';
import { fileRecords, isUnreadable } from './file-records.ts';

export interface Proof {
  limits: ReadingLimits;
  /** The error for other bytes than those of the manifest. @param crc their CRC-32 */
  refuse: (crc: number) => Error;
}

/**
 * The records of a whole published file, its header first where it has one; none of an empty file. That they are of the bytes of
 * its manifest is proven by the last one; of spreadsheets and zip archives, which are not read in order, before the first.
 * @throws what `refuse` makes; errors that `whyUnread` has words for; what reading the source throws
 */
export async function* provenRecords(
  source: ByteSource,
  file: Manifest['file'],
  { limits, refuse }: Proof,
): AsyncGenerator<string[]> {
  let crc = 0;
  const read = async function* (from: number, to: number): AsyncGenerator<Uint8Array> {
    for await (const chunk of source.read(from, to)) {
      crc = crc32(chunk, crc);
      yield chunk;
    }
  };
  const empty = isEmptyFile(file);
  const inOrder = !empty && isReadInOrder(file);
  if (inOrder) yield* fileRecords({ size: source.size, read }, file, limits);
  else for await (const _ of read(0, source.size));
  if (crc32Text(crc) !== file.crc32) throw refuse(crc);
  if (!empty && !inOrder) yield* fileRecords(source, file, limits);
}

/** Whether the records of a file come from its beginning to its end: those of spreadsheets and zip archives do not. */
export function isReadInOrder({ format, compression }: Pick<Manifest['file'], 'format' | 'compression'>): boolean {
  return format !== 'xlsx' && compression !== 'zip';
}

/** Why the content cannot be read, behind "The file …" and without anything of it; `undefined` for any other error. */
export function whyUnread(error: unknown): string | undefined {
  return isUnreadable(error) || error instanceof ReadingUnfinished ? error.message : undefined;
}
