import { isDeepStrictEqual } from 'node:util';
import { crc32Of } from '../base/crc32.ts';
import { RetryableError, StartOver, TransferError } from '../base/errors.ts';
import { bytesOf, prefixOf, type StoredPart } from '../base/parts.ts';
import { RetryBudget } from '../base/retry.ts';
import type { NamedObject, Resume, Stored, Unfinished } from '../base/types.ts';
import { KeyExists } from '../store/errors.ts';
import type { Measured } from '../store/store.ts';
import type { Attempt } from './attempt.ts';

type HowStored = Pick<Stored, 'strategy' | 'undeclaredEnd'>;

/**
 * The one place where an object is made. After a lost response the object may exist: it is measured, and counts if size and
 * checksum are those of the file; only otherwise is the request repeated. It may find what the first one did, which stores report
 * in different ways: the key exists, the upload is gone, a conflict.
 * @throws TransferError `conflict` when the key has another object, `store-…`; StartOver when the upload is gone
 */
async function commit(
  { store, context }: Attempt,
  key: string,
  measured: Measured,
  write: () => Promise<unknown>,
): Promise<'written' | 'found'> {
  const budget = new RetryBudget(context);
  for (;;) {
    try {
      await write();
      return 'written';
    } catch (error) {
      if (!isUnclear(error)) throw error;
      if (isDeepStrictEqual(await store.measure(key), measured)) return 'found';
      if (error instanceof KeyExists) {
        throw new TransferError('conflict', `The object at ${key} is another file than the origin gives out now.`);
      }
      if (error instanceof StartOver) throw error;
      await budget.waitAfter(error);
    }
  }
}

/** Whether the object may exist after this failure. */
function isUnclear(error: unknown): error is RetryableError | KeyExists | StartOver {
  return error instanceof RetryableError || error instanceof KeyExists || error instanceof StartOver;
}

/** Stores a file that is in memory. */
export async function commitSmall(
  attempt: Attempt,
  { key, contentType }: NamedObject,
  body: Buffer,
  crc32: number,
  outcome: HowStored,
): Promise<Stored> {
  const measured = { bytes: body.length, crc32 };
  await commit(attempt, key, measured, () => attempt.store.put(key, contentType, body, crc32));
  attempt.stored(body.length, body.length);
  return { done: true, key, contentType, ...measured, ...outcome };
}

/** Makes the object of the parts of an upload, which must be all of them. */
export async function commitParts(
  attempt: Attempt,
  upload: Resume,
  parts: readonly StoredPart[],
  outcome: HowStored,
): Promise<Stored | Unfinished> {
  // Interrupted in the middle of Complete, nobody would know whether it is done; the next process has the time.
  if (!attempt.mayFinish()) return { done: false, resume: upload };
  const { key, contentType } = upload;
  const sorted = prefixOf(parts);
  const measured = { bytes: bytesOf(parts), crc32: crc32Of(sorted) };
  if (sorted.length < parts.length || (upload.size !== null && upload.size !== measured.bytes)) {
    throw new TransferError('incomplete', `${measured.bytes} of ${upload.size ?? 'unknown'} bytes were stored.`);
  }
  const how = await commit(attempt, key, measured, () => attempt.store.complete(upload, sorted, measured));
  // The object that was found may be made of another upload: this one may still be open.
  if (how === 'found') await attempt.store.abort(upload);
  attempt.setUpload(null);
  return { done: true, key, contentType, ...measured, ...outcome };
}
