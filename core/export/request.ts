import { createHash } from 'node:crypto';
import type { Deployment, EntityPlan } from '../config/deployment.ts';
import type { Entity } from '../config/entities.ts';
import type { Field } from '../crm/fields.ts';
import { RunError } from '../errors.ts';
import type { ExportRequest, Listed } from '../step/states.ts';
import { toldName } from '../suggestion.ts';
import type { ExportInput } from './input.ts';

/** In bytes, of the request and what the service lists beside it. The request travels in the state, perhaps twice (the input holds it too), which AWS limits to 256 KB in all. */
const LARGEST_CARRIED = 64_000;

/**
 * The body of stage 1: the input where it says something, the configuration else. Fields that nobody set are left out, so
 * that the service's own defaults hold; the e-mail flag is sent only when it is true.
 *
 * @throws RunError `ConfigInvalid` when the request is too large to be carried through the run.
 */
export function buildRequest(
  input: ExportInput,
  plan: EntityPlan,
  crm: Pick<Deployment['crm'], 'operatorField' | 'emailField'>,
  columns: string[],
): ExportRequest {
  const sorts = input.sorts ?? plan.sorts;
  const filters = input.filters ?? plan.filters;
  const operator = input.filtersOperator ?? plan.filtersOperator;
  const request = {
    columns,
    ...(sorts && { sorts }),
    ...(filters && { filters }),
    ...(operator && { [crm.operatorField]: operator }),
    ...((input.sendEmail ?? plan.sendEmail) && { [crm.emailField]: true }),
    ...plan.extra,
  };
  const size = bytesOf(request);
  if (size <= LARGEST_CARRIED) return request;
  throw new RunError(
    'ConfigInvalid',
    `The request for this export has ${size} bytes; at most ${LARGEST_CARRIED} can be carried.`,
  );
}

/**
 * The columns to ask for: `"all"` becomes every field that the service lists, a list is checked against it.
 * @throws RunError `ConfigInvalid` naming the unknown columns and, for each, the nearest that exists.
 */
export function resolveColumns(asked: 'all' | string[], fieldNames: string[], entity: Entity): string[] {
  if (asked === 'all') return fieldNames;
  const unknown = asked.filter((column) => !fieldNames.includes(column));
  if (unknown.length === 0) return asked;
  const named = unknown.slice(0, 20).map((column) => toldName(column, fieldNames));
  throw new RunError(
    'ConfigInvalid',
    `${entity} has no column ${named.join(', ')}; GET /${entity}/fields lists ${fieldNames.length} columns.`,
  );
}

/**
 * What the file will be judged by beside the columns of the request: names that were not asked for, and labels. What is too
 * large to be carried with the request stays behind: first the labels, then the names.
 */
export function listedOf(fields: readonly Field[], request: ExportRequest): Listed {
  const columns = new Set(request.columns);
  const others = fields.map(({ name }) => name).filter((name) => !columns.has(name));
  const labelOf = new Map(fields.map(({ name, label }) => [name, label]));
  const labels = [...request.columns, ...others].map((name) => labelOf.get(name) ?? null);
  const fits = (listed: Listed) => bytesOf(request) + bytesOf(listed) <= LARGEST_CARRIED;
  const found = [
    { others, labels },
    { others, labels: null },
  ].find(fits);
  return found ?? { others: [], labels: null };
}

function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

/** SHA-256 of what was asked for, hexadecimal, so that equal requests can be told from changed ones. */
export function fingerprintOf(entity: Entity, request: ExportRequest): string {
  return createHash('sha256')
    .update(JSON.stringify([entity, request]))
    .digest('hex');
}
