import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { rename, rm, stat, writeFile } from 'node:fs/promises';
import {
  DescribeExecutionCommand,
  type DescribeExecutionOutput,
  type ExecutionListItem,
  paginateListExecutions,
} from '@aws-sdk/client-sfn';
import * as z from 'zod/mini';
import {
  batchManifestSchema,
  batchNameSchema,
  type Counts,
  type LineOutcome,
  noCounts,
  OUTCOMES,
  parsePart,
  type ResultLine,
  totalOf,
} from '../../core/batch/batch-results.ts';
import { LONGEST_INVOCATION_SECONDS } from '../../core/batch/batch-state.ts';
import { keysOf } from '../../core/batch/batch-store.ts';
import { failedLines, isRest, resultsIn } from '../../core/batch/failed-lines.ts';
import { eachOf } from '../../core/each-of.ts';
import { RunError } from '../../core/errors.ts';
import { parseJson } from '../../core/json.ts';
import type { Bucket } from '../../core/storage/bucket.ts';
import { createUploadBucket, type UploadBucket } from '../../core/storage/upload.ts';
import { formatOf } from '../../core/updates/read-updates.ts';
import { executionOf, failureText, outcomeWord, type Run, readInput, runOf } from '../runs/run.ts';
import { cannotWriteText, commandFor } from '../support/command-options.ts';
import { CommandError, usageError } from '../support/exit.ts';
import { printErr, printJson, printOut } from '../support/print.ts';
import { connect, type Target, type TargetOptions } from '../support/target.ts';
import { countText, numberText, printableLine } from '../support/text.ts';

/** Reads batches of customer updates from the bucket and Step Functions, and shows them. */

interface StatusOptions extends TargetOptions {
  failedTo?: string;
  json?: boolean;
}

export const LISTED = 10;

/** Runs the command `update-status`, which changes no data in the CRM. */
export async function updateStatus(batch: string | undefined, options: StatusOptions): Promise<void> {
  if (batch === undefined && options.failedTo !== undefined) throw usageError('--failed-to needs the name of a batch.');
  if (batch !== undefined) refuseBatchName(batch);
  const target = await connectForUpdates(options);
  if (batch === undefined) {
    const executions = await batchExecutions(target, { most: LISTED });
    const batches = await eachOf(executions, (one) => statusOf(target, one.batch, one));
    return options.json ? printJson({ batches }) : printOut(listText(batches));
  }
  const status = await statusOf(target, batch);
  if (options.json) printJson(status);
  else printOut([...detailsOf(status, options), ...(await resultText(target.store, status))].join('\n'));
  if (options.failedTo === undefined) return;
  const batches: [string, ...string[]] = [batch];
  let last = status;
  for (; last.resumedAs !== null; batches.push(last.batch)) last = await statusOf(target, last.resumedAs);
  await writeFailedLines(target.store, batches, last, options.failedTo);
  printErr(`Wrote ${options.failedTo}, which holds customer data.`);
}

/** A line for each batch: a narrow terminal wraps it. */
function listText(batches: BatchStatus[]): string {
  if (batches.length === 0) return 'There is no batch yet.';
  return batches.map((run) => [`${run.batch}: ${outcomeWord(run)}`, ...countsOf(run.counts)].join(', ')).join('\n');
}

/** `240 APPLIED`, for each outcome that lines have. @param after follows the outcome */
export function countsOf(counts: Counts, after: (outcome: LineOutcome) => string = () => ''): string[] {
  const outcomes = (Object.keys(OUTCOMES) as LineOutcome[]).filter((outcome) => counts[outcome] > 0);
  return outcomes.map((outcome) => `${numberText(counts[outcome])} ${outcome}${after(outcome)}`);
}

function detailsOf(status: BatchStatus, options: StatusOptions): string[] {
  const { batch, startedAt, endedAt, error, resumedAs } = status;
  const records = status.records === null ? 'not summarized' : countText(status.records, 'record');
  const outcome = status.status === null ? 'Step Functions no longer has its execution' : outcomeWord(status);
  return [
    `${batch}: ${outcome}, ${records}`,
    `From ${startedAt} to ${endedAt ?? 'now'}.`,
    ...(error ? [failureText(status)] : []),
    ...(resumedAs ? [`Resumed as ${resumedAs}: ${commandFor(`update-status ${resumedAs}`, options)}`] : []),
    '',
  ];
}

