import { exceptedOf } from '../config/chosen-columns.ts';
import type { Entity } from '../config/entities.ts';
import type { EntityPlan } from '../config/entity-settings.ts';
import { RunError } from '../errors.ts';
import { folded } from '../folded.ts';
import type { Run } from '../step/states.ts';
import { quotedName, suggestion } from '../suggestion.ts';
import { type Changes, changesBetween, comparable, type ListedField } from './column-drift.ts';
import type { Manifest } from './manifest.ts';
import { planDigest, planOf } from './plan.ts';

/** A column that must not come, and the entry of `columns.except` that means it. */
export type LeftOut = Run['excepted'][number];
type Named = Pick<ListedField, 'name' | 'label'>;

/** What the entries of `columns.except` mean in a list of fields. */
interface Meant {
  leftOut: LeftOut[];
  /** Entries that name nothing in the list. */
  unknown: string[];
  /** Warnings. */
  remarks: string[];
}

/**
 * The fields that each entry means: the one with exactly its name; where there is none, every field whose name or label
 * is the same once both are folded.
 */
export function meantBy(entries: readonly string[], fields: readonly Named[]): Meant {
  const found = entries.map((entry) => ({ entry, meant: fieldsOf(entry, fields) }));
  const several = found.filter(({ meant }) => meant.length > 1);
  return {
    leftOut: found.flatMap(({ entry, meant }) => meant.map(({ name, label }) => ({ entry, name, label }))),
    unknown: found.filter(({ meant }) => meant.length === 0).map(({ entry }) => entry),
    remarks: several.map(({ entry, meant }) => {
      const names = meant.slice(0, 10).map(({ name }) => quotedName(name));
      return `"${entry}" of columns.except means ${meant.length} columns, which are all left out: ${names.join(', ')}.`;
    }),
  };
}

function fieldsOf(entry: string, fields: readonly Named[]): Named[] {
  const exact = fields.filter(({ name }) => name === entry);
  if (exact.length > 0) return exact.slice(0, 1);
  const near = folded(entry);
  const means = ({ name, label }: Named) => folded(name) === near || (label !== null && folded(label) === near);
  return fields.filter(means);
}

/** What the manifest holds that `latest.json` names. */
export interface LastPublished {
  date: string;
  plan: string;
  /** `null`: it does not hold them. */
  fields: readonly Named[] | null;
  leftOut: readonly LeftOut[];
}

/**
 * The columns that the configuration leaves out of what the CRM lists now, and warnings. An entry that names nothing keeps the
 * field that it last named, where no field has come since: another name of it would have come.
 * @param last `undefined` where there is none, or it cannot be read
 * @throws RunError `ConfigInvalid` naming the entries of which it is not known what they mean: a typo would leak every night
 */
export function leftOutOf(
  plan: EntityPlan,
  entity: Entity,
  fields: readonly Named[],
  last: LastPublished | undefined,
): { leftOut: LeftOut[]; remarks: string[] } {
  const ofPlan = last?.plan === planDigest(entity, planOf(plan)) ? last : undefined;
  const now = meantBy(exceptedOf(plan), fields);
  const moved = movedSince(ofPlan, now.leftOut, fields);
  const { unknown } = now;
  const leftOut = [...now.leftOut, ...moved];
  const remarks = [...now.remarks, ...moved.map((each) => movedText(each, ofPlan?.date))];
  if (unknown.length === 0) return { leftOut, remarks };
  const kept = keptSince(ofPlan, fields).filter(({ entry }) => unknown.includes(entry));
  const lost = unknown.filter((each) => !kept.some(({ entry }) => entry === each));
  if (lost.length > 0) throw namesNothing(lost, entity, fields);
  const gone = unknown.slice(0, 10).map((entry) => `"${entry}"`);
  const text = `The CRM no longer lists what columns.except names: ${gone.join(', ')}. No column has come since the export of ${last?.date}.`;
  return { leftOut: [...leftOut, ...kept], remarks: [...remarks, text] };
}

