import type { DriftPolicy } from '../../core/config/drift-settings.ts';
import { entityPlan } from '../../core/config/entity-plan.ts';
import type { Field } from '../../core/crm/fields.ts';
import { RunError } from '../../core/errors.ts';
import { type Changes, changesBetween, comparable, driftOf } from '../../core/export/drift.ts';
import { changeTexts } from '../../core/export/drift-words.ts';
import type { ExportInput } from '../../core/export/input.ts';
import { exceptedOf } from '../../core/export/plan.ts';
import { exceptedFields } from '../../core/export/request.ts';
import type { Invocation } from '../../core/step/invocation.ts';
import type { Run } from '../../core/step/states.ts';
import type { Bucket } from '../../core/storage/bucket.ts';
import { lastColumns } from './last-columns.ts';

export type Compared = Pick<Run, 'excepted' | 'drift' | 'remarks' | 'schemaChanges'>;

interface Deps extends Invocation {
  /** Of the execution. */
  machineVersion: number;
  read: Bucket['read'];
}

const KINDS = ['removed', 'added', 'retyped'] as const;

/**
 * Compares the columns that the CRM lists with those of the newest published export. One that cannot be made stops no night,
 * and an execution that began under an earlier release makes none.
 * @param columns of the request
 * @throws RunError `SchemaChanged` where the configuration stops at a change that nobody has accepted
 */
export async function compareColumns(
  fields: readonly Field[],
  columns: string[],
  { entity, date, acceptSchema }: ExportInput & { date: string },
  { machineVersion, deployment, read }: Deps,
): Promise<Compared> {
  const plan = entityPlan(deployment, entity);
  const except = exceptedOf(plan);
  const nothing = { excepted: exceptedFields(fields, except), drift: null, remarks: [], schemaChanges: 0 };
  const last = machineVersion < 2 ? undefined : await lastColumns(read, entity);
  if (!last) return nothing;
  if ('unknown' in last) {
    const remark = `The columns are not compared with those of the last published export: ${last.unknown}.`;
    return { ...nothing, remarks: [remark] };
  }
  const before = last.fields.filter(({ name }) => !except.includes(name));
  const changes = changesBetween(before, comparable(fields, columns, except));
  const { texts, warned } = judge(changes, last.since.date, plan.drift, { entity, date, acceptSchema });
  return {
    ...nothing,
    drift: driftOf(changes, last.since),
    remarks: warned.flatMap((kind) => texts[kind] ?? []),
    schemaChanges: warned.reduce((sum, kind) => sum + changes[kind].length, 0),
  };
}

/** @throws RunError `SchemaChanged` */
function judge(
  changes: Changes,
  since: string,
  policy: DriftPolicy,
  { entity, date, acceptSchema }: Pick<ExportInput, 'entity' | 'acceptSchema'> & { date: string },
) {
  const texts = changeTexts(changes, since);
  const stopping = KINDS.filter((kind) => policy[kind] === 'stop' && texts[kind]);
  if (stopping.length > 0 && !acceptSchema) {
    const what = stopping.map((kind) => `${texts[kind]} (drift.${kind})`).join(' ');
    const accept = `npm run cli -- start ${entity} --date ${date} --accept-schema`;
    throw new RunError('SchemaChanged', `${what} To accept it: ${accept}.`);
  }
  return { texts, warned: KINDS.filter((kind) => policy[kind] !== 'accept' && texts[kind]) };
}
