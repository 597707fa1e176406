import { exceptedOf } from '../config/chosen-columns.ts';
import type { EntityPlan } from '../config/entity-settings.ts';
import { meantBy } from '../export/left-out.ts';
import type { Manifest } from '../export/manifest.ts';
import { type Covered, tableColumnName } from './columns.ts';
import { TableError } from './table-error.ts';

type Plan = Pick<EntityPlan, 'columns' | 'tables'>;
type NamedColumn = Parameters<typeof meantBy>[1][number];
/** What a manifest tells of the columns of the CRM. */
export type Told = Pick<Manifest, 'fields' | 'leftOut'>;

/** Whether the settings leave out or hash any column. */
export function coversAny({ columns, tables }: Plan): boolean {
  return exceptedOf({ columns }).length + (tables?.except ?? []).length + (tables?.hash ?? []).length > 0;
}

/**
 * What today's settings mean of the columns of a file, of whatever date it is. Each manifest is searched by itself: the CRM may
 * have renamed a column since.
 * @param names of the file's columns
 * @param told the manifest of the file first, then that of the newest published one: it knows what the settings mean by now
 * @throws TableError where an entry means no column that is known, or one of the table's own that the file does not have: it may
 * be there under another name
 */
export function coveredColumns(names: readonly string[], told: readonly Told[], plan: Plan): Covered {
  const lists = listsOf(names, told);
  const unrequested = new Set(exceptedOf(plan).flatMap((entry) => exceptedBy(entry, lists, told)));
  const ofTable = (key: 'except' | 'hash') =>
    (plan.tables?.[key] ?? []).flatMap((entry) => {
      const meant = meantInAny(entry, lists);
      const found = names.filter((name) => meant.has(name) || tableColumnName(name) === tableColumnName(entry));
      if (found.length > 0 || [...meant].some((name) => unrequested.has(name))) return found;
      const what = `The file has no column "${entry}", which \`tables.${key}\` names: it may be there under another name.`;
      throw new TableError(what);
    });
  const hashed = new Set(ofTable('hash'));
  return { left: new Set([...names.filter((name) => unrequested.has(name)), ...ofTable('except')]), hashed };
}

/** The columns of a file that entries of `columns.except` mean today. @param told as for `coveredColumns` */
export function exceptedAmong(names: readonly string[], told: readonly Told[], except: readonly string[]): string[] {
  const lists = listsOf(names, told);
  const meant = new Set(except.flatMap((entry) => meantBySettings(entry, lists, told)));
  return names.filter((name) => meant.has(name));
}

/** Names of columns that are left out of requests by an entry, whatever file has them. */
function exceptedBy(entry: string, lists: NamedColumn[][], told: readonly Told[]): string[] {
  const meant = meantBySettings(entry, lists, told);
  if (meant.length > 0) return meant;
  throw new TableError(
    `No published file tells which column "${entry}" is, which \`columns.except\` names: the next one does, and then the table can be written.`,
  );
}

function meantBySettings(entry: string, lists: NamedColumn[][], told: readonly Told[]): string[] {
  const kept = told.flatMap(({ leftOut }) => leftOut ?? []).filter((one) => one.entry === entry);
  return [...meantInAny(entry, lists), ...kept.map(({ name }) => name)];
}

/** All columns that each manifest knows; the first has the file. */
function listsOf(names: readonly string[], told: readonly Told[]): NamedColumn[][] {
  return told.map(({ fields, leftOut }, place) => [
    ...(place === 0 ? names : []).map((name) => ({ name, label: null })),
    ...(fields ?? []),
    ...(leftOut ?? []),
  ]);
}

function meantInAny(entry: string, lists: NamedColumn[][]): Set<string> {
  return new Set(lists.flatMap((list) => meantBy([entry], list).leftOut.map(({ name }) => name)));
}
