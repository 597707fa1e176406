import { cased, folded, INVISIBLE, meansOrContains } from '../folded.ts';
import { entriesIn } from '../json.ts';
import type { Run } from '../step/states.ts';
import { fieldsOf, type ListedField } from './column-changes.ts';

/** Finds the columns that the entries of `columns.except`, `tables.except` and `tables.hash` name. */

/** A left-out column: the entry of `columns.except` that names it, and the CRM's field. */
export type LeftOut = Run['excepted'][number];
export type Named = Pick<ListedField, 'name' | 'label'>;

/**
 * The fields that each entry names: the field with exactly that name; if it does not exist, every field whose name or
 * label matches in another spelling.
 */
export function fieldsNamedBy(entries: readonly string[], fields: readonly Named[]): LeftOut[] {
  return entries.flatMap((entry) => fieldsCalled(entry, fields).map(({ name, label }) => ({ entry, name, label })));
}

function fieldsCalled(entry: string, fields: readonly Named[]): Named[] {
  const exact = fields.filter(({ name }) => name === entry);
  if (exact.length > 0) return exact.slice(0, 1);
  const near = folded(entry);
  return fields.filter(({ name, label }) => folded(name) === near || (label !== null && folded(label) === near));
}

/** The columns of a run, in its state and in its manifest. */
export type RunColumns = Pick<Run, 'request' | 'listed' | 'excepted'>;

/**
 * The columns that an entry of today's configuration names in files of earlier runs. The CRM may have renamed a column
 * since. So the entry is matched with the columns of each run, and with what the same entry named in that run.
 * @param names other columns of the file, which the runs do not list
 * @param runs the run of the file comes first
 */
export function fieldsNamedInRuns(entry: string, names: readonly string[], runs: readonly RunColumns[]): LeftOut[] {
  return runs.flatMap((run, place) => {
    const listed = [...(fieldsOf(run) ?? []), ...run.excepted];
    const others = place === 0 ? names.map((name) => ({ name, label: null })) : [];
    return [...fieldsNamedBy([entry], [...listed, ...others]), ...run.excepted.filter((each) => each.entry === entry)];
  });
}

/** The columns that the entries of today's configuration leave out of the file of an earlier run. */
interface LeftOutToday {
  leftOut: LeftOut[];
  /** An entry that names no column of any run. It may be the label of any column of the file. */
  unexplained: string | undefined;
}

/** @param newest a later run, which may show which column an entry names */
export function leftOutToday(
  entries: readonly string[],
  { run, header }: { run: RunColumns; header: readonly string[] | null },
  newest?: RunColumns,
): LeftOutToday {
  const { columns } = run.request;
  const names = [...columns, ...(header ?? [])];
  const labelled = new Set((fieldsOf(run) ?? []).flatMap(({ name, label }) => (label === null ? [] : [name])));
  const found = entries.map((entry) => ({
    entry,
    meant: fieldsNamedInRuns(entry, names, newest ? [run, newest] : [run]),
  }));
  const unexplained = found.find(({ meant }) => meant.length === 0)?.entry;
  return {
    // An entry that names no column of a run counts as a column name itself.
    leftOut: found.flatMap(({ entry, meant }) => (meant.length > 0 ? meant : [{ entry, name: entry, label: null }])),
    unexplained: columns.every((name) => labelled.has(name)) ? undefined : unexplained,
  };
}

/**
 * Left-out columns whose names occur in filters or sorts, in any spelling: a selection by a column reveals its values.
 * Only the CRM knows which texts are names, so every word is compared.
 */
export function exceptedIn(filtersOrSorts: unknown, names: readonly string[]): string[] {
  const texts = textsIn(filtersOrSorts).map((text) => cased(text).replace(INVISIBLE, ''));
  return names.filter((name) => {
    const letters = Array.from(folded(name), (letter) => `\\u{${letter.codePointAt(0)?.toString(16)}}`);
    const word = new RegExp(`(?<![\\p{L}\\d_])${letters.join(WITHIN)}(?![\\p{L}\\d_])`, 'u');
    return letters.length > 0 && texts.some((text) => word.test(text));
  });
}

/** Characters that may stand between the letters of one name. A comma separates two names. */
const WITHIN = '[\\p{Z}\\p{Pd}\\p{Pc}.\'"׳״]*';

/** Labels that are a whole text, or a part of a path, in filters or sorts. In a sentence, a label may be an ordinary word. */
export function labelsIn(filtersOrSorts: unknown, labels: readonly string[]): string[] {
  // A sign before a text may stand for the sort direction.
  const texts = textsIn(filtersOrSorts).map((text) => text.replace(/^[^\p{L}\p{N}]+/u, ''));
  return labels.filter((label) => folded(label) !== '' && texts.some((text) => meansOrContains(text, label)));
}

/** All keys and texts of a value, at any depth. */
function textsIn(value: unknown): string[] {
  return entriesIn(value).flatMap(([key, one]) => (typeof one === 'string' ? [key, one] : [key]));
}
