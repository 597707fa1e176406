import { type Columns, columnsFor, lastColumnsOf } from '../../core/columns/columns.ts';
import type { Entity } from '../../core/config/entities.ts';
import type { CrmClient } from '../../core/crm/crm-client.ts';
import { createExport as postExport, readStatus } from '../../core/crm/exports.ts';
import { readFields } from '../../core/crm/fields.ts';
import { RunError } from '../../core/errors.ts';
import { type ExportInput, parseInput } from '../../core/export/input.ts';
import { type Manifest, readManifest } from '../../core/export/manifest.ts';
import { type Plan, planFor } from '../../core/export/plan.ts';
import { datePointerKey, latestPointerKey, manifestKeyOf, readPointer, runPrefix } from '../../core/export/pointer.ts';
import { carriedLeftOut, type Request, requestFor } from '../../core/export/request.ts';
import { dateAfter } from '../../core/schedule/local-time.ts';
import { type Answer, deadlineOf, troubleOf, waitAfter } from '../../core/step/export-run.ts';
import type { Run, RunState } from '../../core/step/states.ts';
import type { Invocation } from '../../core/step/step.ts';
import type { Bucket } from '../../core/storage/bucket.ts';
import { dateOfRun, pastDateWarnings } from './date-of-run.ts';
import { adoptRecord, type ExportRecord, keepRecord, type Table } from './export-record.ts';

export interface CreateExportDeps extends Invocation {
  crm: CrmClient;
  table: Table;
  /** Reads an object of the bucket. */
  read: Bucket['read'];
  softwareVersion: string;
}

/** The input of a run with its date, which is in the input or follows from the start of the run. */
type Asked = ExportInput & { date: string };

/** Time for a request to the ledger, reserved so that an export is recorded even if its answer comes late. */
const RECORD_SECONDS = 10;
/**
 * The number of times that a create is repeated although the CRM may have processed it. The manifest warns that the CRM
 * may hold two exports.
 */
const REPEATS_UNANSWERED = 1;

/**
 * Decides in four steps what to request (input, plan, columns, request), creates or adopts an export, and begins the
 * run. Answers CREATED with `run`. A start by a rule ends here if another start counts for its date.
 */
export async function createExport(state: RunState, deps: CreateExportDeps): Promise<Answer<'CreateExport'>> {
  const input = parseInput(state.input);
  // A waiting run keeps its date, even if a deployment moves the start of that date.
  const date = state.date ?? (await dateOfRun(input, state, deps));
  if (typeof date !== 'string') return date;
  try {
    return await beginRun({ ...input, date }, state, deps);
  } catch (error) {
    if (!(error instanceof RunError)) throw error;
    const unanswered = error.name === 'CreateUnanswered';
    if (!unanswered && !error.transient) throw error;
    const wait = unanswered ? waitForSecond(error, state, input.entity, deps) : waitAfter(error, state, deps);
    if (!wait) throw error;
    return { outcome: 'RETRY', date, ...wait };
  }
}

async function beginRun(asked: Asked, state: RunState, deps: CreateExportDeps): Promise<Answer<'CreateExport'>> {
  const { crm, deployment, read } = deps;
  const plan = planFor(deployment.entities[asked.entity], asked);
  const fields = await readFields(crm, asked.entity);
  const last = await publishedManifest(read, asked.entity, latestPointerKey(asked.entity));
  const columns = columnsFor(plan, fields, typeof last === 'object' ? lastColumnsOf(last) : last);
  const request = requestFor(plan, columns, deployment);
  const obtained = await obtainExport(asked, request, state, deps);
  const run = runOf(state, plan, columns, request, obtained, deps);
  await recordExport(state.execution, run, deps);
  const checks = state.checks + (run.adopted === null ? 0 : 1);
  return { outcome: 'CREATED', run, checks, waitSeconds: run.firstWaitSeconds };
}

type Obtained = Pick<Run, 'exportId' | 'createdAt' | 'adopted'>;

/** Adopts the export of an earlier run if the input names one and it can be adopted, else creates one. */
async function obtainExport(
  { entity, date, adopt }: Asked,
  { request, fingerprint }: Request,
  { execution }: RunState,
  deps: CreateExportDeps,
): Promise<Obtained> {
  const wanted = { entity, date, fingerprint };
  const earlier = adopt && (await adoptExport(adopt, wanted, execution, deps));
  if (earlier) return { exportId: earlier.exportId, createdAt: earlier.createdAt, adopted: adopt };
  const timeoutMs = deps.deployment.crm.createTimeoutSeconds * 1000;
  const secondsLeft = () => deps.secondsLeft() - RECORD_SECONDS;
  const exportId = await postExport(deps.crm, entity, request, { timeoutMs, secondsLeft });
  return { exportId, createdAt: deps.now().toISOString(), adopted: null };
}

