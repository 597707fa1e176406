import { isDeepStrictEqual } from 'node:util';
import { crc32 } from 'node:zlib';
import { crc32Of } from '../base/crc32.ts';
import { bytesOf, partBytesFor, type StoredPart } from '../base/parts.ts';
import { RetryBudget, withRetries } from '../base/retry.ts';
import { RetryableError, StartOver, TransferError } from '../base/transfer-errors.ts';
import type { NamedObject, Resume, Stored } from '../base/types.ts';
import type { Body } from '../source/body.ts';
import { type Opened, openSource } from '../source/open.ts';
import { type Reader, wholeReader } from '../source/reader.ts';
import type { Measured } from '../store/store.ts';
import { KeyExists, NoSuchUpload } from '../store/store-errors.ts';
import type { Attempt } from './attempt.ts';
import { fetchRanged } from './ranged.ts';

/** One try at a file. The first response, or the upload to continue, decides the strategy. */
export async function fetchFile(attempt: Attempt): Promise<Stored | null> {
  return attempt.upload ? resumeFile(attempt, attempt.upload) : beginFile(attempt);
}

async function beginFile(attempt: Attempt): Promise<Stored | null> {
  const first = await requestFirst(attempt);
  try {
    const { object, etag } = first;
    const { limits } = attempt.context;
    const size = first.head.length;
    const byRanges = !attempt.options.inOnePiece && etag !== null && size !== null && size > limits.bufferBytes;
    const large = size !== null && size >= limits.recordFromBytes;
    if (!byRanges && !large) return await storeWhole(attempt, { object, size }, null, [], first);
    const partBytes = byRanges ? partBytesFor(size, attempt.options.connections.most, limits) : limits.bufferBytes;
    const upload = await attempt.createUpload({ ...object, etag: byRanges ? etag : null, size, partBytes });
    // Returns, so that the caller records the upload before hours of work. Otherwise a killed process would leave an
    // upload that nobody aborts.
    if (large) return null;
    return await storeRanges(attempt, upload, [], first);
  } finally {
    first.body.close();
  }
}

async function resumeFile(attempt: Attempt, upload: Resume): Promise<Stored | null> {
  let before: StoredPart[];
  try {
    before = await attempt.store.parts(upload);
  } catch (error) {
    const stored = error instanceof NoSuchUpload ? await completedBefore(attempt, upload) : undefined;
    if (stored) return stored;
    throw error;
  }
  if (upload.etag !== null) return storeRanges(attempt, upload, before);
  return storeWhole(attempt, { object: upload, size: upload.size }, upload, before);
}

/** Finds the object of a process that died after Complete. Only one transfer writes to its key. */
async function completedBefore({ store, options }: Attempt, upload: Resume): Promise<Stored | undefined> {
  const { key, contentType, size } = upload;
  const found = await store.measure(key);
  if (!found || (size !== null && found.bytes !== size)) return undefined;
  const undeclaredEnd = size === null && options.allowUndeclaredEnd;
  return { key, contentType, ...found, undeclaredEnd };
}

/** Stores a file that the origin gives in ranges. */
async function storeRanges(
  attempt: Attempt,
  upload: Resume,
  before: readonly StoredPart[],
  first?: FirstResponse,
): Promise<Stored | null> {
  const { etag, size } = upload;
  if (etag === null || size === null) throw new Error('An upload by ranges has an ETag and a size.');
  const stored = await fetchRanged(attempt, { ...upload, etag, size }, before, first);
  if (bytesOf(stored) < size) return null;
  return commitParts(attempt, upload, stored, false);
}

/** The bytes to inspect. A web page shows in its first bytes, however small the chunks are. */
const INSPECTED_BYTES = 1024;

/** The first response of the origin. It names the object and decides the strategy; its bytes start the file. */
interface FirstResponse extends Opened {
  object: NamedObject;
}

/**
 * Requests the first bytes. If they are not the file but, for example, a sign-in page, it retries with a fresh link.
 * @throws TransferError
 */
