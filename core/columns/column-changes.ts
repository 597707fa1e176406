import * as z from 'zod/mini';
import { CRM_EXPORT } from '../commands.ts';
import type { DriftPolicy } from '../config/entity-settings.ts';
import { RunError } from '../errors.ts';
import type { ExportInput } from '../export/input.ts';
import type { Drift, ExportRequest, Run, Since } from '../step/states.ts';
import { isSafeName, quotedName } from '../suggestion.ts';

/** How the columns that the CRM lists changed since an earlier export. */

const text = z.nullable(z.string());

/** A column as the CRM lists it. */
export const fieldSchema = z.object({
  name: z.string(),
  type: text.check(z.describe('null if the CRM returned no type, or if the types are too large to keep.')),
  label: text.check(z.describe('null if the CRM returned no label, or if the labels are too large to keep.')),
});
export type ListedField = z.infer<typeof fieldSchema>;

export type Changes = Pick<Drift, 'added' | 'removed' | 'retyped'>;

/** The changes between two lists of columns, whatever their order. Types are compared only if both are known. */
export function changesBetween(before: readonly ListedField[], now: readonly ListedField[]): Changes {
  const [old, current] = [byName(before), byName(now)];
  return {
    added: [...current.keys()].filter((name) => !old.has(name)),
    removed: [...old.keys()].filter((name) => !current.has(name)),
    retyped: [...current.values()].flatMap(({ name, type: to }) => {
      const from = old.get(name)?.type ?? null;
      return from === null || to === null || from === to ? [] : [{ name, from, to }];
    }),
  };
}

/** Fills in an unknown type from the last export, so that a later export is compared with the last known type. */
export function withLastTypes<T extends ListedField>(now: readonly T[], last: readonly ListedField[]): T[] {
  const before = byName(last);
  return now.map((field) => ({ ...field, type: field.type ?? before.get(field.name)?.type ?? null }));
}

function byName(fields: readonly ListedField[]): Map<string, ListedField> {
  return new Map(fields.map((field) => [field.name, field]));
}

/** The fields without the left-out columns. */
export function without<T extends { name: string }>(fields: readonly T[], leftOut: readonly { name: string }[]): T[] {
  const left = new Set(leftOut.map(({ name }) => name));
  return fields.filter(({ name }) => !left.has(name));
}

/** The fields of the entity that a run has recorded, without left-out columns; `null` if it has not recorded all. */
export function fieldsOf({ request, listed, excepted }: Pick<Run, 'request' | 'listed' | 'excepted'>) {
  if (!listed.complete) return null;
  const all = [...request.columns, ...listed.others].map((name, place) => ({
    name,
    type: listed.types?.[place] ?? null,
    label: listed.labels?.[place] ?? null,
  }));
  return without<ListedField>(all, excepted);
}

/**
 * The most bytes of request and listed fields together. The state may contain them twice, and AWS limits the state to
 * 256 KB.
 */
export const LARGEST_CARRIED = 64_000;

/** For a run that has no list of the CRM's fields: only the requested columns are known. */
export const NOT_LISTED: Run['listed'] = { others: [], labels: null, types: null, complete: false };

/** The fields that identify the file. If they are too large, types are omitted first, then labels, then names. */
export function listedOf(fields: readonly ListedField[], request: ExportRequest): Run['listed'] {
  const fieldByName = byName(fields);
  const columns = new Set(request.columns);
  const others = fields.map(({ name }) => name).filter((name) => !columns.has(name));
  const all = [...request.columns, ...others];
  const labels = all.map((name) => fieldByName.get(name)?.label ?? null);
  const types = all.map((name) => fieldByName.get(name)?.type ?? null);
  const whole = { others, labels, types, complete: true };
  const choices = [whole, { ...whole, types: null }, { ...whole, types: null, labels: null }];
  const most = LARGEST_CARRIED - bytesOf(request);
  return choices.find((listed) => bytesOf(listed) <= most) ?? { ...NOT_LISTED, complete: others.length === 0 };
}

