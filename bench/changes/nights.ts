import { FILES, type PublishedFile, type TableJob, writeFile } from '../tables/files.ts';

/** Of a thousand rows, on the second night: five are gone, five are new, ten have changed. */
const GONE = 5;
const CHANGED = 10;

const TYPED = FILES.find(({ id }) => id === 'typed') as PublishedFile;
const LEFT_OUT = ['notes', 'owner', 'campaign'].map((name) => TYPED.header.indexOf(name));
const without = <T>(values: T[]) => values.filter((_, place) => !LEFT_OUT.includes(place));

/** Rows of 190 bytes in 17 columns, eight of them with types: 1 GB has more than five million keys. */
const NIGHT: PublishedFile = {
  ...TYPED,
  header: without(TYPED.header),
  row: (place) => without(TYPED.row(place)),
};

export const COLUMNS: readonly string[] = NIGHT.header.map((name) => name.toLowerCase());

export function writeNight(path: string, size: number): TableJob {
  return writeFile(NIGHT, path, size);
}

/** A file of the night after: every row is there as before, but for those few, and all stand in another order. */
export function writeNextNight(path: string, size: number): TableJob {
  return writeFile({ ...NIGHT, row: nextRow }, path, size);
}

function nextRow(place: number): unknown[] {
  const swapped = place ^ 1;
  const fate = (swapped * 7919) % 1000;
  const [id, ...rest] = NIGHT.row(swapped);
  if (fate < GONE) return [1e9 + swapped, ...rest];
  return fate < GONE + CHANGED ? [id, ...rest.slice(0, -1), 'changed'] : [id, ...rest];
}
