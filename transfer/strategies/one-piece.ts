import { crc32 } from 'node:zlib';
import { measuredFrom } from '../base/crc32.ts';
import { TransferError } from '../base/transfer-errors.ts';
import type { Measured, NamedObject, Resume, Stored, StoredPart } from '../base/types.ts';
import { type Opened, openSized, type Source } from '../source/open.ts';
import { Reader } from '../source/reader.ts';
import type { Attempt } from './attempt.ts';
import { commitParts, commitSmall } from './commit.ts';

/**
 * Stores a file from one GET: a small one in one request, others in parts. S3 needs the length of a part first, so each
 * part is kept in memory until it is sent. One part is sent while the next is read.
 */
export async function storeInOnePiece(
  attempt: Attempt,
  { object, size }: { object: NamedObject; size: number | null },
  upload: Resume | null,
  before: readonly StoredPart[],
  first?: Opened,
): Promise<Stored | null> {
  const partBytes = upload?.partBytes ?? attempt.context.limits.bufferBytes;
  const stored = usableParts(before, size ?? Number.POSITIVE_INFINITY, partBytes);
  const read = measuredFrom(stored);
  // If no byte is stored and the size is unknown, a web page could be mistaken for the file. So the response is
  // inspected like that of a new file.
  if (upload && size === null && read.bytes === 0) {
    throw new TransferError('changed', 'The bucket has no part of the file.');
  }
  attempt.stored(read.bytes, size);
  let sending: Promise<StoredPart> | undefined;
  const allSent = async () => {
    const part = await sending;
    sending = undefined;
    if (!part) return;
    stored.push(part);
    attempt.stored(part.bytes, size);
  };
  const open = () => openAfter(read, attempt.source, size);
  const reader = new Reader(attempt.source, read.bytes, { open, end: size }, first);
  try {
    let current = upload;
    while (attempt.mayBegin()) {
      const { body, last } = await readPart(attempt, reader, { size, partBytes }, read);
      if (!current && last) return await commitSmall(attempt, object, body, reader.undeclaredEnd);
      current ??= await attempt.createUpload({ ...object, etag: null, size, partBytes });
      await allSent();
      if (body.length > 0) sending = attempt.store.putPart(current, stored.length + 1, body);
      // `allSent` throws the failure. Until then, no code waits for the promise.
      sending?.catch(() => undefined);
      if (!last) continue;
      await allSent();
      return await commitParts(attempt, current, stored, reader.undeclaredEnd);
    }
    await allSent();
    return null;
  } finally {
    reader.close();
  }
}

/** Reads the file from its start, and skips the bytes that were read before: they must have the same checksum. */
async function openAfter(before: Measured, source: Source, size: number | null): Promise<Opened> {
  const opened = await openSized(source, undefined, null, size);
  const { body } = opened;
  let checksum = 0;
  for (let left = before.bytes; left > 0; ) {
    const chunk = await body.next();
    if (!chunk) throw new TransferError('changed', 'The file at the origin is shorter than before.');
    const skipped = chunk.subarray(0, left);
    checksum = crc32(skipped, checksum);
    left -= skipped.length;
    source.blocks.release(skipped);
    if (skipped.length < chunk.length) body.unread(chunk.subarray(skipped.length));
  }
  if (checksum !== before.crc32) throw new TransferError('changed', 'The file at the origin has changed.');
  return opened;
}

/** The first parts in the store, up to one that is missing or of another size. */
function usableParts(parts: readonly StoredPart[], size: number, partBytes: number): StoredPart[] {
  const sorted = parts.toSorted((a, b) => a.number - b.number);
  const bytesAt = (index: number) => Math.min(partBytes, size - index * partBytes);
  const other = sorted.findIndex(({ number, bytes }, index) => number !== index + 1 || bytes !== bytesAt(index));
  return other < 0 ? sorted : sorted.slice(0, other);
}

/**
 * Reads the next part.
 * @param read length and CRC-32 of all bytes that were read, in this or an earlier process; renewed with each chunk
 * @returns `last`: the file ends with this part
 */
async function readPart(
  attempt: Attempt,
  reader: Reader,
  { size, partBytes }: { size: number | null; partBytes: number },
  read: Measured,
): Promise<{ body: Buffer; last: boolean }> {
  const wanted = size === null ? partBytes : Math.min(partBytes, size - read.bytes);
  const buffer = Buffer.allocUnsafe(wanted);
  const began = performance.now();
  let filled = 0;
  while (filled < wanted) {
    const chunk = await reader.read(wanted - filled);
    if (!chunk) break;
    chunk.copy(buffer, filled);
    filled += chunk.length;
    read.bytes += chunk.length;
    read.crc32 = crc32(chunk, read.crc32);
    attempt.source.blocks.release(chunk);
  }
  attempt.tookSince(began);
  if (read.bytes > attempt.options.maxBytes) throw tooLarge(attempt.options.maxBytes);
  const last = size === null ? filled < wanted : read.bytes === size;
  // The end of the body shows whether the declared length was right.
  if (last && size !== null) await reader.read(1);
  return { body: buffer.subarray(0, filled), last };
}

export function tooLarge(most: number): TransferError {
  return new TransferError('too-large', `The file is larger than the ${most} bytes that are allowed.`);
}
