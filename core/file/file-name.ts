import type { FileHead } from '../../transfer/base/types.ts';

/** The kind of a file by its bytes. */
export type StoredKind = 'csv' | 'xlsx' | 'xls' | 'zip' | 'json';

const TYPES: Record<string, StoredKind> = {
  'text/csv': 'csv',
  'application/csv': 'csv',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': 'xlsx',
  'application/vnd.ms-excel': 'xls',
  'application/zip': 'zip',
  'application/x-zip-compressed': 'zip',
  'application/json': 'json',
};
/** The extension of a name. A name may have any ending (`leads.20.11.2026`), so only known extensions count. */
const NAMED = /filename\*?=[^;]*?(?:\.(csv|xlsx|xls|zip|json))?(\.gz)?"?\s*(?:;|$)/;

/**
 * The extension of a file: its bytes decide. If they do not, its name and its type do, or it is `bin`. The key must not
 * contain a name from the CRM.
 * @param kind `open`: the beginning of the file did not prove its kind
 */
export function extensionFor(
  { disposition, contentType, contentEncoding }: Pick<FileHead, 'disposition' | 'contentType' | 'contentEncoding'>,
  { format, gzipped, open }: { format: StoredKind | null; gzipped: boolean; open: boolean },
): string {
  const [, named, packed] = NAMED.exec(disposition.toLowerCase()) ?? [];
  const declared = named ?? TYPES[mediaType(contentType)] ?? 'bin';
  const isDeclaredGzip = packed !== undefined || /^(gzip|x-gzip)$/i.test(contentEncoding);
  if (format === null) return isDeclaredGzip ? `${declared}.gz` : declared;
  const extension = format === 'zip' && open && declared === 'xlsx' ? declared : format;
  return gzipped ? `${extension}.gz` : extension;
}

/** `text/csv; charset=utf-8` without its parameters, in lower case; '' if it is not a media type. */
export function mediaType(contentType: string): string {
  return /^[a-z]+\/[a-z0-9.+-]+/.exec(contentType.trim().toLowerCase())?.[0] ?? '';
}
