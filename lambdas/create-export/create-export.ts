import type { Entity } from '../../core/config/entities.ts';
import { entityPlan } from '../../core/config/entity-plan.ts';
import type { CrmClient } from '../../core/crm/client.ts';
import { createExport as postExport } from '../../core/crm/exports.ts';
import { readFields } from '../../core/crm/fields.ts';
import { RunError } from '../../core/errors.ts';
import { type ExportInput, parseInput } from '../../core/export/input.ts';
import { dateProblem } from '../../core/export/logical-date.ts';
import { differingKeys, planDigest, planOf, requiredOf } from '../../core/export/plan.ts';
import { dependsOnDate, resolveDates } from '../../core/export/relative-dates.ts';
import { buildRequest, fingerprintOf, listedOf, refuseMissing, resolveColumns } from '../../core/export/request.ts';
import { dateAfter, dateIn } from '../../core/schedule/local-time.ts';
import { type Answer, troubleOf } from '../../core/step/export-run.ts';
import type { Invocation } from '../../core/step/invocation.ts';
import { deadlineOf } from '../../core/step/pacing.ts';
import type { Run, RunState } from '../../core/step/states.ts';

export interface CreateExportDeps extends Invocation {
  crm: CrmClient;
  softwareVersion: string;
}

/** Of a create that may have worked; the manifest warns that the CRM may hold two exports. */
const REPEATS_UNANSWERED = 1;

/** Checks the input, creates the export and begins the run. Answers CREATED with `run`. */
export async function createExport(state: RunState, deps: CreateExportDeps): Promise<Answer<'CreateExport'>> {
  const input = parseInput(state.input);
  const date = logicalDate(input, state.startedAt, deps.deployment.timeZone);
  const requested = await requestFor({ ...input, date }, state, deps);
  try {
    const time = { timeoutMs: deps.deployment.crm.createTimeoutSeconds * 1000, secondsLeft: deps.secondsLeft };
    const exportId = await postExport(deps.crm, input.entity, requested.request, time);
    const run = beginRun(state, { ...input, date }, requested, exportId, deps);
    return { outcome: 'CREATED', run, waitSeconds: run.firstWaitSeconds };
  } catch (error) {
    if (!(error instanceof RunError) || error.name !== 'CreateUnanswered') throw error;
    const waitSeconds = waitForSecond(state, input.entity, deps, error.retryAfterSeconds);
    if (waitSeconds === undefined) throw error;
    const { waits, unansweredCreates } = state;
    const trouble = troubleOf(error, state, deps);
    return { outcome: 'RETRY', unansweredCreates: unansweredCreates + 1, waits: waits + 1, waitSeconds, trouble };
  }
}

/** Long enough for a CRM that restarts; `undefined` after the second create, and where the deadline is too near. */
function waitForSecond(
  state: RunState,
  entity: Entity,
  { deployment, now }: CreateExportDeps,
  retryAfterSeconds = 0,
): number | undefined {
  const { polling } = entityPlan(deployment, entity);
  const wait = Math.max(polling.largestWaitSeconds, polling.createAgainSeconds, Math.ceil(retryAfterSeconds));
  const deadline = deadlineOf(state.startedAt, polling.deadlineSeconds);
  const left = Math.floor((deadline.getTime() - now().getTime()) / 1000);
  return state.unansweredCreates >= REPEATS_UNANSWERED || wait + polling.firstWaitSeconds > left ? undefined : wait;
}

/** @throws RunError `InvalidInput` where no export can have this date */
function logicalDate({ date, scheduledFor }: ExportInput, startedAt: string, timeZone: string): string {
  const today = dateIn(timeZone, new Date(startedAt));
  const resolved = date ?? (scheduledFor === undefined ? today : dateIn(timeZone, new Date(scheduledFor)));
  const problem = dateProblem(resolved, today, timeZone);
  if (problem !== undefined) throw new RunError('InvalidInput', problem);
  return resolved;
}

type Requested = Pick<Run, 'request' | 'listed' | 'plan' | 'differs' | 'kind' | 'publish'>;

async function requestFor(
  input: ExportInput & { date: string },
  { machineVersion }: RunState,
  { crm, deployment }: CreateExportDeps,
): Promise<Requested> {
  const plan = entityPlan(deployment, input.entity);
  const fields = await readFields(crm, input.entity);
  const names = fields.map(({ name }) => name);
  const wanted = planOf(plan, input);
  const columns = resolveColumns(wanted.columns, names, input.entity);
  refuseMissing(requiredOf(plan), columns, input.entity);
  const asWritten = buildRequest(input, plan, deployment.crm, columns);
  const request = resolveDates(asWritten, { date: input.date, timeZone: deployment.timeZone });
  // An execution that began under an earlier release publishes whatever it was asked for.
  const differs = machineVersion < 2 ? [] : differingKeys(plan, input);
  return {
    request,
    listed: listedOf(fields, request),
    plan: planDigest(input.entity, wanted),
    differs,
    kind: differs.length > 0 ? 'partial' : dependsOnDate(wanted.filters) ? 'window' : 'full',
    publish: differs.length === 0 || input.publish === true,
  };
}

function beginRun(
  state: RunState,
  input: ExportInput & { date: string },
  requested: Requested,
  exportId: string,
  deps: CreateExportDeps,
) {
  const { entity, date } = input;
  const { polling } = entityPlan(deps.deployment, entity);
  return {
    schemaVersion: 1 as const,
    entity,
    exportId,
    date,
    prefix: `runs/entity=${entity}/run=${encodeURIComponent(state.execution)}/`,
    deadline: deadlineOf(state.startedAt, polling.deadlineSeconds).toISOString(),
    firstWaitSeconds: polling.firstWaitSeconds,
    largestWaitSeconds: polling.largestWaitSeconds,
    keptUntil: dateAfter(state.startedAt, deps.deployment.retentionDays),
    ...requested,
    fingerprint: fingerprintOf(entity, requested.request),
    createdAt: deps.now().toISOString(),
    softwareVersion: deps.softwareVersion,
  };
}
