import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { DescribeExecutionCommand, StartExecutionCommand } from '@aws-sdk/client-sfn';
import { type Counts, openClaims, totalOf } from '../../core/batch/batch-results.ts';
import { createStopFlag, LONGEST_INVOCATION_SECONDS } from '../../core/batch/batch-state.ts';
import { keysOf } from '../../core/batch/batch-store.ts';
import { failedLines } from '../../core/batch/failed-lines.ts';
import { CRM_EXPORT } from '../../core/commands.ts';
import { configurationFile, readConfiguration } from '../../core/config/configuration.ts';
import { eachOf } from '../../core/each-of.ts';
import { RunError } from '../../core/errors.ts';
import type { UploadBucket } from '../../core/storage/upload.ts';
import { measured } from '../../core/updates/lines.ts';
import { CSV, csvToJsonl } from '../../core/updates/read-csv.ts';
import { JSONL } from '../../core/updates/read-updates.ts';
import type { LineRules } from '../../core/updates/update-line.ts';
import { timedName } from '../runs/executions.ts';
import { failureText, secondsBetween } from '../runs/run.ts';
import { commandFor } from '../support/command-options.ts';
import { askHere } from '../support/confirm.ts';
import { deployedConfiguration } from '../support/deployed-configuration.ts';
import { CommandError, RUN_FAILED, usageError } from '../support/exit.ts';
import { liveLine, printErr, printJson, printOut } from '../support/print.ts';
import type { TargetOptions } from '../support/target.ts';
import { countText, numberText } from '../support/text.ts';
import { untilInterrupted } from '../support/until-interrupted.ts';
import {
  type CheckedUpdates,
  checkUpdates,
  openUpdateFile,
  refused,
  samplesOf,
  type UpdateSource,
} from './update-source.ts';
import {
  type BatchStatus,
  batchExecutions,
  connectForUpdates,
  countsOf,
  createTally,
  hasBegun,
  inputOf,
  isResume,
  LISTED,
  refuseBatchName,
  resultsOf,
  resultText,
  resumedName,
  sendsUntil,
  statusOf,
  type UpdatesTarget,
} from './update-status.ts';

/** How to apply a batch; missing options come from the configuration. */
export interface BatchOptions {
  /** Changes per second. */
  maxRate?: number | undefined;
  stopAfterFailures?: number | undefined;
}

interface UpdateOptions extends TargetOptions, BatchOptions {
  resume?: string;
  overNewer?: boolean;
  configuration?: string;
  dryRun?: boolean;
  yes?: boolean;
  json?: boolean;
}

/** `update`: checks all lines, asks for confirmation, sends a batch and follows it to its end. */
export async function update(file: string | undefined, options: UpdateOptions): Promise<void> {
  const { resume, overNewer, dryRun, json } = options;
  if ((file === undefined) === (resume === undefined)) throw usageError('Name a file, or a batch with --resume.');
  if (overNewer && resume === undefined) throw usageError('--over-newer needs --resume.');
  if (dryRun && json) throw usageError('--dry-run has no JSON document: leave out --json.');
  if (resume !== undefined) return resumeBatch(resume, options);
  const source = await openUpdateFile(file ?? '');
  // A dry run of a file calls no cloud.
  if (dryRun) return showDryRun(await checkUpdates(source, rulesOf(options)));
  return checkAndSend(source, await connectForUpdates(options), options);
}

async function resumeBatch(batch: string, options: UpdateOptions): Promise<void> {
  refuseBatchName(batch);
  const target = await connectForUpdates(options);
  const status = await statusOf(target, batch);
  await refuseToResume(target, status);
  if (!options.overNewer) await refuseLaterBatches(target, status);
  const source = unfinishedLines(target, batch);
  if (options.dryRun) return showDryRun(await checkUpdates(source, (await deployedConfiguration(target)).updates));
  if (status.manifestKey === null) await drainBatch(target, status);
  printErr(`Sending the remaining lines of ${batch}. Line numbers refer to the first file.`);
  return checkAndSend(source, target, options, status);
}

/** The lines of a finished batch that were neither applied nor rejected, at their line numbers. */
function unfinishedLines({ store }: UpdatesTarget, batch: string): UpdateSource {
  return {
    name: `the remaining lines of ${batch}`,
    reader: JSONL,
    open: () => failedLines(inputOf(store, batch), resultsOf(store, batch), 'resume'),
  };
}

