import { RetryableError, TransferError } from '../base/errors.ts';
import type { Part, StoredPart } from '../base/parts.ts';
import { RetryBudget } from '../base/retry.ts';
import type { Resume } from '../base/types.ts';
import type { Reader } from '../source/reader.ts';
import type { PartUpload } from '../store/part-upload.ts';
import type { Attempt } from './attempt.ts';

/** Streams parts of a file from one reader to the store. */
export class PartMover {
  readonly #attempt: Attempt;
  readonly #upload: Resume;
  readonly #reader: Reader;
  /** The part that is under way. */
  current: PartUpload | undefined;

  constructor(attempt: Attempt, upload: Resume, reader: Reader) {
    this.#attempt = attempt;
    this.#upload = upload;
    this.#reader = reader;
  }

  /**
   * Streams one part. The reader recovers from trouble at the origin, and the part goes on; trouble at the store costs the part:
   * it is read and sent again.
   */
  async move(part: Part): Promise<StoredPart> {
    const began = performance.now();
    const budget = new RetryBudget(this.#attempt.context);
    for (;;) {
      try {
        const stored = await this.#send(part);
        this.#attempt.took((performance.now() - began) / 1000);
        this.#attempt.stored(stored.bytes, this.#upload.size);
        return stored;
      } catch (error) {
        if (!(error instanceof RetryableError)) throw error;
        await budget.waitAfter(error);
        this.#reader.rewind(part.from);
      } finally {
        this.current = undefined;
      }
    }
  }

  async #send({ number, from, to }: Part): Promise<StoredPart> {
    const reader = this.#reader;
    // The store ends a silent request, and opening the file may take long: the part is begun only when its first bytes are there.
    let read: ReturnType<typeof reader.read> | null = await reader.read(to - from);
    const sent = await this.#attempt.store.beginPart(this.#upload, { number, length: to - from });
    this.current = sent;
    try {
      while (sent.bytes < to - from) {
        const chunk = read instanceof Promise ? await read : read;
        if (!chunk) throw new TransferError('incomplete', `The file ended after ${reader.offset} of ${to} bytes.`);
        this.#attempt.moved += chunk.length;
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
}
