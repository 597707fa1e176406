import type { FileHead } from './transfer/index.ts';

const EXTENSIONS: Record<string, string> = {
  'text/csv': 'csv',
  'application/csv': 'csv',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': 'xlsx',
  'application/vnd.ms-excel': 'xls',
  'application/zip': 'zip',
  'application/x-zip-compressed': 'zip',
  'application/gzip': 'gz',
  'application/json': 'json',
  'application/x-ndjson': 'jsonl',
  'text/tab-separated-values': 'tsv',
  'text/plain': 'txt',
  'application/xml': 'xml',
  'text/xml': 'xml',
};

/** A name may end in anything, `leads.20.11.2026` for one: an extension is what is known as one. */
const KNOWN = new Set([...Object.values(EXTENSIONS), 'ndjson']);
/** The last extension of a name, and the one before it. */
const NAMED = /filename\*?=[^;]*?(?:\.([a-z0-9]{1,8}))?\.([a-z0-9]{1,8})"?\s*(?:;|$)/;

/**
 * The extension for a stored file: from Content-Disposition, else from Content-Type, else `bin`. Only the extension is
 * taken, and only letters and digits: no name that the service chose gets into a key. A compressed file, also one that came
 * so without being asked for and is stored as it came, says what is in it: `csv.gz`.
 */
export function extensionOf(file: Pick<FileHead, 'disposition' | 'contentType' | 'contentEncoding'>): string {
  const [, inner = '', last = ''] = NAMED.exec(file.disposition.toLowerCase()) ?? [];
  if (last === 'gz' && KNOWN.has(inner)) return `${inner}.gz`;
  const plain = KNOWN.has(last) ? last : (EXTENSIONS[mediaType(file.contentType)] ?? 'bin');
  return /^(gzip|x-gzip)$/i.test(file.contentEncoding) ? `${plain}.gz` : plain;
}

/** `text/csv; charset=utf-8` without its parameters, in lower case; empty when it is none. */
export function mediaType(contentType: string): string {
  return /^[a-z]+\/[a-z0-9.+-]+/.exec(contentType.trim().toLowerCase())?.[0] ?? '';
}