/**
 * @throws CommandError (exit code 2) for a batch that has not ended, never began, was already resumed, or leaves nothing
 *  to send
 */
async function refuseToResume(
  { store }: UpdatesTarget,
  { batch, status, resumedAs, manifestKey, counts }: BatchStatus,
): Promise<void> {
  if (status === 'RUNNING') throw refused(`The batch ${batch} is still under way: wait for its end.`);
  if (manifestKey === null && !(await hasBegun(store, batch))) {
    throw refused(
      `The batch ${batch} ended before it sent a line. Send its file again. If it resumed an earlier batch, resume the earlier batch again.`,
    );
  }
  if (manifestKey !== null && counts.FAILED + counts.UNKNOWN + counts.NOT_SENT === 0) {
    throw refused(`Every line of ${batch} was applied or rejected: there is nothing to resume.`);
  }
  if (resumedAs === null) return;
  throw refused(
    `The batch ${batch} was already resumed as ${resumedAs}. Look at that batch with update-status, and resume it for the remaining lines.`,
  );
}

/**
 * Refuses to resume a batch if later ones began: its older values would overwrite newer ones of the same customers.
 * @throws CommandError (exit code 2) that lists the later batches, or says that they are no longer known
 */
async function refuseLaterBatches(target: UpdatesTarget, { batch, status, startedAt }: BatchStatus): Promise<void> {
  if (status === null) {
    throw refused(
      `Step Functions no longer has the execution of ${batch}, so later batches are unknown. Add --over-newer to send its lines even if a later batch changed the same customers.`,
    );
  }
  const executions = await batchExecutions(target, { since: new Date(startedAt) });
  const begun = await eachOf(executions, async ({ batch: name, execution }) => {
    // Another person who resumes the batch at the same time sends the same lines.
    if (name === batch || isResume(execution.name, batch)) return [];
    // A batch without a claim has sent no line.
    return execution.status === 'RUNNING' || (await hasBegun(target.store, name)) ? [name] : [];
  });
  const later = [...new Set(begun.flat())];
  if (later.length === 0) return;
  const lines = `${CRM_EXPORT} update-status ${batch} --failed-to FILE.jsonl`;
  throw refused(
    `Batches that started after ${batch} may have changed the same customers: ${later.slice(0, LISTED).join(', ')}${later.length > LISTED ? ', …' : '.'} To compare the lines yourself, write them to a file: ${lines}. To send them as they are, add --over-newer.`,
  );
}

/**
 * Waits until no function of a stopped batch can send, because stopping an execution does not stop its functions. First
 * raises the stop flag, even for an old batch, because a redrive would send again. After that, functions send only
 * claimed lines without a result. This function waits for these results, at most for the time limit of a Lambda
 * function after the stop.
 */
async function drainBatch(
  { sfn, store }: UpdatesTarget,
  { batch, endedAt }: Pick<BatchStatus, 'batch' | 'endedAt'>,
): Promise<void> {
  const awsNow = () => new Date(Date.now() + sfn.config.systemClockOffset);
  const stoppedAt = endedAt ?? awsNow().toISOString();
  const end = sendsUntil(stoppedAt);
  const sentence = 'The batch was stopped, and its remaining lines are sent as another batch.';
  await createStopFlag(store, keysOf(batch).stop).raise({ reason: 'UpdateStopped', sentence });
  const since = new Date(Date.parse(stoppedAt) - LONGEST_INVOCATION_SECONDS * 1000);
  for (let reported = false; awsNow() < end; reported = true) {
    await sleep(PAUSE_MS);
    const open = await openClaims(store, batch, since);
    if (open === 0) return;
    if (reported) continue;
    printErr(
      `Functions of ${batch} may still be sending: waiting for the results of ${countText(open, 'part')}, until ${end.toISOString()} at most (the time limit of a function).`,
    );
  }
}

/** The rules that the functions would apply, if the configuration file exists. */
function rulesOf({ deployment, configuration, endpointUrl = process.env.AWS_ENDPOINT_URL }: UpdateOptions): LineRules {
  if (configuration === undefined && !existsSync(configurationFile(deployment))) return { allowNull: false };
  // A local configuration needs a loopback address, even if no cloud is called.
  return readConfiguration(deployment, configuration, endpointUrl ?? 'http://127.0.0.1').deployment.updates;
}

