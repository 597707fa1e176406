import { isDeepStrictEqual } from 'node:util';
import { crc32 } from 'node:zlib';
import { combineCrc32, crc32Of } from '../base/crc32.ts';
import {
  bytesOf,
  growingPartBytes,
  partBytesFor,
  partsOf,
  prefixOf,
  S3_MOST_PARTS,
  type StoredPart,
} from '../base/parts.ts';
import { RetryBudget, withRetries } from '../base/retry.ts';
import { RetryableError, StartOver, TransferError } from '../base/transfer-errors.ts';
import type { NamedObject, Resume, Stored, Unfinished } from '../base/types.ts';
import type { Body } from '../source/body.ts';
import { NoBytesInRange, type Opened, openSource } from '../source/open.ts';
import { type Reader, wholeReader } from '../source/reader.ts';
import type { Measured, PartUpload } from '../store/store.ts';
import { KeyExists, NoSuchUpload } from '../store/store-errors.ts';
import { type Attempt, movePart } from './attempt.ts';
import { fetchRanged } from './ranged.ts';

/** One try at a file. The first response, or the upload to continue, decides the strategy. */
export async function fetchFile(attempt: Attempt): Promise<Stored | Unfinished> {
  return attempt.upload ? resumeFile(attempt, attempt.upload) : beginFile(attempt);
}

async function beginFile(attempt: Attempt): Promise<Stored | Unfinished> {
  const first = await requestFirst(attempt);
  try {
    const { head, ranged, etag } = first;
    const { limits } = attempt.context;
    const size = head.length;
    if (size === null) return await storeUnsized(attempt, first.object, null, [], first);
    if (size <= limits.smallBytes) return await storeSmall(attempt, first, size);
    const partBytes = partBytesFor(size, attempt.options.connections.most, limits);
    const upload = await attempt.createUpload({ ...first.object, etag: ranged ? etag : null, size, partBytes });
    // Returns so that the upload is recorded before hours of work. A killed process would leave an unknown upload.
    if (size >= limits.recordFromBytes) return { done: false, resume: upload };
    return await storeSized(attempt, { ...upload, size }, [], first);
  } finally {
    first.body.close();
  }
}

async function resumeFile(attempt: Attempt, upload: Resume): Promise<Stored | Unfinished> {
  let before: StoredPart[];
  try {
    before = await attempt.store.parts(upload);
  } catch (error) {
    const stored = error instanceof NoSuchUpload ? await completedBefore(attempt, upload) : undefined;
    if (stored) return stored;
    throw error;
  }
  const { size } = upload;
  if (size !== null) return storeSized(attempt, { ...upload, size }, before);
  if (before.some(({ number }) => number === 1)) return storeUnsized(attempt, upload, upload, before);
  // The store holds no part to compare with, so the file is treated as a new one.
  const first = await requestFirst(attempt);
  try {
    if (first.head.length !== null || first.object.key !== upload.key) {
      throw new StartOver('The file at the origin is another than before.');
    }
    return await storeUnsized(attempt, first.object, upload, [], first);
  } finally {
    first.body.close();
  }
}

/** Finds the object of a process that died after Complete. Only one transfer writes to its key. */
async function completedBefore({ store, options }: Attempt, upload: Resume): Promise<Stored | undefined> {
  const { key, contentType, size, etag } = upload;
  const found = await store.measure(key);
  if (!found || (size !== null && found.bytes !== size)) return undefined;
  const undeclaredEnd = size === null && options.allowUndeclaredEnd;
  return { done: true, key, contentType, ...found, strategy: etag === null ? 'single' : 'ranged', undeclaredEnd };
}

async function storeSized(
  attempt: Attempt,
  upload: Resume & { size: number },
  before: readonly StoredPart[],
  first?: FirstResponse,
): Promise<Stored | Unfinished> {
  const { etag, size } = upload;
  const stored =
    etag === null
      ? await fetchSingle(attempt, upload, before, first)
      : await fetchRanged(attempt, { ...upload, etag }, before, first);
  if (bytesOf(stored) < size) return { done: false, resume: upload };
  return commitParts(attempt, upload, stored, {
    strategy: etag === null ? 'single' : 'ranged',
    undeclaredEnd: false,
  });
}

/** The bytes to inspect. A web page shows in its first bytes, however small the chunks are. */
const INSPECTED_BYTES = 1024;

/** The first response of the origin. It names the object and decides the strategy; its bytes start the file. */
interface FirstResponse extends Opened {
  object: NamedObject;
}

/**
 * Requests the first bytes; retries with a fresh link if they are not the file (a sign-in page). @throws TransferError
 */
