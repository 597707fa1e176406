import { isDeepStrictEqual } from 'node:util';
import { crc32 } from 'node:zlib';
import { measuredFrom } from '../base/crc32.ts';
import { withRetries } from '../base/retry.ts';
import { RetryableError, TransferError } from '../base/transfer-errors.ts';
import type { Measured, NamedObject, Resume, Stored, StoredPart } from '../base/types.ts';
import type { Attempt } from './attempt.ts';

/** Stores a file from memory. */
export async function commitSmall(
  attempt: Attempt,
  { key, contentType }: NamedObject,
  body: Buffer,
  undeclaredEnd: boolean,
): Promise<Stored> {
  const measured = { bytes: body.length, crc32: crc32(body) };
  await commit(attempt, key, measured, () => attempt.store.put(key, contentType, body, measured.crc32));
  attempt.stored(body.length, body.length);
  return { key, contentType, ...measured, undeclaredEnd };
}

/** Makes the object from the parts of an upload, all of which must be stored. Returns `null` if time is up. */
export async function commitParts(
  attempt: Attempt,
  upload: Resume,
  parts: readonly StoredPart[],
  undeclaredEnd: boolean,
): Promise<Stored | null> {
  // An interrupted Complete has an unknown result. The next process has enough time for it.
  if (!attempt.mayFinish()) return null;
  const { key, contentType } = upload;
  const sorted = parts.toSorted((a, b) => a.number - b.number);
  const measured = measuredFrom(sorted);
  const how = await commit(attempt, key, measured, () => attempt.store.complete(upload, sorted, measured));
  // The object may come from another upload, so this upload may still be open.
  if (how === 'found') await attempt.store.abort(upload);
  attempt.options.observer?.upload?.(null);
  return { key, contentType, ...measured, undeclaredEnd };
}

/**
 * The only place that makes an object. If a response is lost, the object may exist: this function measures the object,
 * and accepts it if size and checksum match the file. Otherwise it repeats the request. If the first request succeeded,
 * the store refuses the second one, because the key exists, the upload is gone, or the two requests conflict.
 * @throws TransferError `conflict` if the key has another object, `changed` if the upload is gone, `store-…`
 */
async function commit(
  { store, context }: Attempt,
  key: string,
  measured: Measured,
  write: () => Promise<unknown>,
): Promise<'written' | 'found'> {
  return withRetries(context, async () => {
    try {
      await write();
      return 'written';
    } catch (error) {
      if (!mayHaveWritten(error)) throw error;
      if (isDeepStrictEqual(await store.measure(key), measured)) return 'found';
      if (error.reason !== 'conflict') throw error;
      throw new TransferError('conflict', `The object at ${key} differs from the file that the origin serves now.`);
    }
  });
}

/** Whether the object may exist after this failure. */
function mayHaveWritten(error: unknown): error is TransferError {
  if (!(error instanceof TransferError)) return false;
  return error instanceof RetryableError || error.reason === 'conflict' || error.reason === 'changed';
}
