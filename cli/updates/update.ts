import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { Readable } from 'node:stream';
import { crc32 } from 'node:zlib';
import { DescribeExecutionCommand, StartExecutionCommand } from '@aws-sdk/client-sfn';
import type { Command } from 'commander';
import { type BatchStore, keysOf, LARGEST_INPUT_BYTES } from '../../core/batch/batch-store.ts';
import { configurationFile, readConfiguration } from '../../core/config/configuration.ts';
import { RunError } from '../../core/errors.ts';
import { csvToJsonl } from '../../core/updates/read-csv.ts';
import type { LineRules } from '../../core/updates/update-line.ts';
import { numberArgument, pathArgument, withExamples } from '../support/command-options.ts';
import { confirm } from '../support/confirm.ts';
import { deployedConfiguration } from '../support/deployed-configuration.ts';
import { CommandError, RUN_FAILED, USAGE } from '../support/exit.ts';
import { printErr, printOut, writeText } from '../support/print.ts';
import type { TargetOptions } from '../support/target.ts';
import { manyText } from '../support/text.ts';
import { batchArgument, connectForUpdates, drainBatch, resumedName, type UpdatesTarget } from './batch-facts.ts';
import { finishBatch } from './finish.ts';
import { refuseLaterBatches, refuseToResume, resumedAlready, unfinishedLines } from './resume-batch.ts';
import {
  type CheckedUpdates,
  changed,
  checkUpdates,
  openUpdateFile,
  refused,
  samplesOf,
  tooLarge,
  type UpdateSource,
} from './update-source.ts';
import { executionArn } from './update-status.ts';

interface UpdateOptions extends TargetOptions, BatchOptions {
  resume?: string;
  overNewer?: boolean;
  configuration?: string;
  dryRun?: boolean;
  yes?: boolean;
  json?: boolean;
}

const RATE = numberArgument(
  'A rate is a number of changes per second, at least 0.1.',
  0.1,
  Number.POSITIVE_INFINITY,
  /^\d+(\.\d+)?$/,
);
const FAILURES = numberArgument('A number of failures is a whole number from 1 to 1000.', 1, 1000);

/** Updates customers from a file: checks all lines, asks for confirmation, sends a batch and follows it to its end. */
export function addUpdate(command: Command): void {
  command
    .argument('[file]', 'NAME.csv or NAME.jsonl', pathArgument)
    .option(
      '--resume <batch>',
      'instead of a file: the lines of a batch that were neither applied nor rejected',
      batchArgument,
    )
    .option('--over-newer', 'with --resume: send the lines even if a later batch may have changed the same customers')
    .option('--dry-run', 'only check, and show the requests of three lines')
    .option('--max-rate <n>', 'changes per second, at most what the configuration allows', RATE)
    .option('--stop-after-failures <n>', 'stop when so many lines were not applied, 1 to 1000', FAILURES)
    .option('--yes', 'do not ask before more than one customer is changed')
    .option(
      '--configuration <file>',
      'with --dry-run: says whether null is allowed; default: config/NAME.json',
      pathArgument,
    )
    .option('--json', 'one JSON document on standard output, all else on standard error')
    .action(update);
  withExamples(command, {
    'update customers.csv --deployment prod --dry-run': 'only check the file',
    'update customers.csv --deployment prod --max-rate 2': 'two changes a second; asks before',
    'update --resume update-20261120T094133Z-9bef26 --deployment prod': 'what was left of a batch',
  });
}

async function update(file: string | undefined, options: UpdateOptions): Promise<void> {
  if ((file === undefined) === (options.resume === undefined)) {
    throw new CommandError('Name a file, or a batch with --resume.', USAGE);
  }
  if (options.overNewer && file !== undefined) throw new CommandError('--over-newer belongs to --resume.', USAGE);
  if (options.dryRun && options.json)
    throw new CommandError('--dry-run has no JSON document: leave out --json.', USAGE);
  if (file !== undefined) return withSource(await openUpdateFile(file), options);
  return resumeBatch(options.resume ?? '', options);
}

