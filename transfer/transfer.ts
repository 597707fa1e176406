import { agentFor } from './base/http.ts';
import { LIMITS } from './base/limits.ts';
import { StartOver, TimeIsUp, TransferError } from './base/transfer-errors.ts';
import type { Resume, Stored, TransferOptions, Unfinished } from './base/types.ts';
import { Blocks } from './source/blocks.ts';
import { guardedLookup } from './source/guard.ts';
import { Link } from './source/open.ts';
import { Store } from './store/store.ts';
import { Attempt, type Work } from './strategies/attempt.ts';
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
 * A transfer ends in one of three ways, or starts over:
 *
 * ```text
 *  begun ──▶ moving ──▶ all parts stored ──▶ checked ──▶ Complete ──▶ Stored
 *    ▲         │ │                                          │
 *    │         │ └─ time is up ──────▶ Unfinished (resume)  └─ response lost: does it exist with our size and checksum?
 *    └─────────┤
 *  file changed, upload gone                 └─ TransferError (`reason`), the upload stays open: continue the one that
 *                                               the observer was given last, or abort it with `abortUpload`
 * ```
 *
 * Every wait has a limit (`base/limits.ts`), every failure a retry budget (`base/retry.ts`). No value import of `node:http`, no
 * `fetch`: they cost start time (docs/adr/0014).
 */

/** The number of restarts before the engine gives up a file that keeps changing. */
const RESTARTS = 5;
/** From this restart on, the file is read in one piece: servers behind one address may each have their own ETag. */
const RESTARTS_BY_RANGES = 3;
/** The time left that a new part needs; a quarter of a short invocation. */
const PART_SECONDS = 20;
/** The time left that an orderly end needs; an eighth of a short invocation. */
const END_SECONDS = 8;

/**
 * Moves a file from an address to a bucket.
 * @returns the stored object; or, shortly before `secondsLeft` is 0, the upload to continue
 * @throws TransferError, and the errors of `address`, `nameObject` and the observer; the upload then stays open
 */
export async function transfer(options: TransferOptions): Promise<Stored | Unfinished> {
  const deadline = deadlineOf(options);
  const lookup = guardedLookup(options.policy);
  // A connection ends with its body (`source/open.ts`).
  const ends = { lookup, keepAlive: false };
  const agents = { https: agentFor('https:', ends), http: agentFor('http:', ends) };
  const { policy, allowUndeclaredEnd } = options;
  const work: Work = {
    options,
    limits: { ...LIMITS, ...options.limits },
    random: options.random ?? Math.random,
    timeUp: deadline.signal,
    source: { link: new Link(options.address), policy, allowUndeclaredEnd, agents, blocks: new Blocks() },
    margin: Math.min(PART_SECONDS, deadline.left / 4),
  };
  try {
    return await fetchWithRestarts(work, options.resume ?? null);
  } finally {
    deadline.clear();
    agents.https.destroy();
    agents.http.destroy();
  }
}

async function fetchWithRestarts(work: Work, resume: Resume | null): Promise<Stored | Unfinished> {
  const { options, timeUp } = work;
  const aborted: Resume[] = [];
  let upload = resume;
  for (let restarts = 0; ; restarts += 1) {
    const attempt = new Attempt(work, upload, restarts < RESTARTS_BY_RANGES);
    try {
      const result = await fetchFile(attempt).catch((error) => prepareRestart(work, attempt, restarts, error));
      if (result) {
        // Parts in transit may have arrived after the abort. The bucket's lifecycle rule removes the rest.
        for (const one of aborted) await abort(options, one, timeUp).catch(() => undefined);
        return result;
      }
      if (attempt.upload) aborted.push(attempt.upload);
      attempt.setUpload(null);
      upload = null;
    } catch (error) {
      if (timeUp.aborted) return { done: false, resume: attempt.upload };
      throw error;
    } finally {
      attempt.stop(new TimeIsUp());
    }
  }
}

/** Aborts the upload of a file that has changed. @throws any other error */
async function prepareRestart(work: Work, { upload }: Attempt, restarts: number, error: unknown): Promise<undefined> {
  if (!(error instanceof StartOver) || work.timeUp.aborted) throw error;
  if (restarts === RESTARTS) throw new TransferError('incomplete', `${error.message} ${RESTARTS} times in a row.`);
  work.options.observer?.restarted?.();
  if (upload) await abort(work.options, upload, work.timeUp);
}

/**
 * Aborts an upload that will not continue: its parts cost money until then. Returns before `secondsLeft` is 0.
 * @throws TransferError `store-…`, also when time is up
 */
export async function abortUpload(
  options: Pick<TransferOptions, 'store' | 'limits' | 'secondsLeft'>,
  upload: Resume,
): Promise<void> {
  const { signal, clear } = deadlineOf(options);
  try {
    await abort(options, upload, signal);
  } catch (error) {
    if (!signal.aborted) throw error;
    throw new TransferError('store-unavailable', 'The bucket did not end the upload before time was up.');
  } finally {
    clear();
  }
}

/** Uses its own connections: those of the attempt may be closed. */
async function abort(
  options: Pick<TransferOptions, 'store' | 'limits'>,
  upload: Resume,
  signal: AbortSignal,
): Promise<void> {
  const store = new Store(options.store, { limits: { ...LIMITS, ...options.limits }, random: Math.random, signal });
  try {
    await store.abort(upload);
  } finally {
    store.close();
  }
}

/** The seconds left, and a signal that fires with `TimeIsUp` while the time still allows an orderly end. */
function deadlineOf({ secondsLeft }: Pick<TransferOptions, 'secondsLeft'>) {
  const left = secondsLeft();
  const controller = new AbortController();
  const endMs = Math.max(0, left - Math.min(END_SECONDS, left / 8)) * 1000;
  const timer = setTimeout(() => controller.abort(new TimeIsUp()), Math.min(endMs, 2 ** 31 - 1));
  return { left, signal: controller.signal, clear: () => clearTimeout(timer) };
}