async function showDryRun({ source, records, lines }: CheckedUpdates): Promise<void> {
  printOut(
    `${source.name}: ${countText(records, 'record')} on ${countText(lines, 'line')}, all valid. Nothing was sent.`,
  );
  for (const sample of await samplesOf(source)) printOut(sample);
}

async function checkAndSend(
  source: UpdateSource,
  target: UpdatesTarget,
  options: UpdateOptions,
  resumed?: BatchStatus,
): Promise<void> {
  const { updates } = await deployedConfiguration(target);
  if ((options.maxRate ?? 0) > updates.maxRate)
    throw refused(`--max-rate is at most ${updates.maxRate}, the updates.maxRate of the deployment.`);
  const checked = await checkUpdates(source, updates);
  const { maxRate, stopAfterFailures, yes, deployment } = options;
  if (!yes && checked.records > 1) {
    const [, , , region = '', account = ''] = target.UpdatesStateMachineArn.split(':');
    const what = `${source.name} changes ${countText(checked.records, 'customer')} of ${deployment}`;
    await askHere(`${what} (account ${account}, ${region}). Send?`, 'nothing was sent.');
  }
  const batch = resumed ? resumedName(resumed.batch) : timedName('update');
  const key = await uploadInput(target.store, batch, checked);
  // Another batch may have begun in the meantime. If this check refuses, the next resume finds the stored lines.
  if (resumed && !options.overNewer) await refuseLaterBatches(target, resumed);
  // The name is printed before the start: if the answer gets lost, the user can look up the batch by this name.
  printErr(`Batch ${batch}: ${countText(checked.records, 'record')}.`);
  const executionArn = await startBatch(target, key, { maxRate, stopAfterFailures });
  await finishBatch(target, { batch, executionArn, records: checked.records, resumes: resumed?.batch }, options);
}

/**
 * Uploads the checked bytes as the input of a batch, CSV as JSON Lines with the same line numbers. It stores all bytes
 * or none. The same bytes may exist already, from another person who resumes the same batch.
 * @returns the key
 * @throws CommandError: 2 if the bytes differ from the checked ones, 1 if the key has other bytes; RunError of the bucket
 */
export async function uploadInput(store: UploadBucket, batch: string, checked: CheckedUpdates): Promise<string> {
  const same = sameBytes(checked);
  const isCsv = checked.source.reader === CSV;
  const body = Readable.from(isCsv ? csvToJsonl(same) : same, { objectMode: false });
  const key = keysOf(batch).input;
  try {
    if (await store.uploadOnce(key, body)) return key;
  } catch (error) {
    // The client of the bucket wraps errors of the body.
    if (error instanceof RunError && error.cause instanceof CommandError) throw error.cause;
    throw error;
  }
  // The whole object is compared, because for an upload in parts S3 keeps only a checksum of the part checksums.
  const total = { bytes: 0, crc32: 0 };
  for await (const _ of measured((await store.stream(key))?.chunks ?? Readable.from([]), total));
  if (total.bytes === checked.bytes && total.crc32 === checked.crc32) return key;
  const why = `The object ${key} does not have the lines to send again`;
  const advice = 'If no execution has that batch, delete the object and resume again.';
  throw new CommandError(`StorageConflict: ${why}. ${advice}`, RUN_FAILED);
}

async function* sameBytes({ source, bytes, crc32 }: CheckedUpdates): AsyncGenerator<Uint8Array> {
  const total = { bytes: 0, crc32: 0 };
  yield* measured(source.open(), total);
  if (total.bytes === bytes && total.crc32 === crc32) return;
  throw refused(`${source.name} changed while it was read: wait until it is complete.`);
}

/**
 * Starts the state machine on an uploaded file. The name of the execution begins with the name of the batch. Of two
 * executions of a batch one claims it, and the other ends as `UpdateAlreadyStarted`.
 * @param file key of the file in the bucket, `updates/BATCH/input.jsonl`
 * @returns the ARN of the execution
 */
