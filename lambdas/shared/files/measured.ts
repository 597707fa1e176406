import { crc32 } from 'node:zlib';
import { RunError } from '../errors.ts';
import { mediaType } from './file-name.ts';
import type { RemoteFile } from './open-file.ts';

/** What has passed so far; whole only after the stream has ended without an error. */
export interface Measure {
  bytes: number;
  crc32: number;
}

/**
 * Passes the bytes of a file on and measures them.
 * @throws RunError `DownloadIncomplete` when fewer or more bytes come than were declared or the connection breaks,
 *   `FileRejected` when a web page comes where a data file is due.
 */
export async function* measured(file: RemoteFile, measure: Measure): AsyncGenerator<Uint8Array> {
  refuseWebPage(file, new Uint8Array());
  try {
    for await (const chunk of file.body) {
      if (measure.bytes === 0) refuseWebPage(file, chunk);
      measure.crc32 = crc32(chunk, measure.crc32);
      measure.bytes += chunk.byteLength;
      yield chunk;
    }
  } catch (error) {
    if (error instanceof RunError) throw error;
    const code = error instanceof Error ? ('code' in error ? String(error.code) : error.name) : 'unknown';
    throw new RunError(
      'DownloadIncomplete',
      `The file broke off after ${measure.bytes} of ${file.length ?? 'unknown'} bytes (${code}).`,
      {
        cause: error,
      },
    );
  }
  if (file.length !== null && measure.bytes !== file.length) {
    throw new RunError('DownloadIncomplete', `The file ended after ${measure.bytes} of ${file.length} bytes.`);
  }
}

/** Sign-in and error pages, empty ones too, come with status 200 from many services; stored, they would look like an export. */
function refuseWebPage(file: RemoteFile, first: Uint8Array): void {
  const type = mediaType(file.contentType);
  const begins = Buffer.from(first.subarray(0, 200)).toString('latin1').trimStart().toLowerCase();
  const page =
    ['text/html', 'application/xhtml+xml', 'application/xml', 'text/xml'].includes(type) ||
    /^<(!doctype html|html)/.test(begins);
  if (page) throw new RunError('FileRejected', `A web page (${type || 'no type'}) came where a data file was due.`);
}

/** A CRC-32 as S3 writes it: base64 of its four bytes, big-endian. */
export function crc32Text(value: number): string {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes.toString('base64');
}
