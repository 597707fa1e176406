import { open, rm } from 'node:fs/promises';
import {
  DescribeExecutionCommand,
  type DescribeExecutionCommandOutput,
  type DescribeExecutionOutput,
  ListExecutionsCommand,
} from '@aws-sdk/client-sfn';
import type { Command } from 'commander';
import * as z from 'zod/mini';
import { type BatchManifest, type Counts, type LineOutcome, OUTCOMES } from '../../core/batch/batch-results.ts';
import { type BatchStore, keysOf } from '../../core/batch/batch-store.ts';
import { failedLines } from '../../core/batch/failed-lines.ts';
import { parseJson } from '../../core/json.ts';
import { formatOf } from '../../core/updates/read-updates.ts';
import { executionOf as executionFrom, type Run, readInput, runOf } from '../runs/run.ts';
import { failureText, outcomeWord } from '../runs/run-words.ts';
import { commandFor, pathArgument, withExamples } from '../support/command-options.ts';
import { CommandError, USAGE } from '../support/exit.ts';
import { printErr, printJson, printOut } from '../support/print.ts';
import type { TargetOptions } from '../support/target.ts';
import { manyText, plainLine } from '../support/text.ts';
import { textTable } from '../support/text-table.ts';
import {
  batchArgument,
  connectForUpdates,
  countsText,
  failuresText,
  inputOf,
  latestResultsOf,
  ResultTally,
  readBatchManifest,
  resumedBy,
  sendsUntil,
  type UpdatesTarget,
} from './batch-facts.ts';

interface StatusOptions extends TargetOptions {
  failedTo?: string;
  json?: boolean;
}

const LISTED = 10;

/** Registers `update-status`, which changes no data in the CRM. */
export function addUpdateStatus(command: Command): void {
  command
    .argument('[batch]', 'name of a batch', batchArgument)
    .option(
      '--failed-to <file>',
      'write the lines that are not applied yet to a new JSON Lines file (.jsonl), to be corrected and sent',
      pathArgument,
    )
    .option('--json', 'one JSON document')
    .action(show);
  withExamples(command, {
    'update-status --deployment prod': 'the last batches',
    'update-status update-20261120T094133Z-9bef26 --deployment prod --failed-to failed.jsonl': 'lines to correct',
  });
}

async function show(batch: string | undefined, options: StatusOptions): Promise<void> {
  if (batch === undefined && options.failedTo !== undefined) {
    throw usage('Name the batch whose lines --failed-to is to write.');
  }
  const target = await connectForUpdates(options);
  if (batch === undefined) {
    const batches = await lastBatches(target, LISTED);
    return options.json ? printJson({ batches }) : printOut(listText(batches));
  }
  const status = await oneBatch(target, batch);
  if (options.json) printJson(status);
  else printOut([...detailsOf(status, options), ...(await failuresText(target.store, status))].join('\n'));
  if (options.failedTo === undefined) return;
  const last = await lastResuming(target, status);
  const written = await writeFailedLines(target.store, status, last, options.failedTo);
  printErr(`Wrote ${manyText(written, 'line')} to ${options.failedTo}, which holds customer data.`);
  const { endedAt, manifestKey } = last;
  const until = manifestKey === null && endedAt ? sendsUntil(endedAt) : undefined;
  if (until === undefined) return;
  printErr(
    `Warning: functions of ${last.batch} may still be sending, until ${until} UTC at most: lines of this file may be applied all the same. Write it again after that, or use update --resume, which waits for them.`,
  );
}

/** The last batch in a chain of resumed batches; it may still be in progress. */
async function lastResuming(target: UpdatesTarget, status: BatchStatus): Promise<BatchStatus> {
  return status.resumedAs === null ? status : lastResuming(target, await oneBatch(target, status.resumedAs));
}

function listText(batches: BatchStatus[]): string {
  if (batches.length === 0) return 'There is no batch yet.';
  const outcomes = Object.keys(OUTCOMES) as LineOutcome[];
  const rows = batches.map((run) => [
    run.batch,
    run.startedAt.slice(0, 19),
    outcomeWord(run),
    ...outcomes.map((outcome) => String(run.counts[outcome])),
  ]);
  return textTable(['batch', 'started (UTC)', 'outcome', ...outcomes], rows);
}

function detailsOf(status: BatchStatus, options: StatusOptions): string[] {
  const { batch, startedAt, endedAt, error, counts, resumedAs } = status;
  const records = status.records === null ? 'not summarized' : manyText(status.records, 'record');
  return [
    plainLine(`${batch}: ${status.status === null ? 'its execution is forgotten' : outcomeWord(status)}, ${records}`),
    plainLine(`From ${startedAt} to ${endedAt ?? 'now'}.`),
    ...(error ? [failureText(status)] : []),
    ...(resumedAs ? [`Resumed as ${resumedAs}: ${commandFor(`update-status ${resumedAs}`, options)}`] : []),
    '',
    countsText(counts),
  ];
}

/**
 * Writes the lines of a batch that neither it nor a batch that resumed it has applied. The new file is JSON Lines, byte
 * for byte as stored, and only its owner may read it.
 * @param last the last batch that resumes it, or the batch itself
 * @returns the number of lines
 * @throws CommandError (exit code 2) if there are no such lines, the file exists, or its name is not for JSON Lines
 */
