import { RetryableError, TransferError } from '../base/errors.ts';
import type { Part, StoredPart } from '../base/parts.ts';
import { RetryBudget } from '../base/retry.ts';
import type { Resume } from '../base/types.ts';
import type { Reader } from '../source/reader.ts';
import type { PartUpload } from '../store/part-upload.ts';
import type { Attempt } from './attempt.ts';

/**
 * Streams one part from a reader to the store. The reader recovers from trouble at the origin, and the part goes on; trouble at
 * the store costs the part: it is read and sent again.
 * @param onSending is called with the part that is under way, and with `undefined` when it no longer is
 */
export async function movePart(
  attempt: Attempt,
  upload: Resume,
  reader: Reader,
  part: Part,
  onSending?: (sent: PartUpload | undefined) => void,
): Promise<StoredPart> {
  const began = performance.now();
  const budget = new RetryBudget(attempt.context);
  for (;;) {
    try {
      // The store ends a silent request, and opening the file may take long: the part is begun only when its first bytes are there.
      const first = await reader.read(part.to - part.from);
      const sent = await attempt.store.beginPart(upload, { number: part.number, length: part.to - part.from });
      onSending?.(sent);
      const stored = await stream(attempt, reader, part, sent, first);
      attempt.took((performance.now() - began) / 1000);
      attempt.stored(stored.bytes, upload.size);
      return stored;
    } catch (error) {
      if (!(error instanceof RetryableError)) throw error;
      await budget.waitAfter(error);
      reader.rewind(part.from);
    } finally {
      onSending?.(undefined);
    }
  }
}

async function stream(
  attempt: Attempt,
  reader: Reader,
  { from, to }: Part,
  sent: PartUpload,
  first: Buffer | null,
): Promise<StoredPart> {
  let read: ReturnType<typeof reader.read> | null = first;
  try {
    while (sent.bytes < to - from) {
      const chunk = read instanceof Promise ? await read : read;
      if (!chunk) throw new TransferError('incomplete', `The file ended after ${reader.offset} of ${to} bytes.`);
      attempt.moved += chunk.length;
      const full = sent.write(chunk, () => attempt.source.blocks.release(chunk));
      if (full !== undefined) await full;
      if (sent.bytes < to - from) read = reader.read(to - from - sent.bytes);
    }
    return await sent.finish();
  } catch (error) {
    sent.destroy();
    throw error;
  }
}
