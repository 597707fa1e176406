import * as z from 'zod';
import { batchNameSchema } from '../../core/batch/batch-results.ts';
import type { Batch, BatchAnswer, BatchState } from '../../core/batch/batch-state.ts';
import {
  type BatchKeys,
  type BatchStore,
  batchOfInput,
  keysOf,
  LARGEST_INPUT_BYTES,
} from '../../core/batch/batch-store.ts';
import { changed } from '../../core/batch/read-chunk.ts';
import { chunksText, type ProblemReport, type Validation, validateUpdates } from '../../core/batch/validate-updates.ts';
import { RunError } from '../../core/errors.ts';
import { parseJson } from '../../core/json.ts';
import { dateAfter } from '../../core/schedule/local-time.ts';
import type { Invocation } from '../../core/step/step.ts';
import type { ObjectStream } from '../../core/storage/bucket.ts';
import { quotedNames } from '../../core/suggestion.ts';
import { FIELD_RULES } from '../../core/updates/customer-fields.ts';
import { lineBlocks, linesIn, linesOf } from '../../core/updates/line-blocks.ts';
import { JSONL, VALIDATED_JSONL } from '../../core/updates/read-updates.ts';
import { crc32Text } from '../../transfer/base/crc32.ts';

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

/** What a person or the command may give to the machine. */
const inputSchema = z.strictObject({
  file: z.string().refine((file) => batchOfInput(file) !== undefined),
  /** Changes per second; default, and most: what the configuration says. */
  maxRate: z.number().min(0.1).optional(),
  /** S3 lists at most so many objects at a time. */
  stopAfterFailures: z.int().min(1).max(1000).optional(),
  /** The batch of which these lines are left: they were found valid there, and are not judged again. */
  resumes: batchNameSchema.optional(),
  Comment: z.string().max(1000).optional(),
  /** The console adds it to a start from another execution. */
  AWS_STEP_FUNCTIONS_STARTED_BY_EXECUTION_ID: z.string().max(1000).optional(),
});

const RULES: Record<string, string> = {
  file: '"file" must be the key of a file of updates in the bucket, updates/BATCH/input.jsonl (BATCH: letters, digits, hyphens)',
  maxRate: '"maxRate" must be a number of changes per second, at least 0.1',
  stopAfterFailures: '"stopAfterFailures" must be a whole number from 1 to 1000',
  resumes: '"resumes" must be the name of a batch (letters, digits, hyphens)',
  Comment: '"Comment" must be a text of at most 1000 characters',
  AWS_STEP_FUNCTIONS_STARTED_BY_EXECUTION_ID:
    '"AWS_STEP_FUNCTIONS_STARTED_BY_EXECUTION_ID" must be a text of at most 1000 characters',
};

interface BatchInput {
  batch: string;
  maxRate: number;
  stopAfterFailures: number | null;
  resumes: string | null;
}

/**
 * The input of an execution, checked.
 * @param largestRate changes per second that the configuration allows
 * @throws RunError `InvalidInput` saying what is wrong and (as its advice) an example to paste. Nothing is quoted.
 */
function parseInput(input: unknown, largestRate: number): BatchInput {
  const parsed = inputSchema.safeParse(input);
  if (!parsed.success) throw new RunError('InvalidInput', `${problemsOf(parsed.error, input).join('; ')}.`);
  const { file, maxRate = largestRate, stopAfterFailures = null, resumes = null } = parsed.data;
  if (maxRate > largestRate) {
    throw new RunError('InvalidInput', `"maxRate" must be at most ${largestRate}, which updates.maxRate allows.`);
  }
  return { batch: batchOfInput(file) ?? '', maxRate, stopAfterFailures, resumes };
}

function problemsOf(error: z.ZodError, input: unknown): string[] {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return ['The input is not an object'];
  return error.issues.map((issue) => {
    if (issue.code !== 'unrecognized_keys') return RULES[String(issue.path[0])] ?? 'The input is not an object';
    return `Unknown: ${quotedNames(issue.keys, Object.keys(RULES))}`;
  });
}

/**
 * Passes on the bytes of a resumed batch while each line equals the line of that number in the batch that it resumes. That batch
 * was claimed, so all of its lines were found valid.
 * @param key of the resumed file
 * @throws RunError `InvalidInput` where that batch never began, `UpdateFileInvalid` for another line, `StorageConflict` where
 *   the file of that batch is not the one that was validated any more
 */
async function* resumedLines(
  bytes: AsyncIterable<Uint8Array>,
  store: BatchStore,
  key: string,
  resumes: string,
): AsyncGenerator<Uint8Array> {
  const validated = linesOf(await openValidated(store, resumes));
  let line = 0;
  try {
    for await (const block of lineBlocks(bytes)) {
      for (const text of linesIn(block)) {
        line += 1;
        const { value } = await validated.next();
        if (text.trim() !== '' && text !== value) throw foreign(key, line, resumes);
      }
      if (block.tooLong) throw foreign(key, line + 1, resumes);
      yield block.bytes;
    }
  } finally {
    await validated.return(undefined);
  }
}

async function openValidated(store: BatchStore, batch: string): Promise<AsyncIterable<Uint8Array>> {
  const { started, input } = keysOf(batch);
  const claim = await claimOf(store, started);
  if (!claim) throw new RunError('InvalidInput', `The batch ${batch}, which "resumes" names, was never begun.`);
  const file = await store.stream(input);
  if (file?.etag === claim.etag) return file.chunks;
  // An unread stream would hold its connection.
  for await (const _ of file?.chunks ?? []) break;
  throw changed(input);
}

function foreign(key: string, line: number, batch: string): RunError {
  return new RunError(
    'UpdateFileInvalid',
    `Line ${line} of ${key} is not that line of the batch ${batch}, which it resumes.`,
  );
}

const claimSchema = z.object({ execution: z.string(), startedAt: z.string(), etag: z.string() });
type Claim = z.infer<typeof claimSchema>;

/**
 * Claims a batch for the execution: of any number of writers, S3 lets one win. A retry of the step finds its own claim.
 *
 * @throws RunError `UpdateAlreadyStarted` when another execution has it, `StorageConflict` when the file was changed since
 */
async function claimBatch(
  store: BatchStore,
  key: string,
  { execution, startedAt }: Pick<BatchState, 'execution' | 'startedAt'>,
  { batch, etag, inputKey }: Batch,
): Promise<void> {
  const claim = { execution, startedAt, etag };
  if (await store.putOnce(key, JSON.stringify(claim))) return;
  const existing = await claimOf(store, key);
  if (existing?.execution !== execution || existing.startedAt !== startedAt) {
    const who = existing ? `the execution ${existing.execution}` : `whoever wrote ${key}`;
    throw new RunError('UpdateAlreadyStarted', `The batch ${batch} belongs to ${who} already.`);
  }
  if (existing.etag !== etag) {
    throw new RunError('StorageConflict', `The file at ${inputKey} was changed after this execution began.`);
  }
}

/** The claim of a batch: its file was found valid. */
async function claimOf(store: Pick<BatchStore, 'read'>, key: string): Promise<Claim | undefined> {
  return parseJson(claimSchema, (await store.read(key))?.text);
}