/**
 * Writes the lines of a batch that neither the batch itself nor a batch that resumed it has applied. The new file is
 * JSON Lines, byte for byte as stored, and only its owner may read it. A killed command leaves `FILE.part`.
 * @param batches the batch, then those that resumed it
 * @param last the last of them
 * @throws CommandError (exit code 2) if there are no such lines, more may be applied, or the file exists
 */
async function writeFailedLines(store: Bucket, batches: [string, ...string[]], last: BatchStatus, path: string) {
  const [batch] = batches;
  if (formatOf(path) !== 'jsonl')
    throw usageError(`Failed lines are written as JSON Lines, so ${path} must end in .jsonl.`);
  if (last.status === 'RUNNING') throw usageError(`The batch ${last.batch} is still under way: wait for its end.`);
  const until = last.manifestKey === null && last.endedAt !== null ? sendsUntil(last.endedAt) : new Date(0);
  if (until > new Date()) {
    throw usageError(`Functions of ${last.batch} may still be sending until ${until.toISOString()}: wait until then.`);
  }
  if (existsSync(path)) throw usageError(`${path} already exists and is not overwritten.`);
  const part = `${path}.part`;
  try {
    const left = failedLines(inputOf(store, batch), resultsOf(store, ...batches), 'correct');
    await writeFile(part, left, { flag: 'wx', mode: 0o600 });
    if ((await stat(part)).size === 0) throw usageError(`Every line of ${batch} was applied.`);
    await rename(part, path);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'EEXIST') throw usageError(`${part} already exists and is not overwritten.`, error);
    await rm(part, { force: true }).catch(() => undefined);
    throw typeof code === 'string' ? usageError(cannotWriteText(path, error, '--failed-to'), error) : error;
  }
}

/** A deployment with customer updates. */
export interface UpdatesTarget extends Target {
  UpdatesStateMachineArn: string;
  store: UploadBucket;
}

/** @throws CommandError (exit code 2) if the deployment has no state machine CustomerUpdates */
export async function connectForUpdates(options: TargetOptions): Promise<UpdatesTarget> {
  const target = await connect(options);
  const { UpdatesStateMachineArn, s3, BucketName } = target;
  if (UpdatesStateMachineArn) {
    return Object.assign(target, { UpdatesStateMachineArn, store: createUploadBucket(s3, BucketName) });
  }
  throw usageError(
    `The deployment ${options.deployment} cannot update customers: set "customerUpdates": true in its configuration, deploy it, then authorize again.`,
  );
}

/** @throws CommandError (exit code 2) for a text that cannot be the name of a batch */
export function refuseBatchName(text: string): void {
  if (batchNameSchema.safeParse(text).success) return;
  throw usageError('The name of a batch has at most 60 letters, digits and hyphens.');
}

/** `BATCH-r2`, then `BATCH-r3`. The name is fixed, so that two people who resume at the same time create one batch. */
export function resumedName(batch: string): string {
  const [, stem = batch, last = '1'] = /^(.+)-r(\d{1,4})$/.exec(batch) ?? [];
  const suffix = `-r${Number(last) + 1}`;
  if (stem.length + suffix.length <= 60) return stem + suffix;
  return `${stem.slice(0, 40)}-${createHash('sha256').update(batch).digest('hex').slice(0, 8)}${suffix}`;
}

/** Whether an execution has validated and claimed a batch. Before that, no line is sent. */
export async function hasBegun(store: Pick<Bucket, 'read'>, batch: string): Promise<boolean> {
  return (await store.read(keysOf(batch).started)) !== undefined;
}

const claimSchema = z.object({ execution: z.string() });

async function claimOf(store: Pick<Bucket, 'read'>, batch: string) {
  return parseJson(claimSchema, (await store.read(keysOf(batch).started))?.text);
}

