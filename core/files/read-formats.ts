/** Whether the records of a published file can be read: an empty one has no format, and no records. */
export function isReadFormat(format: string | null): boolean {
  return format === null || format === 'csv' || format === 'xlsx';
}

/** Tells whether nothing is in a published file, be it packed or not. */
export function isEmptyFile({ format }: { format: string | null }): boolean {
  return format === null;
}