export async function startBatch(
  { sfn, UpdatesStateMachineArn: stateMachineArn }: Pick<UpdatesTarget, 'sfn' | 'UpdatesStateMachineArn'>,
  file: string,
  options: BatchOptions = {},
): Promise<string> {
  const name = `${file.split('/')[1]}-${randomBytes(3).toString('hex')}`;
  const input = JSON.stringify({ file, ...options });
  const started = await sfn.send(new StartExecutionCommand({ stateMachineArn, name, input }));
  return started.executionArn ?? '';
}

interface Started {
  batch: string;
  executionArn: string;
  records: number;
  resumes: string | undefined;
}

/**
 * Follows a batch to its end and prints the result.
 * @throws CommandError: 1 if a line was not applied, 130 after Ctrl-C, which stops following but not the batch
 */
async function finishBatch(target: UpdatesTarget, started: Started, options: UpdateOptions): Promise<void> {
  const { batch, records } = started;
  const show = commandFor(`update-status ${batch}`, options);
  const left = `Stopped following. The batch ${batch} continues. To show it: ${show}`;
  const execution = await untilInterrupted(left, (signal) => followBatch(target, started, signal));
  const status = await statusOf(target, batch, { execution, records });
  const ok = status.records !== null && status.counts.APPLIED === status.records;
  if (options.json) printJson({ ok, ...status });
  // `UpdateAlreadyStarted` means that another execution applies the batch.
  else if (status.error !== 'UpdateAlreadyStarted') {
    const { REJECTED, FAILED, UNKNOWN, NOT_SENT } = status.counts;
    // A batch that never began cannot be resumed.
    const resumable = (await hasBegun(target.store, batch)) ? batch : started.resumes;
    const again = commandFor(resumable ? `update --resume ${resumable}` : 'update FILE', options);
    const correct = commandFor(`update-status ${batch} --failed-to FILE.jsonl`, options);
    const advice = [
      // This advice comes first: once a later batch has begun, a resume needs another option.
      ...(FAILED + UNKNOWN + NOT_SENT > 0 ? [`To send lines again: ${again}`] : []),
      ...(REJECTED > 0 ? [`To correct rejected lines: ${correct}`] : []),
    ];
    printOut([...(await resultText(target.store, status)), ...advice].join('\n'));
  }
  if (!ok) throw new CommandError(failureText(status), RUN_FAILED, { documented: options.json === true });
}

/** The wait between two reads of a batch. It is longer than functions cache the stop flag (`batch-state.ts`). */
const PAUSE_MS = 2000;
/** Without a terminal, this many lines of progress are printed. */
const STEPS = 20;

/** @throws the reason of the signal */
async function followBatch(
  { sfn, store }: UpdatesTarget,
  { batch, executionArn, records }: Started,
  signal: AbortSignal,
) {
  const { stderr } = process;
  // A terminal without a known size cannot show a live row.
  const row = stderr.isTTY && stderr.columns > 0 && stderr.rows > 0 ? liveLine(stderr) : undefined;
  const tally = createTally(store, batch);
  for (let shown = -1; ; ) {
    signal.throwIfAborted();
    const execution = await sfn.send(new DescribeExecutionCommand({ executionArn }));
    // The results are read after the status, so that they include all results from before the end.
    await tally.refresh();
    const seconds = secondsBetween(execution.startDate, execution.stopDate ?? new Date());
    const text = progressText(tally.counts, records, seconds);
    const step = Math.floor((totalOf(tally.counts) * STEPS) / records);
    if (row) row.show(text);
    else if (step !== shown) printErr(text);
    shown = step;
    if (execution.status !== 'RUNNING') return execution;
    await sleep(PAUSE_MS, undefined, { signal });
  }
}

/** `430 of 1,000 lines (43 %), 21.3 a second; 2 REJECTED` */
export function progressText(counts: Counts, records: number, seconds: number): string {
  const lines = totalOf(counts);
  // Rounded down, so that 100 means that all lines are done.
  const percent = Math.floor((lines * 100) / records);
  const rate = seconds > 0 ? `, ${(lines / seconds).toFixed(1)} a second` : '';
  const others = countsOf({ ...counts, APPLIED: 0 });
  const done = `${numberText(lines)} of ${countText(records, 'line')} (${percent} %)${rate}`;
  return [done, others.join(', ')].filter(Boolean).join('; ');
}
