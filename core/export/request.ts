import { createHash } from 'node:crypto';
import { bytesOf, LARGEST_CARRIED, listedOf } from '../columns/column-changes.ts';
import type { Columns } from '../columns/columns.ts';
import type { LeftOut } from '../columns/left-out.ts';
import type { Deployment } from '../config/deployment.ts';
import type { Entity } from '../config/entities.ts';
import type { EntityPlan } from '../config/entity-settings.ts';
import { RunError } from '../errors.ts';
import type { ExportRequest, Run } from '../step/states.ts';
import type { ExportInput } from './input.ts';
import type { Plan } from './plan.ts';
import { resolveDates } from './relative-dates.ts';

/** The request as it is sent, and the fields that identify its file. */
export type Request = Pick<Run, 'request' | 'fingerprint' | 'listed'>;

/** Builds the request and sends nothing. @throws RunError `ConfigInvalid` if it is too large */
export function requestFor(
  { configured, input }: Plan & { input: { date: string } },
  { requested, fields }: Columns,
  { crm, timeZone }: Pick<Deployment, 'crm' | 'timeZone'>,
): Request {
  const request = resolveDates(buildRequest(input, configured, crm, requested), { date: input.date, timeZone });
  return { request, fingerprint: fingerprintOf(input.entity, request), listed: listedOf(fields, request) };
}

/** Builds the request; the input overrides the configuration. @throws RunError `ConfigInvalid` if it is too large */
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
  const what = `The request for this export has ${size} bytes; at most ${LARGEST_CARRIED} are allowed.`;
  throw new RunError('ConfigInvalid', what);
}

const LARGEST_EXCEPTED = 16_000;

/** Columns that no file may contain, with their labels unless those are too large. */
export function carriedLeftOut(leftOut: readonly LeftOut[]): LeftOut[] {
  if (bytesOf(leftOut) <= LARGEST_EXCEPTED) return [...leftOut];
  return leftOut.map((each) => ({ ...each, label: null }));
}

/** SHA-256 of entity and request, hexadecimal. */
export function fingerprintOf(entity: Entity, request: ExportRequest): string {
  const text = JSON.stringify([entity, request]);
  return createHash('sha256').update(text).digest('hex');
}
