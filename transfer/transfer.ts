import { INSPECTED_BYTES, LIMITS, type Limits } from './base/limits.ts';
import { withRetries } from './base/retry.ts';
import { RetryableError, TransferError } from './base/transfer-errors.ts';
import type { NamedObject, Resume, Stored, StoredPart, TransferOptions } from './base/types.ts';
import { type Opened, openSource } from './source/open.ts';
import { Store } from './store/store.ts';
import { Attempt, deadlineOf } from './strategies/attempt.ts';
import { storeInOnePiece, tooLarge } from './strategies/one-piece.ts';
import { storeRanges } from './strategies/ranged.ts';

/**
 * Moves a file of any size from an address on the web to a bucket of Amazon S3, in little memory, and never stores a file that
 * is incomplete (docs/design/transfer-engine.md). The first response of the origin is the first piece of the file, and decides
 * the strategy:
 *
 * ```text
 *                        ┌ up to 16 MiB, length known ──── small ──── one PutObject
 *  GET bytes=0-16 MiB ───┼ ranges and a strong ETag ────── ranged ─┐
 *  (no HEAD)             └ anything else ───────────────── single ─┴─ parts, then one Complete
 *
 *  ranged   GET ══part══part══part══▶      n long GETs, If-Match; an idle connection takes half of the longest remaining
 *           GET ══part══part══part══▶      segment; each byte is checksummed (CRC-32) and sent on at once
 *  single   GET ──[part]──[part]──▶ …      each part is sent from memory; after a break the file is read from its start:
 *                                          known bytes are skipped and must have the same checksum
 * ```
 *
 * A call ends in one of three ways. The caller continues the upload that the observer was given last, or aborts it:
 *
 * ```text
 *  begun ──▶ moving ──▶ all parts stored ──▶ checked ──▶ Complete ──▶ Stored
 *              │                                            │
 *              ├─ time is up ──────▶ null: call again       └─ response lost: does it exist with our size and checksum?
 *              └─ TransferError: `changed` if the file has changed or the upload is gone, so that it must begin again
 * ```
 *
 * Every wait has a limit (`base/limits.ts`), every failure a retry budget (`base/retry.ts`). No value import of `node:http`, no
 * `fetch`: they cost start time (docs/adr/0014).
 */

/**
 * Moves a file from an address to a bucket.
 * @returns the stored object; or, shortly before `secondsLeft` is 0, `null`: call again with the open upload
 * @throws TransferError, and the errors of `address`, `nameObject` and the observer; the upload then stays open
 */
export async function transfer(options: TransferOptions): Promise<Stored | null> {
  const attempt = new Attempt(options);
  try {
    return await (options.resume ? resumeFile(attempt, options.resume) : beginFile(attempt));
  } catch (error) {
    if (attempt.timeIsUp) return null;
    throw error;
  } finally {
    attempt.close();
  }
}

/**
 * Aborts an upload that will not continue: its parts cost money until then. Returns before `secondsLeft` is 0. A part
 * in transit may arrive afterwards; the bucket's lifecycle rule removes it.
 * @throws TransferError `store-…`, also when time is up
 */
export async function abortUpload(
  options: Pick<TransferOptions, 'store' | 'limits' | 'secondsLeft'>,
  upload: Resume,
): Promise<void> {
  const late = new TransferError('store-unavailable', 'The bucket did not complete the upload in time.');
  const { signal, clear } = deadlineOf(options.secondsLeft(), late);
  const store = new Store(options.store, { limits: { ...LIMITS, ...options.limits }, random: Math.random, signal });
  try {
    await store.abort(upload);
  } finally {
    store.close();
    clear();
  }
}

async function beginFile(attempt: Attempt): Promise<Stored | null> {
  const first = await requestFirst(attempt);
  try {
    const { object, etag } = first;
    const { limits } = attempt.context;
    const size = first.head.length;
    const byRanges = !attempt.options.inOnePiece && etag !== null && size !== null && size > limits.bufferBytes;
    const large = size !== null && size >= limits.recordFromBytes;
    if (!byRanges && !large) return await storeInOnePiece(attempt, { object, size }, null, [], first);
    const partBytes = byRanges ? partBytesFor(size, attempt.options.connections, limits) : limits.bufferBytes;
    const upload = await attempt.createUpload({ ...object, etag: byRanges ? etag : null, size, partBytes });
    // Returns, so that the caller records the upload before hours of work. Otherwise a killed process would leave an
    // upload that no later process can abort.
    if (large || !byRanges) return null;
    return await storeRanges(attempt, { ...upload, etag, size }, [], first);
  } finally {
    first.body.close();
  }
}

/** Two parts for every connection keep all connections busy to the end. More parts cost more requests. */
const PARTS_PER_CONNECTION = 2;

/** The part size for a file of known size. With 64 MiB at most, the 10,000 parts of S3 hold 625 GiB. */
export function partBytesFor(size: number, connections: number, limits: Limits): number {
  const wanted = Math.ceil(size / (PARTS_PER_CONNECTION * connections));
  return Math.min(Math.max(wanted, limits.smallestPartBytes), limits.largestPartBytes);
}

async function resumeFile(attempt: Attempt, upload: Resume): Promise<Stored | null> {
  let before: StoredPart[];
  try {
    before = await attempt.store.parts(upload);
  } catch (error) {
    const isGone = error instanceof TransferError && error.reason === 'changed';
    const stored = isGone ? await completedBefore(attempt, upload) : undefined;
    if (stored) return stored;
    throw error;
  }
  const { etag, size } = upload;
  if (etag !== null && size !== null) return storeRanges(attempt, { ...upload, etag, size }, before);
  return storeInOnePiece(attempt, { object: upload, size }, upload, before);
}

/** Finds the object of a process that died after Complete. Only one transfer writes to its key. */
async function completedBefore({ store, options }: Attempt, upload: Resume): Promise<Stored | undefined> {
  const { key, contentType, size } = upload;
  const found = await store.measure(key);
  if (!found || (size !== null && found.bytes !== size)) return undefined;
  const undeclaredEnd = size === null && options.allowUndeclaredEnd;
  return { key, contentType, ...found, undeclaredEnd };
}

/**
 * Requests the first bytes, which name the object and start the file. If they are not the file but, for example, a sign-in
 * page, it retries with a fresh link.
 * @throws TransferError
 */
function requestFirst({ context, source, options }: Attempt): Promise<Opened & { object: NamedObject }> {
  return withRetries(context, async () => {
    const opened = await openSource(source, { from: 0, to: context.limits.bufferBytes }, null);
    const { body } = opened;
    try {
      if ((opened.head.length ?? 0) > options.maxBytes) throw tooLarge(options.maxBytes);
      const first = await body.upTo(INSPECTED_BYTES);
      if (first.length > 0) body.unread(first);
      const object = options.nameObject(opened.head, first);
      if (!('refuse' in object)) return { ...opened, object };
      source.link.expire(await source.link.current(source.signal));
      throw new RetryableError('refused', object.refuse);
    } catch (error) {
      body.close();
      throw error;
    }
  });
}
