import * as z from 'zod/mini';
import type { Drift, Since } from '../step/drift-schema.ts';
import type { Run } from '../step/states.ts';
import { isPlainName } from '../suggestion.ts';

const text = z.nullable(z.string());

/** A column as the CRM lists it. */
export const fieldSchema = z.object({
  name: z.string(),
  type: text.check(z.describe('null where the CRM gives none, or they are too many to be kept.')),
  label: text.check(z.describe('The same.')),
});
export type ListedField = z.infer<typeof fieldSchema>;

/** A column that the configuration leaves out: the entry of `columns.except` that means it, and the CRM's field. */
export const leftOutSchema = z.object({
  entry: z.string(),
  name: z.string(),
  label: z.nullable(z.string()),
});

export type Changes = Pick<Drift, 'added' | 'removed' | 'retyped' | 'relabelled'>;

/**
 * The changes between two lists of columns, whatever their order. Types and labels are compared where both are known.
 */
export function changesBetween(before: readonly ListedField[], now: readonly ListedField[]): Changes {
  const old = byName(before);
  const current = byName(now);
  const changed = (key: 'type' | 'label') =>
    [...current.values()].flatMap(({ name, [key]: to }) => {
      const from = old.get(name)?.[key] ?? null;
      return from === null || to === null || from === to ? [] : [{ name, from, to }];
    });
  return {
    added: [...current.keys()].filter((name) => !old.has(name)),
    removed: [...old.keys()].filter((name) => !current.has(name)),
    retyped: changed('type'),
    relabelled: changed('label'),
  };
}

/** A type that is not known now is that of the last export: it is compared with the next one that is known. */
export function withLastTypes<T extends ListedField>(now: readonly T[], last: readonly ListedField[]): T[] {
  const before = byName(last);
  return now.map((field) => ({ ...field, type: field.type ?? before.get(field.name)?.type ?? null }));
}

function byName(fields: readonly ListedField[]): Map<string, ListedField> {
  return new Map(fields.map((field) => [field.name, field]));
}

/** The most characters of a drift, which passes through the state of a run. */
const LARGEST_DRIFT = 8_000;

/** Names as many changes as can be carried, the weightiest first; the others are counted. */
export function driftOf(changes: Changes, since: Since): Drift {
  let left = LARGEST_DRIFT;
  let unnamed = 0;
  const fits = (change: string | { name: string }) => {
    const size = Buffer.byteLength(JSON.stringify(change)) + 1;
    const named = isPlainName(typeof change === 'string' ? change : change.name) && size <= left;
    if (named) left -= size;
    else unnamed += 1;
    return named;
  };
  const removed = changes.removed.filter(fits);
  const retyped = changes.retyped.filter(fits);
  const added = changes.added.filter(fits);
  const relabelled = changes.relabelled.filter(fits);
  return { since, added, removed, retyped, relabelled, unnamed };
}

/**
 * The columns that are compared and kept: all that the CRM lists, but for those that are left out, and those that nobody
 * requested and whose names are not plain.
 */
export function comparable<T extends { name: string }>(fields: readonly T[], columns: string[], except: string[]): T[] {
  const requested = new Set(columns);
  const excepted = new Set(except);
  return fields.filter(({ name }) => !excepted.has(name) && (requested.has(name) || isPlainName(name)));
}

/** The listed fields as the manifest has them; `null` where the run does not know all of them. */
export function fieldsOf({
  request,
  listed,
  excepted,
}: Pick<Run, 'request' | 'listed' | 'excepted'>): ListedField[] | null {
  if (!listed.complete) return null;
  const { columns } = request;
  const all = [...columns, ...listed.others].map((name, place) => ({
    name,
    type: listed.types?.[place] ?? null,
    label: listed.labels?.[place] ?? null,
  }));
  return comparable(
    all,
    columns,
    excepted.map(({ name }) => name),
  );
}
