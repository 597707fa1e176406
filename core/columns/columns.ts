import type { Entity } from '../config/entities.ts';
import type { EntityPlan } from '../config/entity-settings.ts';
import { RunError } from '../errors.ts';
import type { ExportInput } from '../export/input.ts';
import type { Manifest } from '../export/manifest.ts';
import type { Plan } from '../export/plan.ts';
import { folded, meansOrContains } from '../folded.ts';
import type { Drift, Since } from '../step/states.ts';
import { isSafeName, quotedName, quotedNames, suggestion } from '../suggestion.ts';
import {
  changesBetween,
  driftOf,
  fieldsOf,
  judgeChanges,
  type ListedField,
  withLastTypes,
  without,
} from './column-changes.ts';
import { exceptedIn, fieldsNamedBy, type LeftOut, labelsIn, type Named } from './left-out.ts';

/**
 * Decides once, in CreateExport, which columns a run requests, which it leaves out, and how the columns of the CRM have
 * changed since the last published export.
 */

export interface ChosenColumns {
  /** The columns to request, in order. */
  requested: string[];
  /** The columns that must not be in the file. */
  leftOut: LeftOut[];
  /** Sentences for the manifest. */
  warnings: string[];
}

export interface Columns extends ChosenColumns {
  /** How the columns of the CRM differ from those of the last published export; `null` = they were not compared. */
  drift: Drift | null;
  /** Changed columns that `warnings` name or count. */
  schemaChanges: number;
  /** All columns that the CRM lists now. If the CRM gives no type, the type is that of the last published export. */
  fields: ListedField[];
}

/** The columns of the last published export. */
export interface PublishedColumns {
  since: Since;
  fields: ListedField[];
  leftOut: LeftOut[];
}

/** `undefined`: no export is published. */
export type LastColumns = PublishedColumns | 'unknown' | undefined;

export function lastColumnsOf({ execution, run }: Pick<Manifest, 'execution' | 'run'>): LastColumns {
  // Types are limited, because warnings quote them, and another program may have written any text into the manifest.
  const safeType = (type: string | null) => (type !== null && isSafeName(type) ? type : null);
  const fields = fieldsOf(run)?.map((field) => ({ ...field, type: safeType(field.type) }));
  return fields ? { since: { date: run.date, execution }, fields, leftOut: run.excepted } : 'unknown';
}

/**
 * @param fields all columns that the CRM lists now
 * @throws RunError `ConfigInvalid` or `InvalidInput` if no column can be requested; `SchemaChanged` if the
 *   configuration stops runs at a change that no person has accepted
 */
export function columnsFor(plan: Plan, fields: readonly ListedField[], last: LastColumns): Columns {
  const chosen = chooseColumns(plan, fields, last);
  const { warnings, ...compared } = compareColumns(plan, fields, chosen, last);
  const typedFields = withLastTypes(fields, publishedColumns(last)?.fields ?? []);
  return { ...chosen, ...compared, warnings: [...chosen.warnings, ...warnings], fields: typedFields };
}

function publishedColumns(last: LastColumns): PublishedColumns | undefined {
  return last === 'unknown' ? undefined : last;
}

/** @throws RunError `ConfigInvalid`, `InvalidInput`, or `SchemaChanged` if the CRM does not list a required column */
export function chooseColumns(plan: Plan, fields: readonly ListedField[], last: LastColumns): ChosenColumns {
  const { configured, input } = plan;
  const { leftOut, warnings } = leftOutOf(plan, fields, publishedColumns(last));
  refuseLeftOut(leftOut, configured, input);
  const requested = requestedOf(plan, fields, leftOut);
  const missing = configured.columns.required.filter((name) => !requested.includes(name));
  if (missing.length > 0) {
    const what = `${input.entity} must have ${quotedNames(missing, requested)} (columns.required), which GET /${input.entity}/fields does not list.`;
    throw new RunError('SchemaChanged', what);
  }
  return { requested, leftOut, warnings: [...warnings, ...supersededLabels(plan, fields)] };
}

