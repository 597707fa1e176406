import { StartOver } from '../base/errors.ts';
import { bytesOf, partBytesFor, type StoredPart } from '../base/parts.ts';
import type { Resume, Stored, Unfinished } from '../base/types.ts';
import { NoSuchUpload } from '../store/errors.ts';
import type { Attempt } from './attempt.ts';
import { storeSmall, storeUnsized } from './buffered.ts';
import { commitParts } from './commit.ts';
import { type FirstResponse, requestFirst } from './first-response.ts';
import { fetchRanged } from './ranged.ts';
import { fetchSingle } from './single.ts';

/** One try at a file, with the strategy that the first response, or the upload to continue, calls for. */
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
    // Recorded before hours of work: if the process were killed now, nobody would know of the upload.
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
  // The store has nothing that the file could be compared with: it is judged like a new one.
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

/** A process that completed the upload may have died before it reported so; nothing else writes to the key of a transfer. */
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