/** Whether an execution has the name that `update --resume` gives it: `BATCH-r2-1a2b3c`. */
export function isResume(execution: string | undefined, batch: string): boolean {
  return /^(.+)-[\da-f]{6}$/.exec(execution ?? '')?.[1] === resumedName(batch);
}

/** Whether BATCH-r2 has the remaining lines of a batch. In the console, an execution can have any name. */
async function hasRest(store: Bucket, batch: string): Promise<boolean> {
  try {
    return await isRest(inputOf(store, resumedName(batch)), inputOf(store, batch), resultsOf(store, batch));
  } catch (error) {
    // The input of one of them may be deleted or invalid: such a batch has no remaining lines.
    if (error instanceof CommandError || (error instanceof RunError && !error.transient)) return false;
    throw error;
  }
}

/** A batch as `--json` prints it. Unknown values are null. */
export interface BatchStatus extends Run {
  batch: string;
  /** The number of all records; null until they are counted. */
  records: number | null;
  /** The batch that resumes this one, once an execution has claimed it. */
  resumedAs: string | null;
  /** The number of lines with each outcome. */
  counts: Counts;
  resultKey: string | null;
}

/**
 * @param found what the caller has: the execution, and the number of records
 * @throws CommandError (exit code 2) if neither the bucket nor Step Functions has the batch
 */
export async function statusOf(
  target: UpdatesTarget,
  batch: string,
  found: { execution?: DescribeExecutionOutput; records?: number } = {},
): Promise<BatchStatus> {
  const { store } = target;
  const described = found.execution ?? (await executionOfBatch(target, batch));
  const keys = keysOf(batch);
  const resume = await claimOf(store, resumedName(batch));
  const manifest = parseJson(batchManifestSchema, (await store.read(keys.manifest))?.text);
  if (!described && !manifest) throw usageError(`There is no batch ${batch} in this deployment.`);
  const tally = createTally(store, batch);
  if (!manifest) await tally.refresh();
  const { counts, input, result, startedAt = 0, finishedAt = 0, keptUntil = null } = manifest ?? {};
  const status = counts?.APPLIED === input?.records ? 'SUCCEEDED' : 'FAILED';
  const times = { startDate: new Date(startedAt), stopDate: new Date(finishedAt) };
  const forgotten = { name: batch, ...times, status, input: JSON.stringify({ file: keys.input }) } as const;
  return {
    ...runOf(executionOf(described ?? forgotten)),
    ...(!described && { status: null, executionArn: null }),
    keptUntil,
    manifestKey: manifest ? keys.manifest : null,
    batch,
    records: input?.records ?? null,
    resumedAs:
      resume && (isResume(resume.execution, batch) || (await hasRest(store, batch))) ? resumedName(batch) : null,
    counts: counts ?? tally.completed(found.records),
    resultKey: result?.key ?? null,
  };
}

/** Counts the outcomes of a batch in progress from its result objects. It reads each object once. */
export function createTally(store: Bucket, batch: string) {
  const counts = noCounts();
  const readKeys = new Set<string>();
  /** Whether a function may have started to send. */
  let begun = false;
  return {
    counts,
    refresh: async () => {
      const keys = (await store.list(keysOf(batch).results)).map(({ key }) => key);
      begun ||= keys.length > 0;
      const fresh = keys.filter((key) => key.endsWith('.jsonl') && !readKeys.has(key));
      await eachOf(fresh, async (key) => {
        const object = await store.read(key);
        readKeys.add(key);
        for (const { outcome } of parsePart(object?.text ?? '').results) counts[outcome] += 1;
      });
    },
    /** The counts of a batch without a manifest. If a function started, lines without a result count as `UNKNOWN`. */
    completed: (records = 0): Counts => {
      const rest = Math.max(0, records - totalOf(counts));
      const others = begun ? 'UNKNOWN' : 'NOT_SENT';
      return { ...counts, [others]: counts[others] + rest };
    },
  };
}

/**
 * The execution that claimed a batch; before a claim, one of the last 100 executions whose input names the batch.
 * @returns `undefined` if Step Functions has deleted it, 90 days after its end
 */
