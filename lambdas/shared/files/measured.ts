import { crc32 } from 'node:zlib';
import { RunError } from '../errors.ts';
import { extensionOf, mediaType } from './file-name.ts';
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

/**
 * Sign-in and error pages, empty ones too, come with status 200 from many services; stored, they would look like an
 * export. So would the JSON of an error where the name promises another format.
 */
function refuseWebPage(file: RemoteFile, first: Uint8Array): void {
  const type = mediaType(file.contentType);
  const begins = Buffer.from(first.subarray(0, 400))
    .toString('latin1')
    .replace(/^\xef\xbb\xbf/, '')
    .trimStart();
  const page =
    ['text/html', 'application/xhtml+xml'].includes(type) || /^<(!doctype html|html|error[\s>])/i.test(begins);
  const xmlError = /^<\?xml[^>]*>\s*<error[\s>]/i.test(begins);
  if (page || xmlError) {
    throw new RunError('FileRejected', `A web page (${type || 'no type'}) came where a data file was due.`);
  }
  const extension = extensionOf(file);
  if (type === 'application/json' && extension !== 'json') {
    throw new RunError(
      'FileRejected',
      `The file is declared as JSON where its name ends in .${extension}: an error, perhaps.`,
    );
  }
}

/** A CRC-32 as S3 writes it: base64 of its four bytes, big-endian. */
export function crc32Text(value: number): string {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes.toString('base64');
}