async function resumeBatch(batch: string, options: UpdateOptions): Promise<void> {
  const target = await connectForUpdates(options);
  const unsummarized = await refuseToResume(target, batch);
  if (options.dryRun) {
    if (!options.overNewer) await refuseLaterBatches(target, batch, options).catch(printRefusal);
    return withSource(unfinishedLines(target, batch), options, target);
  }
  if (!options.overNewer) await refuseLaterBatches(target, batch, options);
  if (unsummarized) await drainBatch(target, batch, unsummarized.stopDate);
  printErr(`Sending again what is left of ${batch}; numbers of lines stay those of the first file.`);
  return withSource(unfinishedLines(target, batch), options, target);
}

/** Prints why a resume would be refused, because a dry run still shows the lines. */
function printRefusal(error: unknown): void {
  if (!(error instanceof CommandError)) throw error;
  printErr(error.message);
}

/** @param connected deployment of a batch to resume; for a file, this function connects, or a dry run calls no cloud */
async function withSource(source: UpdateSource, options: UpdateOptions, connected?: UpdatesTarget): Promise<void> {
  try {
    const target = connected ?? (options.dryRun ? undefined : await connectForUpdates(options));
    const rules = target ? (await deployedConfiguration(target)).updates : rulesOf(options);
    const checked = await checkUpdates(source, printErr, rules);
    if (options.dryRun || !target) return await showDryRun(checked);
    return await send(checked, target, options);
  } finally {
    await source.close();
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
    `${source.name}: ${manyText(records, 'record')} on ${manyText(lines, 'line')}, all valid. Nothing was sent.`,
  );
  for (const sample of await samplesOf(source)) printOut(sample);
}

async function send(checked: CheckedUpdates, target: UpdatesTarget, options: UpdateOptions): Promise<void> {
  await askBefore(checked, target, options);
  const { maxRate, stopAfterFailures, resume, overNewer } = options;
  const batch = resume === undefined ? newBatchName() : resumedName(resume);
  const key = await uploadInput(target.store, batch, checked, resume !== undefined);
  // Another batch may have begun meanwhile. If this refuses, the next resume finds these stored lines.
  if (resume !== undefined && !overNewer) await refuseLaterBatches(target, resume, options);
  // The name is printed before the start: if the answer gets lost, the user can look up the batch by this name.
  printErr(`Batch ${batch}: ${manyText(checked.records, 'record')}.`);
  const how = { maxRate, stopAfterFailures };
  const executionArn =
    resume === undefined
      ? await startBatch(target, key, how)
      : await startResumed(target, key, { ...how, resumes: resume });
  if (!executionArn) throw resumedAlready(resume ?? '');
  const failure = await finishBatch(target, { batch, executionArn, records: checked.records }, options);
  if (failure) throw new CommandError(failure, RUN_FAILED, { documented: options.json === true });
}

async function askBefore(
  { source, records }: CheckedUpdates,
  { UpdatesStateMachineArn }: UpdatesTarget,
  { yes, deployment }: UpdateOptions,
): Promise<void> {
  if (yes || records === 1) return;
  const [, , , region = '', account = ''] = UpdatesStateMachineArn.split(':');
  const what = `${source.name} changes ${manyText(records, 'customer')} of ${deployment} (account ${account}, ${region})`;
  if (!process.stdin.isTTY) throw refused(`${what}, and nobody is there to be asked: add --yes.`);
  const asking = { stream: process.stdin, print: (text: string) => writeText(process.stderr, text) };
  if (!(await confirm(asking, `${what}. Send?`))) throw refused('Not confirmed.');
}

/** How to apply a batch; missing options come from the configuration. */
export interface BatchOptions {
  /** Changes per second. */
  maxRate?: number | undefined;
  stopAfterFailures?: number | undefined;
}

/** A name that sorts by time: `update-20261120T020000-1a2b3c`. */
function newBatchName(): string {
  const stamp = new Date().toISOString().replace(/[-:]|\.\d+Z$/g, '');
  return `update-${stamp}-${randomBytes(3).toString('hex')}`;
}

/**
 * Starts the state machine on an uploaded file. The name of the execution begins with the name of the batch.
 * @param file key of the file in the bucket, `updates/BATCH/input.jsonl`
 * @returns the ARN of the execution
 */
