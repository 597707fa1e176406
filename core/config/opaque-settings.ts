import * as z from 'zod';
import { requiredOf } from './column-settings.ts';
import type { EntityPlan } from './deployment.ts';
import { exceptedOf } from './excepted-columns.ts';
import { OPAQUE_KINDS } from './file-formats.ts';

/** The part of an entity's configuration that is about files of which nothing is known. */

export const opaqueSchema = z
  .array(z.enum(OPAQUE_KINDS))
  .refine((kinds) => new Set(kinds).size === kinds.length, { error: 'names a kind twice' })
  .default([])
  .describe(
    'Kinds of files that are published though nothing is known of their content: `xls` (Excel 97), `json`, `archive` (a zip of anything but one CSV file or spreadsheet). Known by their bytes. Not beside what promises something of the content: `columns.except`, `columns.required`, a `drift` of `stop`, `guards.minRows`, `tables`.',
  );

/** What promises something of the content of a file, beside kinds whose content nobody looks at. */
export function opaqueContradictions(plan: EntityPlan, place: string[]): { path: string[]; message: string }[] {
  const { opaque, drift, guards, tables } = plan;
  if (opaque.length === 0) return [];
  const stop = Object.entries(drift).find(([, policy]) => policy === 'stop');
  const promises: [given: boolean, what: string, why: string][] = [
    [exceptedOf(plan).length > 0, '`columns.except`', 'which columns such a file has is not known'],
    [requiredOf(plan).length > 0, '`columns.required`', 'which columns such a file has is not known'],
    [stop !== undefined, `\`drift.${stop?.[0]}: "stop"\``, 'which columns such a file has is not known'],
    [guards.minRows !== undefined, '`guards.minRows`', 'the rows of such a file are not counted'],
    [tables !== undefined, '`tables`', 'no table can be made of such a file'],
  ];
  return promises.flatMap(([given, what, why]) =>
    given ? [{ path: [...place, 'opaque'], message: `must be empty beside ${what}: ${why}` }] : [],
  );
}
