import { LIMITS } from './base/limits.ts';
import { TransferError } from './base/transfer-errors.ts';
import type { Resume, Stored, TransferOptions } from './base/types.ts';
import { Store } from './store/store.ts';
import { Attempt, deadlineOf } from './strategies/attempt.ts';
import { fetchFile } from './strategies/fetch-file.ts';

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
    return await fetchFile(attempt);
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
  const late = new TransferError('store-unavailable', 'The bucket did not end the upload before time was up.');
  const { signal, clear } = deadlineOf(options.secondsLeft(), late);
  const store = new Store(options.store, { limits: { ...LIMITS, ...options.limits }, random: Math.random, signal });
  try {
    await store.abort(upload);
  } finally {
    store.close();
    clear();
  }
}
