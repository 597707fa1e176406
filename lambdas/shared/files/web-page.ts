import { extensionOf, mediaType } from './file-name.ts';
import type { FileHead } from './transfer/index.ts';

const PAGE_TYPES = ['text/html', 'application/xhtml+xml'];
/** Files that may be XML and no error: of these names, of a type that says so, or of none that says anything. */
const MAY_BE_XML = ['xml', 'xls', 'txt', 'bin'];
const JSON_FILES = ['json', 'jsonl', 'ndjson'];

const DOCTYPE = /^<!doctype\s+html(?=[\s>/]|$)/i;
/** As a word in angle brackets without attributes, and a separator behind it, it is the header of a CSV file. */
const ELEMENT = /^<(html|head|body|script|error)(?=[\s>/]|$)(?![^>=]*> *(?:[,;|]|\t[^<\r\n]*(?:[\r\n]|$)))/i;
/** What comes before the first element of a document; each piece ends, or what was looked at ends within it. */
const PROLOGUE = /^(?:\s+|<\?xml.*?(?:\?>|$)|<!--.*?(?:-->|$)|<!doctype(?!\s+html).*?(?:>|$))+/is;

/**
 * Why this is no data file, in a sentence; `undefined` when it looks like one. Sign-in and error pages, empty ones too, come
 * with status 200 from many services; stored, they would look like an export. So would the error documents of stores, and
 * the JSON of an error where the name promises another format. The interface names no format of a file, so one of XML may
 * be due, where it is declared; of any other kind, no file begins with the prologue of a document.
 * @param first the first bytes, 1 KB or all of a shorter file.
 */
export function webPage(head: FileHead, first: Uint8Array): string | undefined {
  const type = mediaType(head.contentType);
  const extension = extensionOf(head);
  const kind = extension.replace(/\.gz$/, '');
  const text = Buffer.from(first)
    .toString('latin1')
    .replace(/^\s*(\xef\xbb\xbf)?\s*/, '');
  const begins = text.replace(PROLOGUE, '');
  const document = begins.length < text.length && !MAY_BE_XML.includes(kind);
  if (PAGE_TYPES.includes(type) || DOCTYPE.test(begins) || ELEMENT.test(begins) || document) {
    return `A web page (${type || 'no type'}) came where a data file was due.`;
  }
  if (type === 'application/json' && !JSON_FILES.includes(kind)) {
    return `The file is declared as JSON where its name ends in .${extension}: an error, perhaps.`;
  }
  return undefined;
}
