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

/** A name may end in anything (`leads.20.11.2026`): only known extensions count. */
const KNOWN = new Set([...Object.values(EXTENSIONS), 'ndjson']);
/** The last extension of a name, and the one before it. */
const NAMED = /filename\*?=[^;]*?(?:\.([a-z0-9]{1,8}))?\.([a-z0-9]{1,8})"?\s*(?:;|$)/;

/** What a file seems to be. */
export type StoredKind = 'csv' | 'xlsx' | 'xls' | 'zip' | 'json';

/** Extensions that a file of such a kind may keep. */
const SPELLINGS: Partial<Record<StoredKind, string[]>> = { json: ['json', 'jsonl', 'ndjson'] };
/** Extensions that such a file may keep where not enough of it was seen. */
const OPEN_SPELLINGS: Partial<Record<StoredKind, string[]>> = { ...SPELLINGS, zip: ['zip', 'xlsx'] };

/**
 * The extension that the bytes call for; name and type decide what these leave open.
 * @param kind `open`: not enough was seen to be sure
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

/** The extension in Content-Disposition, else that of Content-Type, else `bin`. No name of the CRM gets into a key. */
function extensionOf(file: Pick<FileHead, 'disposition' | 'contentType' | 'contentEncoding'>): string {
  const [, inner = '', last = ''] = NAMED.exec(file.disposition.toLowerCase()) ?? [];
  if (last === 'gz' && KNOWN.has(inner)) return `${inner}.gz`;
  const plain = KNOWN.has(last) ? last : (EXTENSIONS[mediaType(file.contentType)] ?? 'bin');
  return /^(gzip|x-gzip)$/i.test(file.contentEncoding) ? `${plain}.gz` : plain;
}

/** `text/csv; charset=utf-8` without its parameters, in lower case; empty when it is none. */
export function mediaType(contentType: string): string {
  return /^[a-z]+\/[a-z0-9.+-]+/.exec(contentType.trim().toLowerCase())?.[0] ?? '';
}
