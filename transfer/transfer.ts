import { crc32 } from 'node:zlib';
import { abort } from './abort-upload.ts';
import { agentFor } from './base/http.ts';
import { LIMITS } from './base/limits.ts';
import { partBytesFor } from './base/plan.ts';
import { StartOver, TimeIsUp } from './base/retry.ts';
import { timeOf } from './base/time.ts';
import { TransferError } from './base/transfer-error.ts';
import type { NamedObject, Resume, Stored, TransferOptions, Unfinished } from './base/types.ts';
import { commitParts, commitSmall } from './commit.ts';
import { type FirstAnswer, probeFile } from './probe.ts';
import { guardedLookup } from './source/guard.ts';
import { Link } from './source/link.ts';
import { WholeReader } from './source/reader.ts';
import { NoSuchUpload } from './store/failures.ts';
import type { StoredPart } from './store/part-upload.ts';
import { Attempt, type Work } from './strategies/attempt.ts';
import { fetchRanged, type RangedUpload } from './strategies/ranged.ts';
import { fetchGrowing, fetchSingle, fill } from './strategies/single.ts';

/** A file that changes more often than this while it is fetched is given up. */
const RESTARTS = 5;
/** What must be left of an invocation for a part to be begun; of a short one, a share. */
const PART_SECONDS = 20;

/**
 * Moves a file from an address to a bucket (see `index.ts`).
 *
 * @returns the stored object; or, shortly before `secondsLeft` is 0, the upload to go on with.
 * @throws TransferError, and what `address`, `nameObject` or the observer throw. The upload stays open then: go on with the
 *   one that the observer was told last, or `abortUpload` it.
 */
export async function transfer(options: TransferOptions): Promise<Stored | Unfinished> {
  const time = timeOf(options);
  const lookup = guardedLookup(options.policy);
  const agents = { https: agentFor('https:', { lookup }), http: agentFor('http:', { lookup }) };
  const work: Work = {
    options,
    limits: { ...LIMITS, ...options.limits },
    random: options.random ?? Math.random,
    timeUp: time.up,
    source: {
      link: new Link(options.address),
      policy: options.policy,
      allowUndeclaredEnd: options.allowUndeclaredEnd,
      agents,
    },
    margin: Math.min(PART_SECONDS, time.left / 4),
  };
  try {
    return await attempts(work, options.resume ?? null);
  } finally {
    time.stop();
    agents.https.destroy();
    agents.http.destroy();
  }
}

async function attempts(work: Work, resume: Resume | null): Promise<Stored | Unfinished> {
  let upload = resume;
  const givenUp: Resume[] = [];
  for (let restarts = 0; ; restarts += 1) {
    const attempt = new Attempt(work, upload);
    try {
      const result = await onceOrOver(work, attempt, restarts);
      if (result) {
        await abortAgain(work, givenUp);
        return result;
      }
      if (attempt.upload) givenUp.push(attempt.upload);
      attempt.setUpload(null);
      upload = null;
    } catch (error) {
      if (work.timeUp.aborted) return { done: false, resume: attempt.upload };
      throw error;
    } finally {
      attempt.stop(new TimeIsUp());
    }
  }
}

/** A part that was on its way when its upload was ended may have come after that. What stays, the bucket's own rule removes. */
async function abortAgain({ options, timeUp }: Work, uploads: readonly Resume[]): Promise<void> {
  for (const upload of uploads) await abort(options, upload, timeUp).catch(() => undefined);
}

/** One try; `undefined` when what was stored belongs to another file, or is gone, and was given up. */
async function onceOrOver(work: Work, attempt: Attempt, restarts: number): Promise<Stored | Unfinished | undefined> {
  try {
    return await once(attempt, attempt.upload);
  } catch (error) {
    if (!(error instanceof StartOver) || work.timeUp.aborted) throw error;
    if (restarts === RESTARTS) throw new TransferError('incomplete', `${error.message} ${RESTARTS} times in a row.`);
    work.options.observer?.restarted?.();
    if (attempt.upload) await abort(work.options, attempt.upload, work.timeUp);
    return undefined;
  }
}

/** One try, in the strategy that the first answer, or the upload that is gone on with, asks for. */
async function once(attempt: Attempt, upload: Resume | null): Promise<Stored | Unfinished> {
  if (upload) return resumed(attempt, upload);
  const probe = await probeFile(attempt);
  try {
    const { length } = probe.opened.head;
    if (length !== null && length <= attempt.context.limits.smallBytes) return await storeSmall(attempt, probe, length);
    if (length === null) return await storeGrowing(attempt, null, [], probe);
    const { connections } = attempt.options;
    const { limits } = attempt.context;
    const ranged = probe.opened.ranged && probe.opened.etag !== null;
    const opened = await begin(attempt, {
      ...probe.object,
      etag: ranged ? probe.opened.etag : null,
      size: length,
      partBytes: partBytesFor(length, connections.most, limits),
    });
    // Were the process killed now, nobody would know of the upload: it is recorded before hours of work go into it.
    if (length >= limits.recordFromBytes) return { done: false, resume: opened };
    return await goOn(attempt, opened, [], probe);
  } finally {
    probe.body.close();
  }
}

