/** Whether the records of a published file can be read. Manifests of earlier releases do not name the format of a CSV file. */
export function isReadFormat(format: string | null): boolean {
  return format === null || format === 'csv' || format === 'xlsx';
}

/** What a manifest says of a file. */
interface KnownFile {
  bytes: number;
  format: string | null;
  header: string[] | null;
  rows: number | null;
}

/**
 * Tells whether a file holds nothing, be it packed or not. Manifests of earlier releases do not name the format of any
 * file.
 */
export function isEmptyFile({ bytes, format, header, rows }: KnownFile): boolean {
  return bytes === 0 || (format === null && header === null && rows === 0);
}