/** The wait before the next create; `undefined` if no further create is allowed, or if the deadline is too near. */
function waitForSecond(error: RunError, state: RunState, entity: Entity, deps: CreateExportDeps) {
  const { polling } = deps.deployment.entities[entity];
  const { unansweredCreates, waits, startedAt } = state;
  const asked = Math.ceil(error.retryAfterSeconds ?? 0);
  const waitSeconds = Math.max(polling.largestWaitSeconds, polling.createAgainSeconds, asked);
  const deadline = deadlineOf(startedAt, polling.deadlineSeconds);
  const left = Math.floor((deadline.getTime() - deps.now().getTime()) / 1000);
  if (unansweredCreates >= REPEATS_UNANSWERED || waitSeconds + polling.firstWaitSeconds > left) return undefined;
  const trouble = troubleOf(error, state, deps);
  return { unansweredCreates: unansweredCreates + 1, waits: waits + 1, waitSeconds, trouble };
}

function runOf(
  state: RunState,
  plan: Plan & { input: Asked },
  columns: Columns,
  request: Request,
  obtained: Obtained,
  deps: CreateExportDeps,
): Run {
  const { entity, date, publish } = plan.input;
  const { polling } = plan.configured;
  const { drift, schemaChanges, warnings } = columns;
  const past = pastDateWarnings(plan, state, obtained.adopted, deps.deployment.timeZone);
  return {
    schemaVersion: 1 as const,
    entity,
    date,
    prefix: runPrefix(entity, state.execution),
    deadline: deadlineOf(state.startedAt, polling.deadlineSeconds).toISOString(),
    firstWaitSeconds: polling.firstWaitSeconds,
    largestWaitSeconds: polling.largestWaitSeconds,
    keptUntil: dateAfter(state.startedAt, deps.deployment.retentionDays),
    plan: plan.digest,
    differs: plan.differs,
    kind: plan.kind,
    publish: plan.differs.length === 0 || publish === true,
    excepted: carriedLeftOut(columns.leftOut),
    drift,
    schemaChanges,
    remarks: [...warnings, ...past],
    ...request,
    ...obtained,
    softwareVersion: deps.softwareVersion,
  };
}

/**
 * The manifest of the run that a pointer names; `undefined` if nothing is published. A run continues without a
 * manifest that cannot be read: if the bucket has another problem, PublishFile reports it.
 * @throws RunError `StorageUnavailable`, after which the run waits
 */
async function publishedManifest(
  read: Bucket['read'],
  entity: Entity,
  key: string,
): Promise<Manifest | 'unknown' | undefined> {
  try {
    const { run: pointer, etag } = await readPointer({ read }, key);
    if (!pointer) return etag === undefined ? undefined : 'unknown';
    return (await readManifest({ read }, manifestKeyOf(entity, pointer.execution))) ?? 'unknown';
  } catch (error) {
    if (!(error instanceof RunError) || error.transient) throw error;
    return 'unknown';
  }
}

/**
 * The export of an earlier run, if it has the same request and date and the CRM still has it. Else `undefined`: the
 * log has the reason, and the run requests its own export.
 * @throws RunError transient errors, such as `CrmUnavailable`
 */
async function adoptExport(
  earlier: string,
  wanted: Pick<ExportRecord, 'fingerprint' | 'date'> & { entity: Entity },
  execution: string,
  deps: CreateExportDeps,
): Promise<ExportRecord | undefined> {
  const found = await adoptRecord(deps.table, earlier, wanted, execution);
  const refused = 'refused' in found ? found.refused : await refusalOf(found, wanted.entity, deps);
  deps.log.info(refused === undefined ? 'adopted the export of an earlier run' : `adopted no export: ${refused}`, {});
  return 'refused' in found || refused !== undefined ? undefined : found;
}

/** Why the export cannot be adopted; `undefined` if the CRM has it and does not report it as failed. */
async function refusalOf(
  found: ExportRecord,
  entity: Entity,
  { crm, read }: CreateExportDeps,
): Promise<string | undefined> {
  // Pointers move to the run that started later: adopting an earlier export would replace newer records.
  const published = await publishedManifest(read, entity, datePointerKey(entity, found.date));
  if (typeof published === 'object' && Date.parse(published.run.createdAt) > Date.parse(found.createdAt))
    return 'a later export of the same date is published';
  try {
    const { status } = await readStatus(crm, entity, found.exportId);
    return status === 'FAILED' ? 'the CRM reports that the export failed' : undefined;
  } catch (error) {
    if (!(error instanceof RunError) || error.transient) throw error;
    return `the status request ended in ${error.name}`;
  }
}

/** Records the export for retries. If recording fails, the run continues, and a retry requests its own export. */
async function recordExport(
  execution: string,
  { exportId, createdAt, fingerprint, date }: Run,
  { table, now, log }: CreateExportDeps,
): Promise<void> {
  try {
    await keepRecord(table, execution, { exportId, createdAt, fingerprint, date }, now());
  } catch (error) {
    if (!(error instanceof RunError)) throw error;
    log.error('could not record the export', { error: error.name });
  }
}