const NOT_COMPARED =
  'The columns are not compared with those of the last published export: its manifest cannot be read, is of an earlier release, or does not list its columns.';

/** Compares the columns of the CRM with those of the last published export, without those that are left out today. */
export function compareColumns(
  { configured, input }: Plan,
  fields: readonly ListedField[],
  { leftOut }: Pick<ChosenColumns, 'leftOut'>,
  last: LastColumns,
): Pick<Columns, 'drift' | 'schemaChanges' | 'warnings'> {
  if (!last) return { drift: null, schemaChanges: 0, warnings: [] };
  if (last === 'unknown') return { drift: null, schemaChanges: 0, warnings: [NOT_COMPARED] };
  // The CRM also listed the columns that the last export left out. Such a column is not new if it is exported again.
  const before = [...last.fields, ...last.leftOut.map(({ name, label }) => ({ name, label, type: null }))];
  const left = [...leftOut, ...fieldsNamedBy(configured.columns.except, before)];
  const changes = changesBetween(without(before, left), without(fields, left));
  return {
    drift: driftOf(changes, last.since),
    ...judgeChanges(changes, last.since.date, configured.drift, input),
  };
}

/**
 * The columns that the configuration leaves out. An entry also leaves out the columns that it named in the last
 * published export, in two cases: its label has moved to another column; or it names no column now, and the CRM lists
 * no new column, which could be the old one under another name.
 * @throws RunError `ConfigInvalid` for any other entry that names no column: a typo would export the column every night
 */
function leftOutOf(
  { configured, input: { entity } }: Plan,
  fields: readonly ListedField[],
  last: PublishedColumns | undefined,
): Pick<ChosenColumns, 'leftOut' | 'warnings'> {
  const entries = configured.columns.except;
  const now = fieldsNamedBy(entries, fields);
  const listed = new Set(fields.map(({ name }) => name));
  const earlierNames = new Set([...(last?.fields ?? []), ...(last?.leftOut ?? [])].map(({ name }) => name));
  const isNewListed = fields.some(({ name }) => !earlierNames.has(name));
  const since = `the export of ${last?.since.date}`;
  const lost: string[] = [];
  const found = entries.map((entry) => {
    const meant = now.filter((each) => each.entry === entry);
    const before = last?.leftOut.filter((each) => each.entry === entry) ?? [];
    if (meant.length > 0) {
      const moved = before.filter(({ name }) => listed.has(name) && !now.some((each) => each.name === name));
      return { leftOut: [...meant, ...moved], warnings: [...severalTexts(entry, meant), ...movedTexts(moved, since)] };
    }
    if (before.length === 0 || isNewListed) lost.push(entry);
    const gone = `The CRM no longer lists "${entry}" of columns.except. No column was added since ${since}.`;
    return { leftOut: before, warnings: [gone] };
  });
  if (lost.length > 0) throw namesNothing(lost, entity, fields);
  return { leftOut: found.flatMap(({ leftOut }) => leftOut), warnings: found.flatMap(({ warnings }) => warnings) };
}

function severalTexts(entry: string, meant: readonly LeftOut[]): string[] {
  if (meant.length < 2) return [];
  const names = quotedNames(meant.map(({ name }) => name));
  return [`"${entry}" of columns.except names ${meant.length} columns, which are all left out: ${names}.`];
}

function movedTexts(moved: readonly LeftOut[], since: string): string[] {
  return moved.map(({ entry, name }) => {
    const before = `"${entry}" of columns.except named ${quotedName(name)} in ${since}, and names another column now`;
    return `${before}: both are left out. In columns.except, name the columns themselves, not their label.`;
  });
}

function namesNothing(entries: string[], entity: Entity, fields: readonly ListedField[]): RunError {
  const texts = fields.flatMap(textsOf);
  const named = entries.slice(0, 10).map((entry) => `"${entry}"${suggestion(entry, texts)}`);
  const what = `columns.except of ${entity} names ${named.join(', ')}, which the CRM does not list as a column (GET /${entity}/fields, ${fields.length} columns).`;
  return new RunError(
    'ConfigInvalid',
    `${what} No export is requested, because the column may have another name now. Correct the entry, or remove it.`,
  );
}

