import type { Changes } from '../../../core/columns/changes.ts';
import type { Manifest } from '../../../core/export/manifest.ts';
import { bytesText, manyText, plainLine } from '../../support/text.ts';
import type { Difference } from '../difference.ts';

type Rows = NonNullable<Difference['rows']>;

/** A difference for a person. @param showKeys also the keys themselves */
export function diffText({ before, after, columns, rows }: Difference, showKeys = false): string[] {
  return [
    `${after.entity}: ${sideText(before)} to ${sideText(after)}`,
    `  columns: ${columnsChanged(columns)}`,
    `  rows: ${rowsOf(before)} to ${rowsOf(after)}`,
    `  bytes: ${bytesText(before.file.bytes)} to ${bytesText(after.file.bytes)}`,
    ...(rows === null
      ? ['  keys: not compared: not both files have a column id; name another with --key']
      : rowsText(rows)),
    ...(rows !== null && showKeys ? keysText(rows) : []),
  ];
}

function sideText({ date, execution, state }: Manifest): string {
  return `${date} (${plainLine(execution)}${state === 'published' ? '' : `, ${state}`})`;
}

function rowsText({ key, added, removed, kept, changed, columns, compared }: Rows): string[] {
  const many = (count: number) => count.toLocaleString('en-US');
  const counts = compared?.flatMap((name, place) => (columns[place] ? [{ name, count: columns[place] }] : [])) ?? [];
  const most = counts.sort((one, other) => other.count - one.count).map(({ name, count }) => `${name} ${many(count)}`);
  const where =
    compared === null
      ? ' (too many cells to tell the columns)'
      : plainLine(most.length > 0 ? `: ${most.join(', ')}` : '');
  return [
    `  keys by ${plainLine(key)}: ${many(added.length)} added, ${many(removed.length)} removed, ${many(kept)} in both`,
    `  changed: ${manyText(changed.length, 'row')}${where}`,
  ];
}

function keysText({ added, removed, changed }: Rows): string[] {
  const lines = (mark: string, keys: string[]) => keys.map((key) => `${mark} ${plainLine(key)}`);
  return [...lines('+', added), ...lines('-', removed), ...lines('~', changed)];
}

function columnsChanged({ added, removed, retyped, relabelled }: Changes): string {
  const words = [
    ...added.map((name) => `${name} added`),
    ...removed.map((name) => `${name} removed`),
    ...retyped.map(({ name, from, to }) => `${name} ${from} to ${to}`),
    ...relabelled.map(({ name }) => `${name} relabelled`),
  ];
  return plainLine(words.join(', ')) || 'the same';
}

function rowsOf({ file }: Manifest): string {
  return file.rows === null ? 'not counted' : file.rows.toLocaleString('en-US');
}

/** Rows that were counted and not compared. */
export function keyWarnings({ before, after, rows }: Difference): string[] {
  if (rows === null) return [];
  const { repeated, empty } = rows;
  const key = plainLine(rows.key);
  return [
    { date: before.date, repeats: repeated.before, lacks: empty.before },
    { date: after.date, repeats: repeated.after, lacks: empty.after },
  ].flatMap(({ date, repeats, lacks }) => [
    ...(repeats > 0
      ? [`${manyText(repeats, 'row')} of ${date} repeat a ${key} of an earlier row: it does not identify a row there.`]
      : []),
    ...(lacks > 0 ? [`${manyText(lacks, 'row')} of ${date} have no ${key}: they are not compared.`] : []),
  ]);
}

/** The same as a document. */
export function diffDocument({ before, after, columns, rows }: Difference, showKeys = false) {
  const side = ({ date, execution, state, file }: Manifest) => ({
    ...{ date, run: execution, state, rows: file.rows, bytes: file.bytes },
  });
  return { entity: after.entity, from: side(before), to: side(after), columns, ...rowsDocument(rows, showKeys) };
}

function rowsDocument(rows: Rows | null, showKeys: boolean) {
  if (rows === null) return { keys: null, changed: null };
  const { key, added, removed, kept, repeated, empty, changed, columns, compared } = rows;
  const counted = compared?.flatMap((name, place) => (columns[place] ? [[name, columns[place]]] : [])) ?? null;
  return {
    keys: { column: key, added: added.length, removed: removed.length, kept, repeated, empty },
    changed: { rows: changed.length, columns: counted && Object.fromEntries(counted) },
    ...(showKeys && { addedKeys: added, removedKeys: removed, changedKeys: changed }),
  };
}
