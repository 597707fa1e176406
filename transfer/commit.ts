import { type RequestContext, RetryableError, RetryBudget, StartOver } from './base/retry.ts';
import { TransferError } from './base/transfer-error.ts';
import type { NamedObject, Resume } from './base/types.ts';
import { KeyExists } from './store/failures.ts';
import type { StoredPart } from './store/part-upload.ts';
import { crc32Of, type Store } from './store/store.ts';

/** What the whole file measured on its way here. */
export interface Measured {
  bytes: number;
  crc32: number;
}

/**
 * The one place where an object comes into being. Everything was checked before; the store checks once more.
 *
 * An answer that is lost leaves open whether the object exists: it is looked at, and counts if its size and its checksum
 * are those of the file. Only then is the call repeated. A repeated call may meet what the first one did, whatever the
 * store calls it: a key that exists, an upload that is gone, a conflict.
 *
 * @throws TransferError `conflict` when another object stands at the key, `store-…`; StartOver when the upload is gone.
 */
async function commit(
  work: { store: Store; context: RequestContext; key: string; measured: Measured },
  write: () => Promise<unknown>,
): Promise<'written' | 'found'> {
  const budget = new RetryBudget(work.context);
  for (;;) {
    try {
      await write();
      return 'written';
    } catch (error) {
      if (!isOpen(error)) throw error;
      if (await stands(work)) return 'found';
      if (error instanceof KeyExists) {
        throw new TransferError('conflict', `Another file stands at ${work.key} than the origin gives out now.`);
      }
      if (error instanceof StartOver) throw error;
      await budget.spend(error);
    }
  }
}

/** Whether the object may exist after this failure. */
function isOpen(error: unknown): error is RetryableError | KeyExists | StartOver {
  return error instanceof RetryableError || error instanceof KeyExists || error instanceof StartOver;
}

async function stands({ store, key, measured }: { store: Store; key: string; measured: Measured }): Promise<boolean> {
  const standing = await store.measure(key);
  return standing?.bytes === measured.bytes && standing.crc32 === measured.crc32;
}

/** Stores a file that is in memory. */
export async function commitSmall(
  store: Store,
  context: RequestContext,
  { key, contentType }: NamedObject,
  body: Buffer,
  crc32: number,
): Promise<void> {
  const measured = { bytes: body.length, crc32 };
  await commit({ store, context, key, measured }, () => store.put(key, contentType, body, crc32));
}

/** Makes the object of the parts of an upload, which must be all of them. */
export async function commitParts(
  store: Store,
  context: RequestContext,
  upload: Resume,
  parts: readonly StoredPart[],
): Promise<Measured> {
  const sorted = [...parts].sort((a, b) => a.number - b.number);
  const measured = { bytes: sorted.reduce((sum, { bytes }) => sum + bytes, 0), crc32: crc32Of(sorted) };
  const gap = sorted.findIndex(({ number }, index) => number !== index + 1);
  if (gap >= 0 || (upload.size !== null && upload.size !== measured.bytes)) {
    throw new TransferError('incomplete', `${measured.bytes} of ${upload.size ?? 'unknown'} bytes were stored.`);
  }
  const work = { store, context, key: upload.key, measured };
  const how = await commit(work, () => store.complete(upload, sorted, measured));
  // Found there already, perhaps made of another upload: this one may still be open.
  if (how === 'found') await store.abort(upload);
  return measured;
}
