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
  type: text.check(z.describe('null where the CRM gives none, or they are too many to be kept.')),
  label: text.check(z.describe('The same.')),
});
export type ListedField = z.infer<typeof fieldSchema>;

export type Changes = Pick<Drift, 'added' | 'removed' | 'retyped' | 'relabelled'>;

/**
 * The changes between two lists of columns, whatever their order. Types and labels are compared only if both are known.
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

/** Fills in an unknown type from the last export, so that a later export is compared with the last known type. */
export function withLastTypes<T extends ListedField>(now: readonly T[], last: readonly ListedField[]): T[] {
  const before = byName(last);
  return now.map((field) => ({ ...field, type: field.type ?? before.get(field.name)?.type ?? null }));
}

function byName(fields: readonly ListedField[]): Map<string, ListedField> {
  return new Map(fields.map((field) => [field.name, field]));
}

/**
 * The columns to compare and store: all columns that the CRM lists, without the left-out columns. A column that the run
 * did not request must also have a plain name.
 */
export function comparable<T extends { name: string }>(
  fields: readonly T[],
  columns: readonly string[],
  leftOut: readonly { name: string }[],
): T[] {
  const requested = new Set(columns);
  const left = new Set(leftOut.map(({ name }) => name));
  return fields.filter(({ name }) => !left.has(name) && (requested.has(name) || isSafeName(name)));
}

/** The listed fields in the form of the manifest; `null` if the run does not know all listed fields. */
export function fieldsOf({
  request: { columns },
  listed,
  excepted,
}: Pick<Run, 'request' | 'listed' | 'excepted'>): ListedField[] | null {
  if (!listed.complete) return null;
  const all = [...columns, ...listed.others].map((name, place) => ({
    name,
    type: listed.types?.[place] ?? null,
    label: listed.labels?.[place] ?? null,
  }));
  return comparable(all, columns, excepted);
}

/**
 * The most bytes of request and listed fields together. They are in the state, perhaps twice, and AWS limits the state
 * to 256 KB.
 */
export const LARGEST_CARRIED = 64_000;

/** No field is known but the requested columns. */
export const NOT_LISTED: Run['listed'] = { others: [], labels: null, types: null, complete: false };

/** The fields that identify the file. If they are too large, types are omitted first, then labels, then names. */
export function listedOf(fields: readonly ListedField[], request: ExportRequest): Run['listed'] {
  const known = byName(fields);
  const columns = new Set(request.columns);
  const others = fields.map(({ name }) => name).filter((name) => !columns.has(name));
  const all = [...request.columns, ...others];
  const labels = all.map((name) => known.get(name)?.label ?? null);
  const types = all.map((name) => known.get(name)?.type ?? null);
  const choices = [
    { others, labels, types, complete: true },
    { others, labels, types: null, complete: true },
    { others, labels: null, types: null, complete: true },
  ];
  const most = LARGEST_CARRIED - bytesOf(request);
  return choices.find((listed) => bytesOf(listed) <= most) ?? { ...NOT_LISTED, complete: others.length === 0 };
}

/** The bytes of a value in a state. */
export function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

/** The most changes of a kind that a drift names. The drift is part of the state of a run, which AWS limits. */
const MOST_CARRIED = 50;

/** Names the first changes of each kind whose columns have plain names, and counts the others. */
export function driftOf(changes: Changes, since: Since): Drift {
  const named = <T extends string | { name: string }>(all: readonly T[]): T[] =>
    all.filter((one) => isSafeName(typeof one === 'string' ? one : one.name)).slice(0, MOST_CARRIED);
  const { added, removed, retyped, relabelled } = changes;
  const kept = { added: named(added), removed: named(removed), retyped: named(retyped), relabelled: named(relabelled) };
  return { since, ...kept, unnamed: countAll(changes) - countAll(kept) };
}

function countAll({ added, removed, retyped, relabelled }: Changes): number {
  return added.length + removed.length + retyped.length + relabelled.length;
}

/** The kinds of changes that a policy can judge. A new label is only stored in the manifest. */
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
  const texts = changeTexts(changes, since);
  const stopping = KINDS.filter((kind) => policy[kind] === 'stop' && texts[kind]);
  if (stopping.length > 0 && !acceptSchema) {
    const what = stopping.map((kind) => `${texts[kind]} (drift.${kind})`).join(' ');
    const accept = `${CRM_EXPORT} start ${entity} --accept-schema`;
    throw new RunError('SchemaChanged', `${what} To accept it: ${accept}.`);
  }
  const warned = KINDS.filter((kind) => policy[kind] !== 'accept' && texts[kind]);
  return {
    warnings: warned.flatMap((kind) => texts[kind] ?? []),
    schemaChanges: warned.reduce((sum, kind) => sum + changes[kind].length, 0),
  };
}

/** One sentence for each change that the manifest names. */
export function driftTexts(drift: Drift): string[] {
  const { unnamed } = drift;
  const texts = Object.values(changeTexts(drift, drift.since.date)).flatMap((each) => each ?? []);
  return unnamed > 0 ? [...texts, `Further changes of columns that are not named: ${unnamed}.`] : texts;
}

/** Counts the changes of the schema. A new label does not change the schema. */
export function countChanges({ added, removed, retyped, unnamed }: Drift): number {
  return added.length + removed.length + retyped.length + unnamed;
}

/** One sentence for each kind of change. @param date of the export that the columns were compared with */
function changeTexts({ added, removed, retyped, relabelled }: Changes, date: string) {
  const since = `the export of ${date}`;
  return {
    removed: sentence(`Columns that the CRM no longer lists since ${since}`, removed, quoted),
    added: sentence(`Columns that the CRM lists newly since ${since}`, added, quoted),
    retyped: sentence(`Columns with another type than at ${since}`, retyped, changed),
    relabelled: sentence(`Columns with another label than at ${since}`, relabelled, changed),
  };
}

/** The most changes that one sentence names. */
const MOST_NAMED = 10;

function sentence<T>(begin: string, all: readonly T[], textOf: (one: T) => string): string | undefined {
  if (all.length === 0) return undefined;
  const others = all.length > MOST_NAMED ? ` and ${all.length - MOST_NAMED} more` : '';
  return `${begin}: ${all.slice(0, MOST_NAMED).map(textOf).join(', ')}${others}.`;
}

const quoted = (name: string) => quotedName(name);
const changed = ({ name, from, to }: Changes['retyped'][number]) => `${quotedName(name)} (${to}, was ${from})`;
