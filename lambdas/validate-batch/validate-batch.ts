import { type BatchKeys, keysOf, LARGEST_INPUT_BYTES } from '../../core/batch/batch-keys.ts';
import type { Batch, BatchState } from '../../core/batch/batch-state.ts';
import type { BatchAnswer } from '../../core/batch/batch-step.ts';
import type { BatchStore } from '../../core/batch/batch-store.ts';
import { chunksText } from '../../core/batch/chunk-index.ts';
import { type Validation, validateUpdates } from '../../core/batch/validate-updates.ts';
import { RunError } from '../../core/errors.ts';
import { dateAfter } from '../../core/schedule/local-time.ts';
import type { Invocation } from '../../core/step/invocation.ts';
import type { ObjectStream } from '../../core/storage/bucket.ts';
import { FIELD_RULES } from '../../core/updates/customer-fields.ts';
import type { ProblemReport } from '../../core/updates/problems.ts';
import { JSONL, VALIDATED_JSONL } from '../../core/updates/read-jsonl.ts';
import { crc32Text } from '../../transfer/base/crc32.ts';
import { claimBatch } from './claim-batch.ts';
import { type BatchInput, parseInput } from './input.ts';
import { resumedLines } from './resumed-lines.ts';

export interface ValidateBatchDeps extends Invocation {
  store: BatchStore;
  softwareVersion: string;
}

/** The state machine times out after three days; retries may take the third. */
const LONGEST_BATCH_SECONDS = 2 * 86_400;

/**
 * Checks the input and the whole file, claims the batch for this execution and leaves the index of its chunks.
 * Returns VALIDATED with `batch`. One wrong line refuses the file, and nothing is sent.
 */
export async function validateBatch(state: BatchState, deps: ValidateBatchDeps): Promise<BatchAnswer<'ValidateBatch'>> {
  const input = parseInput(state.input, deps.deployment.updates.maxRate);
  const keys = keysOf(input.batch);
  const file = await openInput(keys.input, deps.store);
  const validation =
    input.resumes === null
      ? await validateUpdates(JSONL, file.chunks, deps.deployment.updates)
      : await validateUpdates(VALIDATED_JSONL, resumedLines(file.chunks, deps.store, keys.input, input.resumes));
  refuse(keys.input, file, validation);
  refuseEndless(validation.records, input.maxRate);

  const batch = beginBatch(state, input, keys, { etag: file.etag, ...validation }, deps);
  await claimBatch(deps.store, keys.started, state, batch);
  await writeIndex(deps.store, keys, chunksText(validation.chunks));
  return { outcome: 'VALIDATED', batch, waits: 0 };
}

async function openInput(key: string, store: BatchStore): Promise<ObjectStream> {
  const file = await store.stream(key);
  if (!file) throw new RunError('InvalidInput', `There is no file at ${key} in the bucket: upload it first.`);
  if (file.bytes <= LARGEST_INPUT_BYTES) return file;
  // An unread body would hold its connection.
  for await (const _ of file.chunks) break;
  throw new RunError(
    'UpdateFileInvalid',
    `${key} has ${file.bytes} bytes, more than the ${LARGEST_INPUT_BYTES} of one batch: cut it in several.`,
  );
}

function refuse(key: string, file: ObjectStream, { problems, lines, bytes }: Validation): void {
  if (problems.total > 0) throw new RunError('UpdateFileInvalid', problemsSentence(key, lines, problems));
  if (bytes !== file.bytes) throw new RunError('StorageUnavailable', `The file at ${key} did not come whole.`);
}

/** One sentence: counts, and the first line with its field. No values, no unknown names. */
function problemsSentence(key: string, lines: number, { total, first }: ProblemReport): string {
  const [problem] = first;
  const count = total === 1 ? 'one problem' : `${total} problems`;
  if (!problem) return `${key} has ${count}.`;
  if (problem.line === 0) return `${key} ${problem.sentence}.`;
  const { line, field, sentence } = problem;
  // An unknown name may be anything, even a misplaced value.
  const name = field === 'id' || (field && FIELD_RULES.has(field)) ? `"${field}"` : 'a name in it';
  return `${key} has ${count} in ${lines} lines. The first is on line ${line}: ${field === null ? 'it' : name} ${sentence}.`;
}

function refuseEndless(records: number, maxRate: number): void {
  if (records / maxRate <= LONGEST_BATCH_SECONDS) return;
  const days = LONGEST_BATCH_SECONDS / 86_400;
  throw new RunError(
    'UpdateFileInvalid',
    `${records} records at ${maxRate} changes per second take more than the ${days} days that a batch may: cut it in several, or raise the rate.`,
  );
}

function beginBatch(
  { startedAt }: BatchState,
  { batch, maxRate, stopAfterFailures }: BatchInput,
  keys: BatchKeys,
  found: Pick<ObjectStream, 'etag'> & Validation,
  { deployment, softwareVersion }: ValidateBatchDeps,
): Batch {
  const { etag, bytes, lines, records, chunks } = found;
  const { concurrency, retentionDays } = deployment.updates;
  return {
    schemaVersion: 1,
    batch,
    inputKey: keys.input,
    etag,
    bytes,
    crc32: crc32Text(found.crc32),
    lines,
    records,
    chunks: chunks.length,
    chunksKey: keys.chunks,
    maxRate,
    chunkRate: maxRate / Math.min(concurrency, chunks.length),
    stopAfterFailures,
    keptUntil: dateAfter(startedAt, retentionDays),
    softwareVersion,
    warnings: found.warnings.map(
      ({ field, sentence, records: times, firstLine }) =>
        `"${field}" ${sentence}: ${times} records, first on line ${firstLine}.`,
    ),
  };
}

/** Writes the index once; a retry has equal bytes, since it reads the same version of the file. */
async function writeIndex(store: BatchStore, { chunks }: BatchKeys, text: string): Promise<void> {
  if (await store.putOnce(chunks, text)) return;
  if ((await store.read(chunks))?.text === text) return;
  throw new RunError(
    'StorageConflict',
    `The object at ${chunks} is another index of chunks than this batch would write.`,
  );
}
