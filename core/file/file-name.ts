import type { FileHead } from '../../transfer/base/types.ts';

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

/** A name may have any ending (`leads.20.11.2026`), so only known extensions count. */
const KNOWN = new Set([...Object.values(EXTENSIONS), 'ndjson']);
/** The last extension in a name, and the one before it. */
const NAMED = /filename\*?=[^;]*?(?:\.([a-z0-9]{1,8}))?\.([a-z0-9]{1,8})"?\s*(?:;|$)/;

/** The kind of a file by its bytes. */
export type StoredKind = 'csv' | 'xlsx' | 'xls' | 'zip' | 'json';

/** Declared extensions that a file of a kind keeps. */
const SPELLINGS: Partial<Record<StoredKind, string[]>> = { json: ['json', 'jsonl', 'ndjson'] };
/** Declared extensions that a file keeps if only its beginning shows its kind. */
const OPEN_SPELLINGS: Partial<Record<StoredKind, string[]>> = { ...SPELLINGS, zip: ['zip', 'xlsx'] };

/**
 * The extension of a file: its bytes decide, and its name and type only choose between spellings.
 * @param kind `open`: the beginning of the file did not prove its kind
 */
export function extensionFor(
  file: Pick<FileHead, 'disposition' | 'contentType' | 'contentEncoding'>,
  kind: { format: StoredKind | null; gzipped: boolean; open: boolean },
): string {
  const { format, gzipped } = kind;
  const declared = extensionOf(file);
  if (format === null) return declared;
  const plain = declared.replace(/\.gz$/, '');
  const extension = (kind.open ? OPEN_SPELLINGS : SPELLINGS)[format]?.includes(plain) ? plain : format;
  return gzipped ? `${extension}.gz` : extension;
}

/** The extension in Content-Disposition or Content-Type, or `bin`. The key must not contain a name from the CRM. */
function extensionOf(file: Pick<FileHead, 'disposition' | 'contentType' | 'contentEncoding'>): string {
  const [, inner = '', last = ''] = NAMED.exec(file.disposition.toLowerCase()) ?? [];
  if (last === 'gz' && KNOWN.has(inner)) return `${inner}.gz`;
  const plain = KNOWN.has(last) ? last : (EXTENSIONS[mediaType(file.contentType)] ?? 'bin');
  return /^(gzip|x-gzip)$/i.test(file.contentEncoding) ? `${plain}.gz` : plain;
}

/** `text/csv; charset=utf-8` without its parameters, in lower case; '' if it is not a media type. */
export function mediaType(contentType: string): string {
  return /^[a-z]+\/[a-z0-9.+-]+/.exec(contentType.trim().toLowerCase())?.[0] ?? '';
}
