import type { Part } from '../base/plan.ts';
import { type RequestContext, RetryableError, RetryBudget } from '../base/retry.ts';
import { TransferError } from '../base/transfer-error.ts';
import type { Resume } from '../base/types.ts';
import type { Reader } from '../source/reader.ts';
import type { PartUpload, StoredPart } from '../store/part-upload.ts';
import type { Store } from '../store/store.ts';

export interface Moving {
  store: Store;
  context: RequestContext;
  upload: Resume;
  reader: Reader;
  /** Told of every chunk that was written. */
  moved: (bytes: number) => void;
  /** The part that is under way, for whoever needs its checksum so far. */
  current?: PartUpload | undefined;
}

/**
 * Streams one part from the origin to the store. Trouble at the origin is the reader's, and the part goes on; trouble at
 * the store costs the part: it is read and sent again.
 */
export async function movePart(moving: Moving, part: Part): Promise<StoredPart> {
  const budget = new RetryBudget(moving.context);
  for (;;) {
    try {
      return await sendPart(moving, part);
    } catch (error) {
      if (!(error instanceof RetryableError)) throw error;
      await budget.spend(error);
      moving.current = undefined;
      moving.reader.rewind(part.from);
    }
  }
}

async function sendPart(moving: Moving, { number, from, to }: Part): Promise<StoredPart> {
  const { reader } = moving;
  // The store ends a request that is silent for long: it is begun only when there is something to say. (Opening the file may
  // take long where its beginning has to be skipped.)
  let read: ReturnType<typeof reader.read> | null = await reader.read(to - from);
  const sent = await moving.store.beginPart(moving.upload, { number, length: to - from });
  moving.current = sent;
  try {
    while (sent.bytes < to - from) {
      const chunk = read instanceof Promise ? await read : read;
      if (!chunk) throw new TransferError('incomplete', `The file ended after ${reader.offset} of ${to} bytes.`);
      moving.moved(chunk.length);
      const full = sent.write(chunk);
      if (full !== undefined) await full;
      if (sent.bytes < to - from) read = reader.read(to - from - sent.bytes);
    }
    return await sent.finish();
  } catch (error) {
    sent.destroy();
    throw error;
  }
}