async function writeFailedLines(
  store: BatchStore,
  { batch, resultKey, counts, records }: BatchStatus,
  last: BatchStatus,
  path: string,
): Promise<number> {
  if (formatOf(path) !== 'jsonl') throw usage(`Failed lines are written as JSON Lines: ${path} must end in .jsonl.`);
  if (last.status === 'RUNNING') throw usage(`The batch ${last.batch} is still under way: wait for its end.`);
  if (resultKey !== null && counts.APPLIED === records) throw usage(`Every line of ${batch} was applied.`);
  const file = await open(path, 'wx', 0o600).catch((error: unknown) => {
    const exists = error instanceof Error && 'code' in error && error.code === 'EEXIST';
    throw usage(exists ? `${path} exists already, and is not written over.` : `${path} cannot be written.`, error);
  });
  try {
    let lines = 0;
    for await (const bytes of failedLines(inputOf(store, batch), latestResultsOf(store, batch))) {
      await file.writeFile(bytes);
      for (const byte of bytes) if (byte === 0x0a) lines += 1;
    }
    if (lines === 0) throw usage(`Every line of ${batch} was applied, the last ones by ${last.batch}.`);
    await file.close();
    return lines;
  } catch (error) {
    await file.close();
    // An incomplete file would look complete, so it is removed.
    await rm(path, { force: true });
    throw error;
  }
}

function usage(sentence: string, cause?: unknown): CommandError {
  return new CommandError(sentence, USAGE, { cause });
}

/** A batch as `--json` prints it. Unknown values are null. */
interface BatchStatus extends Run {
  batch: string;
  /** The number of all records; null until they are counted. */
  records: number | null;
  /** The batch that resumes this one. */
  resumedAs: string | null;
  /** The number of lines with each outcome. */
  counts: Counts;
  resultKey: string | null;
}

/** The batches of the newest executions, newest first, except executions whose batch belongs to another execution. */
async function lastBatches(target: UpdatesTarget, most: number): Promise<BatchStatus[]> {
  const statuses: BatchStatus[] = [];
  for (const execution of await lastExecutions(target, most)) {
    const batch = batchOf(execution);
    if (batch === undefined) continue;
    statuses.push(await statusOf(target, batch, execution, await readBatchManifest(target.store, batch)));
  }
  return statuses;
}

/** @throws CommandError (exit code 2) if neither the bucket nor Step Functions has the batch */
async function oneBatch(target: UpdatesTarget, batch: string): Promise<BatchStatus> {
  const execution = await executionOf(target, batch);
  const manifest = await readBatchManifest(target.store, batch);
  const known = execution ?? (manifest && { name: batch, startDate: new Date(manifest.startedAt) });
  if (known) return statusOf(target, batch, known, manifest);
  throw new CommandError(`There is no batch ${batch} here.`, USAGE);
}

/** @param execution without an ARN if Step Functions has deleted it */
export async function statusOf(
  { store }: UpdatesTarget,
  batch: string,
  execution: Partial<DescribeExecutionOutput>,
  manifest: BatchManifest | undefined,
): Promise<BatchStatus> {
  const tally = new ResultTally(store, batch);
  if (!manifest) await tally.refresh();
  const run = runOf(executionFrom(execution));
  const { counts, input, result, finishedAt, keptUntil = null } = manifest ?? {};
  const outcome = counts && counts.APPLIED === input?.records ? 'applied' : 'failed';
  const left = { status: null, executionArn: null, endedAt: finishedAt ?? null, outcome } as const;
  return {
    ...run,
    ...(execution.executionArn === undefined && { ...left, needsPerson: outcome === 'failed' }),
    what: 'update',
    of: batch,
    keptUntil,
    manifestKey: manifest ? keysOf(batch).manifest : null,
    batch,
    records: input?.records ?? null,
    resumedAs: (await resumedBy(store, batch)) ?? null,
    counts: counts ?? tally.counts,
    resultKey: result?.key ?? null,
  };
}

const claimSchema = z.object({ execution: z.string() });

/**
 * The execution that claimed a batch; before a claim, one of the last 100 executions whose input names the batch.
 * @returns `undefined` if there is no such execution any more
 */
export async function executionOf(
  target: UpdatesTarget,
  batch: string,
): Promise<DescribeExecutionCommandOutput | undefined> {
  const { sfn, store, UpdatesStateMachineArn } = target;
  const claim = parseJson(claimSchema, (await store.read(keysOf(batch).started))?.text);
  if (!claim) return (await lastExecutions(target, 100)).find((execution) => batchOf(execution) === batch);
  const describe = new DescribeExecutionCommand({
    executionArn: executionArn(UpdatesStateMachineArn, claim.execution),
  });
  return sfn.send(describe).catch((error: unknown) => {
    // Step Functions deletes an execution 90 days after its end.
    if (error instanceof Error && error.name === 'ExecutionDoesNotExist') return undefined;
    throw error;
  });
}

export function executionArn(machineArn: string, name: string): string {
  return `${machineArn.replace(':stateMachine:', ':execution:')}:${name}`;
}

async function lastExecutions({ sfn, UpdatesStateMachineArn: stateMachineArn }: UpdatesTarget, maxResults: number) {
  const { executions = [] } = await sfn.send(new ListExecutionsCommand({ stateMachineArn, maxResults }));
  const described = await Promise.all(
    executions.map(({ executionArn }) => sfn.send(new DescribeExecutionCommand({ executionArn }))),
  );
  return described.filter(({ error }) => error !== 'UpdateAlreadyStarted');
}

export function batchOf(execution: DescribeExecutionCommandOutput): string | undefined {
  const { what, of } = readInput(execution.input);
  return what === 'update' ? of : undefined;
}