/** The bytes of a value in a state. */
export function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

/** The most changes of a kind that a drift names. The drift is part of the state of a run, which AWS limits. */
const MOST_CARRIED = 50;

/**
 * Names the first changes of each kind, and counts the others. A column is only counted if its name may be a token or
 * data.
 */
export function driftOf(changes: Changes, since: Since): Drift {
  const named = <T extends string | { name: string }>(all: readonly T[]): T[] =>
    all.filter((one) => isSafeName(typeof one === 'string' ? one : one.name)).slice(0, MOST_CARRIED);
  const { added, removed, retyped } = changes;
  const kept = { added: named(added), removed: named(removed), retyped: named(retyped) };
  const unnamed = countChanges({ ...changes, unnamed: 0 }) - countChanges({ ...kept, unnamed: 0 });
  return { since, ...kept, unnamed };
}

/** The kinds of changes, in the order of the sentences. */
const KINDS = ['removed', 'added', 'retyped'] as const;

/**
 * The warnings of a run about changed columns.
 * @param since date of the export that the columns were compared with
 * @throws RunError `SchemaChanged` if the configuration stops runs at a change that no person has accepted
 */
export function judgeChanges(
  changes: Changes,
  since: string,
  policy: DriftPolicy,
  { entity, acceptSchema }: Pick<ExportInput, 'entity' | 'acceptSchema'>,
): { warnings: string[]; schemaChanges: number } {
  const found = KINDS.filter((kind) => changes[kind].length > 0);
  const texts = changeTexts(changes, since);
  const stopping = found.filter((kind) => policy[kind] === 'stop');
  if (stopping.length > 0 && !acceptSchema) {
    const what = stopping.map((kind) => `${texts[kind]} (drift.${kind})`).join(' ');
    const accept = `${CRM_EXPORT} start ${entity} --accept-schema`;
    throw new RunError('SchemaChanged', `${what} To accept it: ${accept}.`);
  }
  const warned = found.filter((kind) => policy[kind] !== 'accept');
  return {
    warnings: warned.map((kind) => texts[kind]),
    schemaChanges: warned.reduce((sum, kind) => sum + changes[kind].length, 0),
  };
}

/** One sentence for each kind of change that the manifest names. */
export function driftTexts(drift: Drift): string[] {
  const texts = changeTexts(drift, drift.since.date);
  const named = KINDS.filter((kind) => drift[kind].length > 0).map((kind) => texts[kind]);
  return drift.unnamed > 0 ? [...named, `Further column changes whose names were not kept: ${drift.unnamed}.`] : named;
}

export function countChanges({ added, removed, retyped, unnamed }: Omit<Drift, 'since'>): number {
  return added.length + removed.length + retyped.length + unnamed;
}

/** A sentence for each kind of change. @param date of the export that the columns were compared with */
function changeTexts({ added, removed, retyped }: Changes, date: string): Record<keyof Changes, string> {
  const since = `the export of ${date}`;
  const changed = retyped.map(({ name, from, to }) => `${quotedName(name)} (${to}, was ${from})`);
  const quoted = (names: readonly string[]) => names.map((name) => quotedName(name));
  return {
    removed: sentence(`Columns that the CRM has stopped listing since ${since}`, quoted(removed)),
    added: sentence(`Columns that the CRM has started to list since ${since}`, quoted(added)),
    retyped: sentence(`Columns whose type has changed since ${since}`, changed),
  };
}

/** The most changes that one sentence names. */
const MOST_NAMED = 10;

function sentence(begin: string, all: readonly string[]): string {
  const others = all.length > MOST_NAMED ? ` and ${all.length - MOST_NAMED} more` : '';
  return `${begin}: ${all.slice(0, MOST_NAMED).join(', ')}${others}.`;
}
