import * as z from 'zod/mini';
import type { Batch, BatchAnswer, BatchState } from '../../core/batch/batch-state.ts';
import { batchOfInput, keysOf, LARGEST_INPUT_BYTES } from '../../core/batch/batch-store.ts';
import { chunksText, type ProblemReport, type Validation, validateUpdates } from '../../core/batch/validate-updates.ts';
import { countText } from '../../core/count-text.ts';
import { RunError } from '../../core/errors.ts';
import { parseJson } from '../../core/json.ts';
import { dateAfter } from '../../core/schedule/local-time.ts';
import { ignoredKeys, inputOf } from '../../core/step/machine-input.ts';
import type { Invocation } from '../../core/step/step.ts';
import type { Bucket, ObjectStream } from '../../core/storage/bucket.ts';
import { FIELD_RULES } from '../../core/updates/customer-fields.ts';
import { JSONL } from '../../core/updates/read-updates.ts';
import { crc32Text } from '../../transfer/base/crc32.ts';

export interface ValidateBatchDeps extends Invocation {
  store: Bucket;
  softwareVersion: string;
}

/** The longest batch at its rate. The state machine times out after three days; the third day is for retries. */
const LONGEST_BATCH_SECONDS = 2 * 86_400;

/**
 * Checks the input and the whole file, claims the batch for this execution and writes the index of its chunks. Returns
 * VALIDATED with `batch`. A single wrong line refuses the file, and no line is sent.
 */
export async function validateBatch(
  state: BatchState,
  { store, deployment: { updates }, softwareVersion }: ValidateBatchDeps,
): Promise<BatchAnswer<'ValidateBatch'>> {
  const { batch: name, maxRate, stopAfterFailures } = parseInput(state.input, updates.maxRate);
  const keys = keysOf(name);
  const file = await openInput(keys.input, store);
  const validation = await validateUpdates(JSONL, file.chunks, updates, file.bytes);
  refuse(keys.input, file, validation, maxRate);
  const { bytes, crc32, lines, records, chunks, warnings } = validation;
  const batch: Batch = {
    schemaVersion: 1,
    batch: name,
    inputKey: keys.input,
    etag: file.etag,
    ...{ bytes, lines, records, maxRate, stopAfterFailures, softwareVersion },
    crc32: crc32Text(crc32),
    chunks: chunks.length,
    chunksKey: keys.chunks,
    chunkRate: maxRate / Math.min(updates.concurrency, chunks.length),
    keptUntil: dateAfter(state.startedAt, updates.retentionDays),
    warnings: warnings.map(
      ({ field, sentence, records: times, firstLine }) =>
        `"${field}" ${sentence}: ${countText(times, 'record')}, first on line ${firstLine}.`,
    ),
  };
  await claimBatch(store, keys.started, state, batch);
  await writeIndex(store, keys.chunks, chunksText(chunks));
  return { outcome: 'VALIDATED', batch, waits: 0 };
}

async function openInput(key: string, store: Bucket): Promise<ObjectStream> {
  const file = await store.stream(key);
  if (!file) throw new RunError('InvalidInput', `There is no file at ${key} in the bucket: upload it first.`);
  if (file.bytes <= LARGEST_INPUT_BYTES) return file;
  // An unread body would keep its connection open.
  for await (const _ of file.chunks) break;
  throw new RunError(
    'UpdateFileInvalid',
    `${key} has ${file.bytes} bytes, more than the ${LARGEST_INPUT_BYTES} of one batch: split it into several batches.`,
  );
}

function refuse(key: string, file: ObjectStream, validation: Validation, maxRate: number): void {
  const { problems, lines, bytes, records } = validation;
  if (problems.total > 0) throw new RunError('UpdateFileInvalid', problemsSentence(key, lines, problems));
  if (bytes !== file.bytes)
    throw new RunError('StorageUnavailable', `The file at ${key} could not be read completely.`);
  if (records / maxRate <= LONGEST_BATCH_SECONDS) return;
  const days = LONGEST_BATCH_SECONDS / 86_400;
  throw new RunError(
    'UpdateFileInvalid',
    `${records} records at ${maxRate} changes per second take longer than the ${days} days that a batch may take: split it into several batches, or raise the rate.`,
  );
}

