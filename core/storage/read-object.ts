import { RunError } from '../errors.ts';
import type { Bucket } from './bucket.ts';

/** After this many breaks, reading ends with an error, and the next invocation continues. */
const MOST_BREAKS = 5;
/** After this progress, breaks are counted from zero. */
const FORGIVEN_BYTES = 8 * 1024 * 1024;

interface Part {
  from: number;
  /** Size of the part, or of the object if `to` is missing. */
  size: number;
  to?: number;
  /** The ETag that the object must have. It is set when the object is first opened. */
  object: { etag: string | null };
}

/**
 * The bytes of a stored object. If a connection breaks, the object is opened again at the next byte.
 * @throws RunError `StorageConflict` if the object is gone or replaced; `StorageUnavailable` if it broke too often.
 */
export async function* readObject(bucket: Bucket, key: string, part: Part): AsyncGenerator<Uint8Array> {
  let at = part.from;
  const tooOften = breakCount(at);
  for (;;) {
    // The client has tried three times, which may take minutes: after an error the next invocation tries again.
    const chunks = await open(bucket, key, at, part);
    try {
      for await (const chunk of chunks) {
        at += chunk.byteLength;
        yield chunk;
      }
      return;
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      // All bytes were read; how the connection ended does not matter.
      if (isRead(part, at)) return;
      if (tooOften(at)) throw error;
    }
  }
}

async function open(bucket: Bucket, key: string, from: number, { to, object }: Part) {
  const part = { from, ...(to !== undefined && { to }), ...(object.etag !== null && { etag: object.etag }) };
  const opened = await bucket.stream(key, part);
  if (!opened) throw new RunError('StorageConflict', `The object at ${key}, which this run stored, is missing.`);
  object.etag ??= opened.etag;
  return opened.chunks;
}

function isRead({ from, to, size }: Part, at: number): boolean {
  return at > from && at >= (to ?? size);
}

/** Counts breaks with little progress in between. */
function breakCount(from: number): (at: number) => boolean {
  let breaks = 0;
  let last = from;
  return (at) => {
    breaks = at - last >= FORGIVEN_BYTES ? 1 : breaks + 1;
    last = at;
    return breaks > MOST_BREAKS;
  };
}

export function isUnavailable(error: unknown): error is RunError {
  return error instanceof RunError && error.name === 'StorageUnavailable';
}
