import { RunError } from '../../core/errors.ts';
import type { Bucket } from '../../core/storage/bucket.ts';

/** An object is opened again so often in a row where reading it breaks off; then the next invocation goes on. */
const REOPENED = 5;
/** Whoever has read on by so much since the last break begins to count anew. */
const FORGIVEN_BYTES = 8 * 1024 * 1024;

interface Part {
  from: number;
  /** Up to this byte, not included; behind the end of the object too, unless `to` is given. */
  size: number;
  to?: number;
  /** What the object must be; put down when it is opened. */
  object: { etag: string | null };
}

/**
 * The bytes of a stored object. Where a connection to the bucket breaks, the object is opened again at the byte.
 * @throws RunError `StorageConflict` when the object is gone or another; `StorageUnavailable` when it broke too often.
 */
export async function* readObject(bucket: Bucket, key: string, part: Part): AsyncGenerator<Uint8Array> {
  let at = part.from;
  const tooOften = breakCount(at);
  for (;;) {
    try {
      for await (const chunk of await open(bucket, key, at, part)) {
        at += chunk.byteLength;
        yield chunk;
      }
      return;
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      // All bytes were there; that the connection did not end in good order takes none of them away.
      if (isRead(part, at)) return;
      if (tooOften(at)) throw error;
    }
  }
}

function isRead({ from, to, size }: Part, at: number): boolean {
  return at > from && at >= (to ?? size);
}

async function open(bucket: Bucket, key: string, from: number, { to, object }: Part) {
  const part = { from, ...(to !== undefined && { to }), ...(object.etag !== null && { etag: object.etag }) };
  const opened = await bucket.stream(key, part);
  if (!opened) throw new RunError('StorageConflict', `The object at ${key}, which this run stored, is gone.`);
  object.etag ??= opened.etag;
  return opened.chunks;
}

/** Counts breaks that follow one another within a few bytes. */
function breakCount(from: number): (at: number) => boolean {
  let [breaks, last] = [0, from];
  return (at) => {
    breaks = at - last >= FORGIVEN_BYTES ? 1 : breaks + 1;
    last = at;
    return breaks > REOPENED;
  };
}

export function isUnavailable(error: unknown): error is RunError {
  return error instanceof RunError && error.name === 'StorageUnavailable';
}