function requestFirst({ context, source, options }: Attempt): Promise<FirstResponse> {
  return withRetries(context, async () => {
    const opened = await openFirst(source, context.limits.smallBytes);
    const { body } = opened;
    try {
      if ((opened.head.length ?? 0) > options.maxBytes) throw tooLarge(options.maxBytes);
      const object = options.nameObject(opened.head, await beginningOf(body));
      if (!('refuse' in object)) return { ...opened, object };
      source.link.expire(await source.link.current(source.signal));
      throw new RetryableError('refused', object.refuse);
    } catch (error) {
      body.close();
      throw error;
    }
  });
}

/** Reads and puts back the first 1 KB, or all of a shorter file. */
async function beginningOf(body: Body): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for (let bytes = 0; bytes < INSPECTED_BYTES; bytes += chunks.at(-1)?.length ?? 0) {
    const chunk = await body.next();
    if (!chunk) break;
    chunks.push(chunk);
  }
  const first = Buffer.concat(chunks);
  if (first.length > 0) body.unread(first);
  return first;
}

async function openFirst(source: Attempt['source'], bytes: number): Promise<Opened> {
  try {
    return await openSource(source, { from: 0, to: bytes }, null);
  } catch (error) {
    // S3 refuses every range of an empty object.
    if (error instanceof NoBytesInRange) return openSource(source, undefined, null);
    throw error;
  }
}

function tooLarge(most: number): TransferError {
  const message = `The file is larger than the ${most} bytes that are allowed, or than can be stored without knowing its size.`;
  return new TransferError('too-large', message);
}

/**
 * Fetches a file of known size with one GET, cut into parts that stream through.
 * @returns the parts in the store: all of them, unless time was up
 */
async function fetchSingle(
  attempt: Attempt,
  upload: Resume & { size: number },
  before: readonly StoredPart[],
  first?: Opened,
): Promise<StoredPart[]> {
  const parts = partsOf(upload.size, upload.partBytes);
  const stored = prefixOf(before).filter(({ number, bytes }) => {
    const part = parts[number - 1];
    return part && bytes === part.to - part.from;
  });
  attempt.stored(bytesOf(stored), upload.size);
  let sending: PartUpload | undefined;
  const crc32Before = () => {
    const { crc32 = 0, bytes = 0 } = sending ?? {};
    return combineCrc32(crc32Of(stored), crc32, bytes);
  };
  const reader = wholeReader(attempt.source, upload.size, crc32Before, { offset: bytesOf(stored), first });
  try {
    for (const part of parts.slice(stored.length)) {
      if (!attempt.mayBegin()) break;
      const moved = await movePart(attempt, upload, reader, part, (sent) => {
        sending = sent;
      });
      stored.push(moved);
    }
    if (stored.length === parts.length) await reader.finish();
    return stored;
  } finally {
    reader.close();
  }
}

/** Reads until the buffer is full or the file ends. Returns the number of bytes. */
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
async function storeSmall(attempt: Attempt, first: FirstResponse, length: number): Promise<Stored> {
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

/** Stores a file of unknown size from one GET. S3 needs the length of a part first, so parts are kept in memory. */
async function storeUnsized(
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
        // `sent` throws the failure when it is awaited. Until then, no code waits for the promise.
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

type HowStored = Pick<Stored, 'strategy' | 'undeclaredEnd'>;

/**
 * The only place that makes an object. After a lost response the object may exist: it is measured, and accepted if size
 * and checksum match the file. Otherwise the request is repeated. If the first request did succeed, stores answer in
 * different ways: the key exists, the upload is gone, a conflict.
 * @throws TransferError `conflict` if the key has another object, `store-…`; StartOver if the upload is gone
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

/** Stores a file from memory. */
async function commitSmall(
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

/** Makes the object from the parts of an upload. All parts must be stored. */
async function commitParts(
  attempt: Attempt,
  upload: Resume,
  parts: readonly StoredPart[],
  outcome: HowStored,
): Promise<Stored | Unfinished> {
  // An interrupted Complete has an unknown result. The next process has enough time for it.
  if (!attempt.mayFinish()) return { done: false, resume: upload };
  const { key, contentType } = upload;
  const sorted = prefixOf(parts);
  const measured = { bytes: bytesOf(parts), crc32: crc32Of(sorted) };
  if (sorted.length < parts.length || (upload.size !== null && upload.size !== measured.bytes)) {
    throw new TransferError('incomplete', `${measured.bytes} of ${upload.size ?? 'unknown'} bytes were stored.`);
  }
  const how = await commit(attempt, key, measured, () => attempt.store.complete(upload, sorted, measured));
  // Another upload may have made the object that was found: this upload may still be open.
  if (how === 'found') await attempt.store.abort(upload);
  attempt.setUpload(null);
  return { done: true, key, contentType, ...measured, ...outcome };
}
