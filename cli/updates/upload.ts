import { Readable } from 'node:stream';
import { crc32 } from 'node:zlib';
import { keysOf, LARGEST_INPUT_BYTES } from '../../core/batch/batch-keys.ts';
import type { BatchStore } from '../../core/batch/batch-store.ts';
import { RunError } from '../../core/errors.ts';
import { csvToJsonl } from '../../core/updates/csv-to-jsonl.ts';
import { CommandError } from '../support/exit.ts';
import { type CheckedUpdates, tooLarge } from './check-updates.ts';
import { changed } from './source.ts';

/**
 * Streams the checked bytes to the input of a new batch, CSV as JSON Lines with the same line numbers. Stores all or nothing.
 * @param resumes whether the same bytes may be there already, from somebody who resumes the same batch
 * @returns the key
 * @throws CommandError (exit code 2) when the bytes are not those that were checked; RunError of the bucket, `StorageConflict`
 *   where other bytes stand there
 */
export async function uploadInput(
  store: BatchStore,
  batch: string,
  checked: CheckedUpdates,
  resumes = false,
): Promise<string> {
  const { source } = checked;
  const csv = source.reader.format === 'csv';
  const same = sameBytes(checked);
  const body = Readable.from(limited(csv ? csvToJsonl(same) : same, source.name), { objectMode: false });
  const key = keysOf(batch).input;
  try {
    if (await store.uploadOnce(key, body)) return key;
  } catch (error) {
    // The bucket's client wraps errors of the body.
    if (error instanceof RunError && error.cause instanceof CommandError) throw error.cause;
    throw error;
  }
  if (!resumes) throw new RunError('StorageConflict', `There is an object at ${key} already.`);
  if (await isStored(store, key, checked)) return key;
  throw new RunError(
    'StorageConflict',
    `Other lines than are to be sent again stand at ${key}: if no execution has that batch, delete the object, and resume once more.`,
  );
}

/**
 * Compares the whole object: what S3 keeps as the checksum of an upload in parts is one of the checksums of its parts.
 */
async function isStored(store: BatchStore, key: string, checked: CheckedUpdates): Promise<boolean> {
  const object = await store.stream(key);
  let sum = 0;
  for await (const piece of object?.chunks ?? []) {
    if (object?.bytes !== checked.bytes) return false;
    sum = crc32(piece, sum);
  }
  return object?.bytes === checked.bytes && sum === checked.crc32;
}

async function* sameBytes({ source, bytes, crc32: expected }: CheckedUpdates): AsyncGenerator<Uint8Array> {
  let size = 0;
  let sum = 0;
  for await (const piece of source.open()) {
    size += piece.byteLength;
    sum = crc32(piece, sum);
    yield piece;
  }
  if (size !== bytes || sum !== expected) throw changed(source.name);
}

async function* limited(pieces: AsyncIterable<Uint8Array>, name: string): AsyncGenerator<Uint8Array> {
  let size = 0;
  for await (const piece of pieces) {
    size += piece.byteLength;
    if (size > LARGEST_INPUT_BYTES) throw tooLarge(name);
    yield piece;
  }
}
