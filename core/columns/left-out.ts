import * as z from 'zod/mini';
import { cased, folded, INVISIBLE, pathParts } from '../folded.ts';
import type { Run } from '../step/states.ts';
import type { ListedField } from './changes.ts';

/** Finds the columns that entries of the configuration mean: `columns.except`, `tables.except`, `tables.hash`. */

/** A column that the configuration leaves out: the entry of `columns.except` that means it, and the CRM's field. */
export const leftOutSchema = z.object({
  entry: z.string(),
  name: z.string(),
  label: z.nullable(z.string()),
});
export type LeftOut = Run['excepted'][number];
export type Named = Pick<ListedField, 'name' | 'label'>;

/**
 * The fields that each entry means: the field of exactly that name; where there is none, every field whose name or label is the
 * same in another spelling.
 */
export function meantBy(entries: readonly string[], fields: readonly Named[]): LeftOut[] {
  return entries.flatMap((entry) => fieldsOf(entry, fields).map(({ name, label }) => ({ entry, name, label })));
}

function fieldsOf(entry: string, fields: readonly Named[]): Named[] {
  const exact = fields.filter(({ name }) => name === entry);
  if (exact.length > 0) return exact.slice(0, 1);
  const near = folded(entry);
  return fields.filter(({ name, label }) => folded(name) === near || (label !== null && folded(label) === near));
}

/** What a manifest says of the columns of its run. */
export interface ManifestColumns {
  fields: readonly Named[] | null;
  leftOut: readonly LeftOut[];
}

/**
 * The columns that an entry of today's configuration means in files of earlier runs: by the list of each manifest, because the
 * CRM may have renamed a column since, and by what the same entry meant then.
 * @param names further columns of the file, which no list has
 * @param manifests that of the file first
 */
export function meantInManifests(
  entry: string,
  names: readonly string[],
  manifests: readonly ManifestColumns[],
): LeftOut[] {
  return manifests.flatMap(({ fields, leftOut }, place) => {
    const listed = [...(fields ?? []), ...leftOut];
    const known = new Set(listed.map(({ name }) => name));
    const others = place === 0 ? names.filter((name) => !known.has(name)) : [];
    const all = [...listed, ...others.map((name) => ({ name, label: null }))];
    return [...meantBy([entry], all), ...leftOut.filter((each) => each.entry === entry)];
  });
}

/**
 * Names of left-out columns that filters or sorts contain, in any spelling: a selection by a column shows its values. Only the
 * CRM knows which of the texts are names, so every word counts.
 */
export function exceptedIn(filtersOrSorts: unknown, names: readonly string[]): string[] {
  const texts = textsIn(filtersOrSorts).map((text) => cased(text).replace(INVISIBLE, ''));
  return names.filter((name) => {
    const letters = Array.from(folded(name), (letter) => `\\u{${letter.codePointAt(0)?.toString(16)}}`);
    const word = new RegExp(`(?<![\\p{L}\\d_])${letters.join(WITHIN)}(?![\\p{L}\\d_])`, 'u');
    return letters.length > 0 && texts.some((text) => word.test(text));
  });
}

/** What may stand between the letters of one name; a comma stands between two names. */
const WITHIN = '[\\p{Z}\\p{Pd}\\p{Pc}.\'"׳״]*';

/** The labels that are the whole of a text in filters or sorts: as a part of a sentence they may mean anything. */
export function labelsIn(filtersOrSorts: unknown, labels: readonly string[]): string[] {
  const whole = new Set(textsIn(filtersOrSorts).flatMap((text) => [text, pathParts(text)?.last ?? text].map(bare)));
  return labels.filter((label) => whole.has(folded(label)));
}

/** The text without the sign for the direction of a sort. */
const bare = (text: string) => folded(text.replace(/^\s*[+<>!~]/, ''));

/** Keys and values, at any depth. */
function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => [key, ...textsIn(inner)]);
}
