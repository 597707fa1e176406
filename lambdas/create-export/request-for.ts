import { dependsOnDate } from '../../core/config/relative-date.ts';
import type { CrmClient } from '../../core/crm/client.ts';
import { readFields } from '../../core/crm/fields.ts';
import { chooseColumns } from '../../core/export/choose-columns.ts';
import { withLastTypes } from '../../core/export/column-drift.ts';
import type { ExportInput } from '../../core/export/input.ts';
import { differingKeys, planDigest, planOf } from '../../core/export/plan.ts';
import { resolveDates } from '../../core/export/relative-dates.ts';
import { buildRequest, carriedLeftOut, fingerprintOf, listedOf } from '../../core/export/request.ts';
import type { Invocation } from '../../core/step/invocation.ts';
import type { Run } from '../../core/step/states.ts';
import type { Bucket } from '../../core/storage/bucket.ts';
import { type Compared, compareColumns } from './compare-columns.ts';
import { lastColumns } from './last-columns.ts';

interface Deps extends Pick<Invocation, 'deployment'> {
  crm: CrmClient;
  /** Reads an object of the bucket. */
  read: Bucket['read'];
}

/** The parts of a run that input, configuration and the CRM's list of columns decide. */
export type Requested = Pick<
  Run,
  'request' | 'fingerprint' | 'listed' | 'plan' | 'differs' | 'kind' | 'publish' | 'excepted'
> &
  Compared;

/**
 * Makes the request, and sends nothing yet.
 * @throws RunError where configuration or input ask for what the CRM does not have, or must not give
 */
export async function requestFor(
  input: ExportInput & { date: string },
  { crm, deployment, read }: Deps,
): Promise<Requested> {
  const plan = deployment.entities[input.entity];
  const wanted = planOf(plan, input);
  const fields = await readFields(crm, input.entity);
  const last = await lastColumns(read, input.entity);
  const published = last && 'fields' in last ? last : undefined;
  const chosen = chooseColumns(plan, input, fields, published && { ...published, date: published.since.date });
  const asWritten = buildRequest(input, plan, deployment.crm, chosen.columns);
  const request = resolveDates(asWritten, { date: input.date, timeZone: deployment.timeZone });
  const compared = compareColumns(fields, chosen, last, plan, input);
  const differs = differingKeys(plan, input);
  return {
    request,
    fingerprint: fingerprintOf(input.entity, request),
    listed: listedOf(withLastTypes(fields, published?.fields ?? []), request),
    plan: planDigest(input.entity, wanted),
    differs,
    kind: differs.length > 0 ? 'partial' : dependsOnDate(wanted.filters) ? 'window' : 'full',
    publish: differs.length === 0 || input.publish === true,
    excepted: carriedLeftOut(chosen.leftOut),
    ...compared,
    remarks: [...chosen.remarks, ...compared.remarks],
  };
}
