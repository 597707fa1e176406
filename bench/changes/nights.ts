import { type PublishedFile, type TableJob, writeFile } from '../tables/files.ts';

/** Of a thousand rows, on the second night: two are gone, two are new, ten have changed. */
const GONE = 2;
const CHANGED = 10;

/** A file of the night after: every row is there as before, but for those few, and all stand in another order. */
export function writeNextNight(file: PublishedFile, path: string, size: number): TableJob {
  return writeFile({ ...file, row: (place) => nextRow(file, place) }, path, size);
}

function nextRow({ row }: PublishedFile, place: number): unknown[] {
  const swapped = place ^ 1;
  const fate = (swapped * 7919) % 1000;
  const [id, ...rest] = row(swapped);
  if (fate < GONE) return [1e9 + swapped, ...rest];
  return fate < GONE + CHANGED ? [id, ...rest.slice(0, -1), 'changed'] : [id, ...rest];
}