/**
 * Refuses to request, filter or sort by a left-out column, because each use would reveal values of the column.
 * @throws RunError `InvalidInput` if the input uses the column, `ConfigInvalid` if the configuration does
 */
function refuseLeftOut(leftOut: readonly LeftOut[], configured: EntityPlan, input: ExportInput): void {
  const asked = namedIn(leftOut, Array.isArray(input.columns) ? input.columns : [], [input.filters, input.sorts]);
  if (asked.length > 0) {
    const what = `The configuration leaves out ${quotedNames(asked)} (columns.except): an input cannot request it.`;
    throw new RunError('InvalidInput', what);
  }
  const { columns, filters = configured.filters, sorts = configured.sorts } = input;
  const chosen = (columns === undefined && configured.columns.only) || [];
  const named = namedIn(leftOut, [...chosen, ...configured.columns.required], [filters, sorts]);
  if (named.length === 0) return;
  const what = `In the configuration of ${input.entity}, columns, filters or sorts name columns that columns.except leaves out: ${quotedNames(named)}.`;
  throw new RunError('ConfigInvalid', what);
}

function namedIn(leftOut: readonly LeftOut[], columns: readonly string[], selected: unknown): string[] {
  const named = leftOut.filter(
    ({ entry, name, label }) =>
      columns.includes(name) ||
      exceptedIn(selected, [name, entry]).length > 0 ||
      labelsIn(selected, label === null ? [] : [label]).length > 0,
  );
  return [...new Set(named.map(({ name }) => name))];
}

/** @throws RunError `ConfigInvalid` if no column is left, or for columns that the CRM does not list */
function requestedOf(
  { columns, input: { entity } }: Plan,
  fields: readonly ListedField[],
  leftOut: readonly LeftOut[],
): string[] {
  const names = fields.map(({ name }) => name);
  if (Array.isArray(columns)) {
    const unknown = columns.filter((column) => !names.includes(column));
    if (unknown.length === 0) return columns;
    const what = `columns of ${entity} names ${quotedNames(unknown, names)}, which the CRM does not list (GET /${entity}/fields, ${names.length} columns).`;
    throw new RunError('ConfigInvalid', what);
  }
  const left = new Set(leftOut.map(({ name }) => name));
  const all = names.filter((name) => !left.has(name));
  if (all.length > 0) return all;
  // The CRM may read an empty list as all columns.
  const none = `columns.except of ${entity} leaves out all columns that GET /${entity}/fields lists (${names.length}).`;
  throw new RunError('ConfigInvalid', none);
}

/**
 * Warnings for texts that `columns.labels` maps to null although the CRM now lists them.
 * @throws RunError `ConfigInvalid` if such a text, or a part of it, names a left-out or hashed column
 */
function supersededLabels({ configured, input: { entity } }: Plan, fields: readonly ListedField[]): string[] {
  const { except = [], hash = [] } = configured.tables ?? {};
  const hidden = fieldsNamedBy([...configured.columns.except, ...except, ...hash], fields).flatMap(textsOf);
  const texts = Object.entries(configured.columns.labels).flatMap(([text, value]) => (value === null ? [text] : []));
  const secret = texts.find((text) => hidden.some((each) => meansOrContains(text, each)));
  if (secret !== undefined) {
    const what = `columns.labels of ${entity} maps "${secret}" to null, but this text names a column that the configuration leaves out or hashes. Remove it from columns.labels.`;
    throw new RunError('ConfigInvalid', what);
  }
  return texts.flatMap((text) => {
    const field = fields.find((each) => textsOf(each).some((name) => folded(name) === folded(text)));
    const instead = field && `columns.labels maps "${text}" to null, but the CRM now lists it as the column`;
    return field ? [`${instead} ${quotedName(field.name)}. Remove the text from columns.labels.`] : [];
  });
}

const textsOf = ({ name, label }: Named) => (label === null ? [name] : [name, label]);
