/** A number of bytes for a person; empty where there is none yet. */
export function bytesText(bytes: number | null): string {
  if (bytes === null) return '';
  if (bytes < 10_000) return `${bytes} B`;
  const units = ['kB', 'MB', 'GB', 'TB'];
  const power = Math.min(units.length, Math.floor(Math.log10(bytes) / 3));
  return `${(bytes / 1000 ** power).toFixed(1)} ${units[power - 1]}`;
}

/** How far a file is: `41.9 MB of 96.0 MB`, or only the first where the rest is not known, or nothing is missing. */
export function movedText({ bytes, totalBytes }: { bytes: number | null; totalBytes: number | null }): string {
  const whole = bytes === null || totalBytes === null || bytes >= totalBytes;
  return whole ? bytesText(bytes) : `${bytesText(bytes)} of ${bytesText(totalBytes)}`;
}
