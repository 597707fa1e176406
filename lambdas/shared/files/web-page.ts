import { extensionOf, mediaType } from './file-name.ts';
import type { FileHead } from './transfer/index.ts';

/**
 * Why this is no data file, in a sentence; `undefined` when it looks like one. Sign-in and error pages, empty ones too, come
 * with status 200 from many services; stored, they would look like an export. So would the JSON of an error where the name
 * promises another format.
 * @param first the first bytes.
 */
export function webPage(head: FileHead, first: Uint8Array): string | undefined {
  const type = mediaType(head.contentType);
  const begins = Buffer.from(first.subarray(0, 400))
    .toString('latin1')
    .replace(/^\xef\xbb\xbf/, '')
    .trimStart();
  const page =
    ['text/html', 'application/xhtml+xml'].includes(type) || /^<(!doctype html|html|error[\s>])/i.test(begins);
  const xmlError = /^<\?xml[^>]*>\s*<error[\s>]/i.test(begins);
  if (page || xmlError) return `A web page (${type || 'no type'}) came where a data file was due.`;
  const extension = extensionOf(head);
  if (type === 'application/json' && extension !== 'json') {
    return `The file is declared as JSON where its name ends in .${extension}: an error, perhaps.`;
  }
  return undefined;
}