/** Columns that an entry named last, that are still there, and that it no longer names: a label has gone to another column. */
function movedSince(last: LastPublished | undefined, now: readonly LeftOut[], fields: readonly Named[]): LeftOut[] {
  const listed = new Set(fields.map(({ name }) => name));
  return (last?.leftOut ?? []).filter(
    ({ entry, name }) =>
      listed.has(name) && now.some((each) => each.entry === entry) && !now.some((each) => each.name === name),
  );
}

function movedText({ entry, name }: LeftOut, date: string | undefined): string {
  const before = `"${entry}" of columns.except named ${quotedName(name)} in the export of ${date}, and names another column now`;
  return `${before}: both are left out. Name the columns themselves.`;
}

/** @param last of the same plan */
function keptSince(last: LastPublished | undefined, fields: readonly Named[]): readonly LeftOut[] {
  if (!last?.fields) return [];
  const known = new Set([...last.fields, ...last.leftOut].map(({ name }) => name));
  return fields.every(({ name }) => known.has(name)) ? last.leftOut : [];
}

function namesNothing(entries: string[], entity: Entity, fields: readonly Named[]): RunError {
  const known = fields.flatMap(({ name, label }) => (label === null ? [name] : [name, label]));
  const named = entries.slice(0, 10).map((entry) => `"${entry}"${suggestion(entry, known)}`);
  const what = `columns.except of ${entity} names ${named.join(', ')}, which is no column in the list of the CRM (GET /${entity}/fields, ${fields.length} columns).`;
  return new RunError(
    'ConfigInvalid',
    `${what} Nothing is requested: the column may be there under another name. Correct the entry, or remove it.`,
  );
}

/** How the columns that the CRM lists differ from those of an earlier export, but for what the configuration leaves out by now. */
export function changesSince(
  before: readonly ListedField[],
  now: readonly ListedField[],
  { columns, leftOut }: { columns: string[]; leftOut: readonly LeftOut[] },
  plan: Pick<EntityPlan, 'columns'>,
): Changes {
  const left = [...leftOut, ...meantBy(exceptedOf(plan), before).leftOut].map(({ name }) => name);
  return changesBetween(
    before.filter(({ name }) => !left.includes(name)),
    comparable(now, columns, left),
  );
}

/** What today's configuration leaves out of the file of an earlier run; an entry that names nothing there stands for itself. */
export function leftOutOfManifest(
  entries: readonly string[],
  {
    fields,
    leftOut,
    request,
    file,
  }: Pick<Manifest, 'fields' | 'leftOut' | 'request'> & {
    file: Pick<Manifest['file'], 'header'>;
  },
): LeftOut[] {
  const listed = [...(fields ?? []), ...leftOut];
  const known = new Set(listed.map(({ name }) => name));
  const others = [...new Set([...request.columns, ...(file.header ?? [])])].filter((name) => !known.has(name));
  const meant = meantBy(entries, [...listed, ...others.map((name) => ({ name, label: null }))]);
  return [...meant.leftOut, ...meant.unknown.map((entry) => ({ entry, name: entry, label: null }))];
}

type Telling = Pick<Manifest, 'fields' | 'leftOut'>;

/** What entries mean by the list of another manifest: the CRM may have given a column another label since. */
export function leftOutBy(entries: readonly string[], { fields, leftOut }: Telling): LeftOut[] {
  const kept = leftOut.filter(({ entry }) => entries.includes(entry));
  return [...meantBy(entries, [...(fields ?? []), ...leftOut]).leftOut, ...kept];
}

/**
 * Entries of which no manifest tells what they mean, though they may be the label of a column of the file.
 * @param manifest of the file @param others of later ones
 */
export function untoldEntries(
  entries: readonly string[],
  manifest: Telling & Pick<Manifest, 'request'>,
  others: readonly Telling[],
): string[] {
  const { columns } = manifest.request;
  const labelled = new Set((manifest.fields ?? []).flatMap(({ name, label }) => (label === null ? [] : [name])));
  if (columns.every((name) => labelled.has(name))) return [];
  const requested = meantBy(
    entries,
    columns.map((name) => ({ name, label: null })),
  ).leftOut;
  const told = [...requested, ...[manifest, ...others].flatMap((each) => leftOutBy(entries, each))];
  return entries.filter((entry) => !told.some((each) => each.entry === entry));
}