async function executionOfBatch(target: UpdatesTarget, batch: string): Promise<DescribeExecutionOutput | undefined> {
  const { sfn, store, UpdatesStateMachineArn } = target;
  const claim = await claimOf(store, batch);
  if (!claim) return (await batchExecutions(target, { most: 100 })).find((one) => one.batch === batch)?.execution;
  const executionArn = `${UpdatesStateMachineArn.replace(':stateMachine:', ':execution:')}:${claim.execution}`;
  return sfn.send(new DescribeExecutionCommand({ executionArn })).catch((error: unknown) => {
    if (error instanceof Error && error.name === 'ExecutionDoesNotExist') return undefined;
    throw error;
  });
}

/** The newest executions, newest first, except those whose batch belongs to another execution. */
export async function batchExecutions(
  { sfn, UpdatesStateMachineArn: stateMachineArn }: UpdatesTarget,
  { most = Number.POSITIVE_INFINITY, since = new Date(0) },
): Promise<{ batch: string; execution: DescribeExecutionOutput }[]> {
  const listed: ExecutionListItem[] = [];
  for await (const { executions = [] } of paginateListExecutions({ client: sfn }, { stateMachineArn })) {
    const later = executions.filter(({ startDate }) => startDate && startDate >= since);
    listed.push(...later);
    if (later.length < executions.length || listed.length >= most) break;
  }
  const found = await eachOf(listed.slice(0, most), async ({ executionArn }) => {
    const execution = await sfn.send(new DescribeExecutionCommand({ executionArn }));
    const { what, of: batch } = readInput(execution.input);
    const isOwn = what === 'update' && batch !== undefined && execution.error !== 'UpdateAlreadyStarted';
    return isOwn ? [{ batch, execution }] : [];
  });
  return found.flat();
}

const SHOWN = 20;

/** The counts, then the first lines that were not applied: names of errors and fields; no id and no value. */
export async function resultText(
  store: Bucket,
  { batch, counts, resultKey }: Pick<BatchStatus, 'batch' | 'counts' | 'resultKey'>,
): Promise<string[]> {
  const sums = countsOf(counts, (outcome) => `: ${OUTCOMES[outcome]}`).map((text) => `  ${text}`);
  const all = totalOf(counts) - counts.APPLIED;
  if (resultKey === null || all === 0) return sums;
  const failures: string[] = [];
  for await (const result of resultsOf(store, batch)) {
    const { line, outcome, error, attempts, fields = [] } = result;
    if (outcome === 'APPLIED') continue;
    const status = result.status === 404 ? '404 (no such customer)' : result.status;
    const facts = [outcome, error, status, countText(attempts, 'attempt'), ...fields].filter((fact) => fact !== null);
    failures.push(`  line ${line}: ${printableLine(facts.join(', '))}`);
    if (failures.length === SHOWN) break;
  }
  const more = all > failures.length ? [`  … and ${numberText(all - failures.length)} more`] : [];
  return [...sums, '', ...failures, ...more, ''];
}

/** @throws CommandError (exit code 2) when there is no such batch */
export async function* inputOf(store: Bucket, batch: string): AsyncGenerator<Uint8Array> {
  const object = await store.stream(keysOf(batch).input);
  if (!object) throw usageError(`There is no batch ${batch} in the bucket.`);
  yield* object.chunks;
}

/** The stored results of batches, each in the order of its lines: the whole result, or else the parts that exist. */
export async function* resultsOf(store: Bucket, ...batches: string[]): AsyncGenerator<ResultLine> {
  for (const batch of batches) {
    const result = await store.stream(keysOf(batch).result);
    if (result) yield* resultsIn(result.chunks);
    const parts = result ? [] : await store.list(keysOf(batch).results);
    for (const { key } of parts)
      if (key.endsWith('.jsonl')) yield* parsePart((await store.read(key))?.text ?? '').results;
  }
}

/**
 * The largest error of this machine's clock. AWS refuses signatures with a larger error, and the SDK then uses the AWS
 * time.
 */
const CLOCK_MS = 300_000;

/** The time until which functions may still send, for a batch that ended at `stoppedAt` without a summary. */
export function sendsUntil(stoppedAt: string): Date {
  return new Date(Date.parse(stoppedAt) + LONGEST_INVOCATION_SECONDS * 1000 + CLOCK_MS);
}
