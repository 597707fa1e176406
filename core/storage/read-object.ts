import { RunError } from '../errors.ts';
import type { ByteSource } from '../file/byte-source.ts';
import type { Bucket } from './bucket.ts';

/** After this many breaks, reading ends with an error, and the next invocation continues. */
const MOST_BREAKS = 5;
/** After this many bytes, the count of breaks starts again at zero. */
const FORGIVEN_BYTES = 8 * 1024 * 1024;

/**
 * The bytes of a stored object. All reads are of one version: the version with the given ETag, or the version that the
 * first read returns. If a connection breaks, the object is opened again at the next byte. A read to the end also
 * returns bytes after `size`.
 * @throws (its `read`) RunError `StorageConflict` if the object is gone or replaced; `StorageUnavailable` if it broke
 * too often; the errors of `onProgress`
 */
export function objectSource(
  bucket: Bucket,
  key: string,
  size: number,
  { etag, onProgress = () => undefined }: { etag?: string; onProgress?: () => void } = {},
): ByteSource {
  let version = etag;
  const open = async (from: number, to: number) => {
    // The client has already tried three times, which may take minutes. After an error, the next invocation tries
    // again.
    const opened = await bucket.stream(key, { from, etag: version, ...(to < size && { to }) });
    if (!opened) throw new RunError('StorageConflict', `The object at ${key}, which this run stored, is missing.`);
    version ??= opened.etag;
    return opened.chunks;
  };
  async function* read(from: number, to: number): AsyncGenerator<Uint8Array> {
    let at = from;
    const tooOften = breakCount(at);
    // S3 has no empty ranges, but an object may be empty.
    const isDue = () => at === 0 || at < to;
    while (isDue()) {
      const chunks = await open(at, to);
      try {
        for await (const chunk of chunks) {
          at += chunk.byteLength;
          onProgress();
          yield chunk;
        }
        return;
      } catch (error) {
        // After all bytes were read, it does not matter how the connection ended.
        if (!isUnavailable(error) || (isDue() && tooOften(at))) throw error;
      }
    }
  }
  return { size, read };
}

/** Counts the breaks between which little was read. */
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
