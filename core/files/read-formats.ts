import type { Manifest } from '../export/manifest.ts';

/** Whether the records of a published file can be read. Manifests of earlier releases do not name the format of a CSV file. */
export function isReadFormat(format: string | null): boolean {
  return format === null || format === 'csv' || format === 'xlsx';
}

/** Nothing is in it, be it packed or not. Manifests of earlier releases do not name the format of any file. */
export function isEmptyFile({
  bytes,
  format,
  header,
  rows,
}: Pick<Manifest['file'], 'bytes' | 'format' | 'header' | 'rows'>): boolean {
  return bytes === 0 || (format === null && header === null && rows === 0);
}
