import { crc32 } from 'node:zlib';
import { crc32Of } from '../base/crc32.ts';
import { TransferError } from '../base/errors.ts';
import { bytesOf, growingPartBytes, prefixOf, S3_MOST_PARTS, type StoredPart } from '../base/parts.ts';
import type { NamedObject, Resume, Stored, Unfinished } from '../base/types.ts';
import { type Reader, wholeReader } from '../source/reader.ts';
import type { Attempt } from './attempt.ts';
import { commitParts, commitSmall } from './commit.ts';
import { type FirstResponse, tooLarge } from './first-response.ts';

/** Reads until the buffer is full or the file ends; returns how many bytes it read. */
async function fill(
  { source }: Attempt,
  reader: Reader,
  buffer: Buffer,
  onChunk: (chunk: Buffer) => void,
): Promise<number> {
  let filled = 0;
  while (filled < buffer.length) {
    const chunk = await reader.read(buffer.length - filled);
    if (!chunk) break;
    chunk.copy(buffer, filled);
    onChunk(chunk);
    filled += chunk.length;
    source.blocks.release(chunk);
  }
  return filled;
}

/** Stores a small file of known size in one request. */
export async function storeSmall(attempt: Attempt, first: FirstResponse, length: number): Promise<Stored> {
  const buffer = Buffer.allocUnsafe(length);
  let checksum = 0;
  const reader = wholeReader(attempt.source, length, () => checksum, { offset: 0, first });
  const filled = await fill(attempt, reader, buffer, (chunk) => {
    checksum = crc32(chunk, checksum);
  });
  if (filled !== length) throw new TransferError('incomplete', `The file ended after ${filled} of ${length} bytes.`);
  await reader.finish();
  return commitSmall(attempt, first.object, buffer, checksum, { strategy: 'small', undeclaredEnd: false });
}

/** Stores a file of unknown size from one GET: a part must be in memory before its length can be declared. */
export async function storeUnsized(
  attempt: Attempt,
  object: NamedObject,
  upload: Resume | null,
  before: readonly StoredPart[],
  first?: FirstResponse,
): Promise<Stored | Unfinished> {
  const { bufferedPartBytes: partBytes } = attempt.context.limits;
  const stored = prefixOf(before);
  let checksum = crc32Of(stored);
  let total = bytesOf(stored);
  attempt.stored(total, null);
  const reader = wholeReader(attempt.source, null, () => checksum, { offset: total, first });
  // One part is sent while the next is read.
  let sending: Promise<StoredPart> | undefined;
  const sent = async () => {
    if (sending !== undefined) stored.push(await sending);
    sending = undefined;
  };
  try {
    let open = upload;
    for (let number = stored.length + 1; attempt.mayBegin(); number += 1) {
      const buffer = Buffer.allocUnsafe(growingPartBytes(number, partBytes));
      const filled = await fill(attempt, reader, buffer, (chunk) => {
        checksum = crc32(chunk, checksum);
        attempt.moved += chunk.length;
      });
      total += filled;
      if (total > attempt.options.maxBytes || number > S3_MOST_PARTS) throw tooLarge(attempt.options.maxBytes);
      const body = buffer.subarray(0, filled);
      const whole = filled < buffer.length;
      const outcome = { strategy: 'single', undeclaredEnd: reader.undeclaredEnd } as const;
      if (!open && whole) return await commitSmall(attempt, object, body, checksum, outcome);
      open ??= await attempt.createUpload({ ...object, etag: null, size: null, partBytes });
      await sent();
      if (filled > 0) {
        sending = attempt.store.putPart(open, number, body);
        // The failure is thrown where `sent` is awaited; nobody waits for it here.
        sending.catch(() => undefined);
      }
      attempt.stored(filled, null);
      if (!whole) continue;
      await sent();
      return await commitParts(attempt, open, stored, outcome);
    }
    await sent();
    return { done: false, resume: open };
  } finally {
    reader.close();
  }
}