/** Returns one sentence: counts, and the first line with its field, without values and unknown names. */
function problemsSentence(key: string, lines: number, { total, first }: ProblemReport): string {
  const [problem] = first;
  const count = total === 1 ? 'one problem' : `${total} problems`;
  if (!problem) return `${key} has ${count}.`;
  if (problem.line === 0) return `${key} ${problem.sentence}.`;
  const { line, field, sentence } = problem;
  // An unknown name may be any text, even a misplaced value.
  const name = field === 'id' || (field && FIELD_RULES.has(field)) ? `"${field}"` : 'one of its names';
  return `${key} has ${count} in ${countText(lines, 'line')}. The first is on line ${line}: ${field === null ? 'it' : name} ${sentence}.`;
}

/** Writes the index once. A retry writes equal bytes, because it reads the same version of the file. */
async function writeIndex(store: Bucket, key: string, text: string): Promise<void> {
  if (await store.putOnce(key, text)) return;
  if ((await store.read(key))?.text === text) return;
  throw new RunError(
    'StorageConflict',
    `The object at ${key} is a different index of chunks from the one that this batch would write.`,
  );
}

const FILE =
  'must be the key of a file of updates in the bucket, updates/BATCH/input.jsonl (BATCH: letters, digits, hyphens)';

/** The input that a person or the command may give to the machine. */
const inputSchema = z.strictObject({
  file: z.string(FILE).check(z.refine((file) => batchOfInput(file) !== undefined, FILE)),
  /** Changes per second. The configured rate is the default and the maximum. */
  maxRate: z.optional(z.number().check(z.minimum(0.1))),
  /** The maximum is the number of objects that S3 lists at a time. */
  stopAfterFailures: z.optional(z.int().check(z.minimum(1), z.maximum(1000))),
  ...ignoredKeys,
});

/**
 * Checks the input of an execution.
 * @param largestRate changes per second that the configuration allows
 * @throws RunError `InvalidInput` with the problems and (as its advice) an example to paste. It quotes no values.
 */
function parseInput(input: unknown, largestRate: number) {
  const { file, maxRate = largestRate, stopAfterFailures = null } = inputOf(inputSchema, input, '');
  if (maxRate > largestRate) {
    throw new RunError('InvalidInput', `"maxRate" must be at most ${largestRate}, which updates.maxRate allows.`);
  }
  return { batch: batchOfInput(file) ?? '', maxRate, stopAfterFailures };
}

const claimSchema = z.object({ execution: z.string(), startedAt: z.string(), etag: z.string() });

/**
 * Claims a batch for the execution. S3 lets only one writer win. A retry of the step finds its own claim.
 *
 * @throws RunError `UpdateAlreadyStarted` if another execution has it, `StorageConflict` if the file was changed since
 */
async function claimBatch(
  store: Bucket,
  key: string,
  { execution, startedAt }: Pick<BatchState, 'execution' | 'startedAt'>,
  { batch, etag, inputKey }: Batch,
): Promise<void> {
  const claim = { execution, startedAt, etag };
  if (await store.putOnce(key, JSON.stringify(claim))) return;
  const existing = parseJson(claimSchema, (await store.read(key))?.text);
  if (existing?.execution !== execution || existing.startedAt !== startedAt) {
    const who = existing ? `the execution ${existing.execution}` : `the program that wrote ${key}`;
    throw new RunError('UpdateAlreadyStarted', `The batch ${batch} already belongs to ${who}.`);
  }
  if (existing.etag !== etag) {
    throw new RunError('StorageConflict', `The file at ${inputKey} was changed after this execution started.`);
  }
}