async function resumed(attempt: Attempt, upload: Resume): Promise<Stored | Unfinished> {
  let before: StoredPart[];
  try {
    before = await attempt.store.parts(upload);
  } catch (error) {
    const stored = error instanceof NoSuchUpload ? await completedBefore(attempt, upload) : undefined;
    if (stored) return stored;
    throw error;
  }
  // No size tells it from another answer, and no part from another file: it is judged like a new one.
  if (upload.size === null && !before.some(({ number }) => number === 1)) return growAnew(attempt, upload);
  return goOn(attempt, upload, before, undefined);
}

/** Goes on with an upload of unknown size of whose file nothing is stored yet. */
async function growAnew(attempt: Attempt, upload: Resume): Promise<Stored | Unfinished> {
  const probe = await probeFile(attempt);
  try {
    const { opened, object } = probe;
    if (opened.head.length !== null || object.key !== upload.key)
      throw new StartOver('The file at the origin is another than before.');
    return await storeGrowing(attempt, upload, [], probe);
  } finally {
    probe.body.close();
  }
}

/** A process that completed the upload may have died before it said so; nobody else writes at the key of a transfer. */
async function completedBefore({ store, options }: Attempt, upload: Resume): Promise<Stored | undefined> {
  const { key, contentType, size, etag } = upload;
  const standing = await store.measure(key);
  if (!standing || (size !== null && standing.bytes !== size)) return undefined;
  const strategy = etag === null ? 'single' : 'ranged';
  return {
    done: true,
    key,
    contentType,
    ...standing,
    strategy,
    undeclaredEnd: size === null && options.allowUndeclaredEnd,
  };
}

async function begin(attempt: Attempt, upload: Omit<Resume, 'uploadId'>): Promise<Resume> {
  const uploadId = await attempt.store.create(upload.key, upload.contentType);
  const opened = { ...upload, uploadId };
  attempt.setUpload(opened);
  return opened;
}

async function goOn(
  attempt: Attempt,
  upload: Resume,
  before: StoredPart[],
  probe: FirstAnswer | undefined,
): Promise<Stored | Unfinished> {
  const { size, etag } = upload;
  if (size === null) return storeGrowing(attempt, upload, before, probe);
  const stored =
    etag === null
      ? await fetchSingle(attempt, { ...upload, size }, before, probe)
      : await fetchRanged(attempt, { ...upload, size, etag } satisfies RangedUpload, before, probe);
  const bytes = stored.reduce((sum, part) => sum + part.bytes, 0);
  if (bytes < size) return { done: false, resume: upload };
  return finish(attempt, upload, stored, { strategy: etag === null ? 'single' : 'ranged', undeclaredEnd: false });
}

async function storeGrowing(
  attempt: Attempt,
  upload: Resume | null,
  before: StoredPart[],
  probe: FirstAnswer | undefined,
): Promise<Stored | Unfinished> {
  const { bufferedPartBytes: partBytes } = attempt.context.limits;
  const object = probe?.object ?? { key: upload?.key ?? '', contentType: upload?.contentType ?? '' };
  const open = () => begin(attempt, { ...object, etag: null, size: null, partBytes });
  const { stored, whole, small, undeclaredEnd } = await fetchGrowing(attempt, open, { upload, parts: before }, probe);
  if (small) return putSmall(attempt, object, small, { strategy: 'single', undeclaredEnd });
  if (!whole || !attempt.upload) return { done: false, resume: attempt.upload };
  return finish(attempt, attempt.upload, stored, { strategy: 'single', undeclaredEnd });
}

type How = Pick<Stored, 'strategy' | 'undeclaredEnd'>;

async function finish(attempt: Attempt, upload: Resume, stored: StoredPart[], how: How): Promise<Stored | Unfinished> {
  // Cut off in the middle of Complete, nobody would know whether it is done; the next process has the time.
  if (!attempt.mayFinish()) return { done: false, resume: upload };
  const measured = await commitParts(attempt.store, attempt.context, upload, stored);
  attempt.setUpload(null);
  return { done: true, key: upload.key, contentType: upload.contentType, ...measured, ...how };
}

async function storeSmall(attempt: Attempt, probe: FirstAnswer, length: number): Promise<Stored> {
  const buffer = Buffer.allocUnsafe(length);
  let measured = 0;
  const reader = new WholeReader(attempt.source, length, () => measured, { offset: 0, probe });
  const filled = await fill(reader, buffer, (chunk) => {
    measured = crc32(chunk, measured);
  });
  if (filled !== length) throw new TransferError('incomplete', `The file ended after ${filled} of ${length} bytes.`);
  await reader.finish();
  return putSmall(attempt, probe.object, buffer, { strategy: 'small', undeclaredEnd: false });
}

async function putSmall(attempt: Attempt, object: NamedObject, body: Buffer, how: How): Promise<Stored> {
  const checksum = crc32(body);
  await commitSmall(attempt.store, attempt.context, object, body, checksum);
  attempt.stored(body.length, body.length);
  return { done: true, ...object, bytes: body.length, crc32: checksum, ...how };
}