export async function startBatch(
  { sfn, UpdatesStateMachineArn: stateMachineArn }: Pick<UpdatesTarget, 'sfn' | 'UpdatesStateMachineArn'>,
  file: string,
  options: BatchOptions = {},
  name = `${batchIn(file)}-${randomBytes(3).toString('hex')}`,
): Promise<string> {
  const input = JSON.stringify({ file, ...options });
  const started = await sfn.send(new StartExecutionCommand({ stateMachineArn, name, input }));
  return started.executionArn ?? '';
}

/**
 * Starts a batch that resumes another. Because of its name, two simultaneous commands start only one execution.
 * @returns `undefined` if another execution has or had the batch
 */
async function startResumed(
  target: UpdatesTarget,
  file: string,
  options: BatchOptions & { resumes: string },
): Promise<string | undefined> {
  const { sfn, store, UpdatesStateMachineArn } = target;
  const name = batchIn(file);
  try {
    return await startBatch(target, file, options, name);
  } catch (error) {
    if (!(error instanceof Error && error.name === 'ExecutionAlreadyExists')) throw error;
  }
  const describe = new DescribeExecutionCommand({ executionArn: executionArn(UpdatesStateMachineArn, name) });
  const { status } = await sfn.send(describe);
  if (status === 'RUNNING' || (await store.read(keysOf(name).started))) return undefined;
  // The execution has ended without a claim on the batch.
  return startBatch(target, file, options);
}

function batchIn(file: string): string {
  return file.split('/')[1] ?? '';
}

/**
 * Uploads the checked bytes as the input of a new batch, CSV as JSON Lines with the same line numbers. It stores all
 * bytes or none.
 * @param resumes whether the same bytes may exist already, from another person who resumes the same batch
 * @returns the key
 * @throws CommandError (exit code 2) if the bytes differ from the checked ones; RunError of the bucket, such as
 *   `StorageConflict` for a key with other bytes
 */
export async function uploadInput(
  store: BatchStore,
  batch: string,
  checked: CheckedUpdates,
  resumes = false,
): Promise<string> {
  const { source } = checked;
  const csv = source.reader.format === 'csv';
  const same = sameBytes(checked);
  const body = Readable.from(limited(csv ? csvToJsonl(same) : same, source.name), { objectMode: false });
  const key = keysOf(batch).input;
  try {
    if (await store.uploadOnce(key, body)) return key;
  } catch (error) {
    // The client of the bucket wraps errors of the body.
    if (error instanceof RunError && error.cause instanceof CommandError) throw error.cause;
    throw error;
  }
  if (!resumes) throw new RunError('StorageConflict', `There is an object at ${key} already.`);
  if (await isStored(store, key, checked)) return key;
  throw new RunError(
    'StorageConflict',
    `Other lines than are to be sent again stand at ${key}: if no execution has that batch, delete the object, and resume once more.`,
  );
}

/** Compares the whole object, because for an upload in parts S3 keeps only a checksum of the part checksums. */
async function isStored(store: BatchStore, key: string, checked: CheckedUpdates): Promise<boolean> {
  const object = await store.stream(key);
  let sum = 0;
  for await (const piece of object?.chunks ?? []) {
    if (object?.bytes !== checked.bytes) return false;
    sum = crc32(piece, sum);
  }
  return object?.bytes === checked.bytes && sum === checked.crc32;
}

async function* sameBytes({ source, bytes, crc32: expected }: CheckedUpdates): AsyncGenerator<Uint8Array> {
  let size = 0;
  let sum = 0;
  for await (const piece of source.open()) {
    size += piece.byteLength;
    sum = crc32(piece, sum);
    yield piece;
  }
  if (size !== bytes || sum !== expected) throw changed(source.name);
}

async function* limited(pieces: AsyncIterable<Uint8Array>, name: string): AsyncGenerator<Uint8Array> {
  let size = 0;
  for await (const piece of pieces) {
    size += piece.byteLength;
    if (size > LARGEST_INPUT_BYTES) throw tooLarge(name);
    yield piece;
  }
}