function requestFirst({ context, source, options }: Attempt): Promise<FirstResponse> {
  return withRetries(context, async () => {
    const opened = await openSource(source, { from: 0, to: context.limits.bufferBytes }, null);
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

function tooLarge(most: number): TransferError {
  return new TransferError('too-large', `The file is larger than the ${most} bytes that are allowed.`);
}

/** Stores a file from one GET: a small one in one request, others in parts. */
async function storeWhole(
  attempt: Attempt,
  { object, size }: { object: NamedObject; size: number | null },
  upload: Resume | null,
  before: readonly StoredPart[],
  first?: FirstResponse,
): Promise<Stored | null> {
  const partBytes = upload?.partBytes ?? attempt.context.limits.bufferBytes;
  const parts = new PartsInMemory(attempt, { size, partBytes }, before);
  // Without a stored byte and without a size, nothing shows that a web page is not the file. So the response is
  // inspected like that of a new file.
  if (upload && size === null && parts.bytes === 0) throw new StartOver('The bucket has no part of the file.');
  const reader = wholeReader(attempt.source, size, () => parts.crc32, { offset: parts.bytes, first });
  try {
    let open = upload;
    while (attempt.mayBegin()) {
      const { body, last } = await parts.read(reader);
      if (!open && last) return await commitSmall(attempt, object, body, parts.crc32, reader.undeclaredEnd);
      open ??= await attempt.createUpload({ ...object, etag: null, size, partBytes });
      await parts.send(open, body);
      if (last) return await commitParts(attempt, open, await parts.stored(), reader.undeclaredEnd);
    }
    await parts.stored();
    return null;
  } finally {
    reader.close();
  }
}

/**
 * The parts of a file that comes in one piece. S3 needs the length of a part first, so each part is kept in memory
 * until it is sent. One part is sent while the next is read.
 */
class PartsInMemory {
  readonly #attempt: Attempt;
  readonly #size: number | null;
  readonly #partBytes: number;
  readonly #stored: StoredPart[];
  #sending: Promise<StoredPart> | undefined;
  /** Length and CRC-32 of all bytes that were read, in this or an earlier process. */
  bytes: number;
  crc32: number;

  /** @param before parts in the store. The first ones are used, up to one that is missing or of another size. */
  constructor(
    attempt: Attempt,
    { size, partBytes }: { size: number | null; partBytes: number },
    before: readonly StoredPart[],
  ) {
    const parts = before.toSorted((a, b) => a.number - b.number);
    const bytesAt = (index: number) => Math.min(partBytes, (size ?? Number.POSITIVE_INFINITY) - index * partBytes);
    const other = parts.findIndex(({ number, bytes }, index) => number !== index + 1 || bytes !== bytesAt(index));
    this.#stored = other < 0 ? parts : parts.slice(0, other);
    this.#attempt = attempt;
    this.#size = size;
    this.#partBytes = partBytes;
    this.bytes = bytesOf(this.#stored);
    this.crc32 = crc32Of(this.#stored);
    attempt.stored(this.bytes, size);
  }

  /** Reads the next part. `last`: the file ends with it. */
  async read(reader: Reader): Promise<{ body: Buffer; last: boolean }> {
    const { source, options } = this.#attempt;
    const wanted = this.#size === null ? this.#partBytes : Math.min(this.#partBytes, this.#size - this.bytes);
    const buffer = Buffer.allocUnsafe(wanted);
    const began = performance.now();
    let filled = 0;
    while (filled < wanted) {
      const chunk = await reader.read(wanted - filled);
      if (!chunk) break;
      chunk.copy(buffer, filled);
      filled += chunk.length;
      this.crc32 = crc32(chunk, this.crc32);
      source.blocks.release(chunk);
    }
    this.#attempt.took((performance.now() - began) / 1000);
    this.bytes += filled;
    if (this.bytes > options.maxBytes) throw tooLarge(options.maxBytes);
    const last = this.#size === null ? filled < wanted : this.bytes === this.#size;
    if (last && this.#size !== null) await reader.finish();
    return { body: buffer.subarray(0, filled), last };
  }

  /** Begins to send the part that was read last, once the one before it is stored. */
  async send(upload: Resume, body: Buffer): Promise<void> {
    await this.stored();
    if (body.length === 0) return;
    this.#sending = this.#attempt.store.putPart(upload, this.#stored.length + 1, body);
    // `stored` throws the failure. Until then, no code waits for the promise.
    this.#sending.catch(() => undefined);
  }

  /** Waits for the part in transit. @returns all stored parts */
  async stored(): Promise<StoredPart[]> {
    if (this.#sending !== undefined) {
      const part = await this.#sending;
      this.#sending = undefined;
      this.#stored.push(part);
      this.#attempt.stored(part.bytes, this.#size);
    }
    return this.#stored;
  }
}

/**
 * The only place that makes an object. After a lost response the object may exist: it is measured, and accepted if size
 * and checksum match the file. Otherwise the request is repeated. If the first request did succeed, the answer to the
 * second depends on the store: the key exists, the upload is gone, or a conflict.
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
        throw new TransferError('conflict', `The object at ${key} differs from the file that the origin serves now.`);
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
  undeclaredEnd: boolean,
): Promise<Stored> {
  const measured = { bytes: body.length, crc32 };
  await commit(attempt, key, measured, () => attempt.store.put(key, contentType, body, crc32));
  attempt.stored(body.length, body.length);
  return { key, contentType, ...measured, undeclaredEnd };
}

/** Makes the object from the parts of an upload. All parts must be stored. */
async function commitParts(
  attempt: Attempt,
  upload: Resume,
  parts: readonly StoredPart[],
  undeclaredEnd: boolean,
): Promise<Stored | null> {
  // An interrupted Complete has an unknown result. The next process has enough time for it.
  if (!attempt.mayFinish()) return null;
  const { key, contentType } = upload;
  const sorted = parts.toSorted((a, b) => a.number - b.number);
  const measured = { bytes: bytesOf(parts), crc32: crc32Of(sorted) };
  const how = await commit(attempt, key, measured, () => attempt.store.complete(upload, sorted, measured));
  // The object may come from another upload, so this upload may still be open.
  if (how === 'found') await attempt.store.abort(upload);
  attempt.setUpload(null);
  return { key, contentType, ...measured, undeclaredEnd };
}
