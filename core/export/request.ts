import { createHash } from 'node:crypto';
import type { Deployment } from '../config/deployment.ts';
import type { Entity } from '../config/entities.ts';
import type { EntityPlan } from '../config/entity-settings.ts';
import type { Field } from '../crm/fields.ts';
import { RunError } from '../errors.ts';
import type { ExportRequest, Listed } from '../step/states.ts';
import { quotedName } from '../suggestion.ts';
import type { ExportInput } from './input.ts';
import type { LeftOut } from './left-out.ts';
import type { Plan } from './plan.ts';

/**
 * The most characters that request and listed fields may take. They are in the state, perhaps twice, which AWS limits
 * to 256 KB.
 */
const LARGEST_CARRIED = 64_000;

/** Input before configuration; what nobody set is left out. @throws RunError `ConfigInvalid` when it is too large */
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
  const what = `The request for this export has ${size} bytes; at most ${LARGEST_CARRIED} can be carried.`;
  throw new RunError('ConfigInvalid', what);
}

/**
 * @param leftOut columns that are not requested, whatever the CRM lists
 * @throws RunError `ConfigInvalid` where none is left, or naming the unknown columns and, for each, the nearest that exists
 */
export function resolveColumns(
  columns: Plan['columns'],
  fieldNames: string[],
  entity: Entity,
  leftOut: readonly Pick<LeftOut, 'name'>[],
): string[] {
  const left = new Set(leftOut.map(({ name }) => name));
  if (!Array.isArray(columns)) {
    const all = fieldNames.filter((name) => !left.has(name));
    if (all.length > 0) return all;
    // An empty list may mean all columns to the CRM.
    const none = `columns.except of ${entity} leaves out all columns that GET /${entity}/fields lists (${fieldNames.length}).`;
    throw new RunError('ConfigInvalid', none);
  }
  const unknown = columns.filter((column) => !fieldNames.includes(column));
  if (unknown.length === 0) return columns;
  const named = unknown.slice(0, 20).map((column) => quotedName(column, fieldNames));
  const what = `${entity} has no column ${named.join(', ')}; GET /${entity}/fields lists ${fieldNames.length} columns.`;
  throw new RunError('ConfigInvalid', what);
}

/** @throws RunError `SchemaChanged` naming the columns without which the configuration wants no export */
export function refuseMissing(required: string[], columns: string[], entity: Entity): void {
  const missing = required.filter((name) => !columns.includes(name));
  if (missing.length === 0) return;
  const named = missing.slice(0, 20).map((name) => quotedName(name, columns));
  const what = `${entity} must have ${named.join(', ')} (columns.required), which GET /${entity}/fields does not list.`;
  throw new RunError('SchemaChanged', what);
}

/** The fields by which the file will be recognised. If they are too many, first the types are left out, then the labels, then the names. */
export function listedOf(fields: readonly Field[], request: ExportRequest): Listed {
  const columns = new Set(request.columns);
  const others = fields.map(({ name }) => name).filter((name) => !columns.has(name));
  const labelOf = new Map(fields.map(({ name, label }) => [name, label]));
  const labels = [...request.columns, ...others].map((name) => labelOf.get(name) ?? null);
  const typeOf = new Map(fields.map(({ name, type }) => [name, type]));
  const types = [...request.columns, ...others].map((name) => typeOf.get(name) ?? null);
  const fits = (listed: Listed) => bytesOf(request) + bytesOf(listed) <= LARGEST_CARRIED;
  const nothing = { others: [], labels: null, types: null, complete: others.length === 0 };
  const choices = [
    { others, labels, types, complete: true },
    { others, labels, types: null, complete: true },
    { others, labels: null, types: null, complete: true },
  ];
  return choices.find(fits) ?? nothing;
}

const LARGEST_EXCEPTED = 16_000;

/** Columns that no file may have, with their labels unless they are too many. */
export function carriedLeftOut(leftOut: readonly LeftOut[]): LeftOut[] {
  if (bytesOf(leftOut) <= LARGEST_EXCEPTED) return [...leftOut];
  return leftOut.map((each) => ({ ...each, label: null }));
}

function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

/** SHA-256 of entity and request, hexadecimal. */
export function fingerprintOf(entity: Entity, request: ExportRequest): string {
  const text = JSON.stringify([entity, request]);
  return createHash('sha256').update(text).digest('hex');
}
