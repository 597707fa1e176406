import { Readable } from 'node:stream';
import {
  type BatchManifest,
  batchManifestSchema,
  batchManifestText,
  type Counts,
  type Doubt,
  IN_DOUBT,
  NEVER_TRIED,
  noCounts,
  openClaims,
  parsePart,
  type ResultLine,
  resultLineText,
  totalOf,
  triesOf,
  unfinishedLine,
} from '../../core/batch/batch-results.ts';
import {
  type Batch,
  type BatchAnswer,
  type BatchState,
  batchOf,
  type Chunk,
  chunkSchema,
  createStopFlag,
  LONGEST_INVOCATION_SECONDS,
  type Stop,
  type Stopped,
} from '../../core/batch/batch-state.ts';
import { type BatchKeys, keysOf, readRecords } from '../../core/batch/batch-store.ts';
import { resultsIn } from '../../core/batch/failed-lines.ts';
import { eachOf } from '../../core/each-of.ts';
import { RunError } from '../../core/errors.ts';
import { parseJson } from '../../core/json.ts';
import type { Invocation } from '../../core/step/step.ts';
import type { Bucket } from '../../core/storage/bucket.ts';
import type { UploadBucket } from '../../core/storage/upload.ts';
import { measured } from '../../core/updates/lines.ts';
import type { UpdateRecord } from '../../core/updates/read-updates.ts';
import { crc32Text } from '../../transfer/base/crc32.ts';

export interface SummarizeBatchDeps extends Invocation {
  store: UploadBucket;
}

/** The largest difference between the clocks of S3 and of a function. */
const CLOCK_SECONDS = 60;

/** The result of a batch, complete after its last line is read or written. */
interface Summary {
  bytes: number;
  crc32: number;
  counts: Counts;
  /** When the last outcome was known. */
  lastAt: string | null;
}

const newSummary = (): Summary => ({ bytes: 0, crc32: 0, counts: noCounts(), lastAt: null });

/**
 * Joins the results of all chunks, and writes the result and its manifest once. Returns SUMMARIZED if every line was
 * applied, else throws `UpdatesIncomplete`. If functions may still be sending, it stops the batch and waits for them.
 */
export async function summarizeBatch(
  state: BatchState,
  deps: SummarizeBatchDeps,
): Promise<BatchAnswer<'SummarizeBatch'>> {
  const { store, log } = deps;
  const batch = batchOf(state);
  const keys = keysOf(batch.batch);
  const flag = createStopFlag(store, keys.stop);
  const broken = state.awaited ? undefined : await brokenOff(state, batch.batch, deps);
  if (broken) {
    // The map invokes no more functions, but without the flag the running ones would continue.
    await flag.raise(broken);
    return { outcome: 'CONTINUE', awaited: true, waits: 0, waitSeconds: LONGEST_INVOCATION_SECONDS };
  }
  const stop = await flag.read();
  const summary = await writeResult(store, batch, keys, stop);
  await writeManifest(store, keys.manifest, manifestOf(state, batch, keys, summary, stop));
  log.info('summarized', { batch: batch.batch, lines: batch.records, key: keys.manifest });
  if (!isApplied(summary)) throw incomplete(keys, summary, stop);
  return { outcome: 'SUMMARIZED', resultKey: keys.result, manifestKey: keys.manifest, waits: 0 };
}

/** @returns why functions may still be sending; `undefined` if none may be */
async function brokenOff(
  state: BatchState,
  batch: string,
  { store, now }: SummarizeBatchDeps,
): Promise<Stop | undefined> {
  if (state.crash) {
    // The map's error may quote data: only its name is reported.
    const name = /^[\w.]{1,80}$/.test(state.crash.Error) ? state.crash.Error : 'an error';
    return { reason: 'StepCrashed', sentence: `The state ApplyChunks ended with ${name}.` };
  }
  const since = new Date(now().getTime() - (LONGEST_INVOCATION_SECONDS + CLOCK_SECONDS) * 1000);
  if ((await openClaims(store, batch, since)) === 0) return undefined;
  const sentence = 'A chunk ended without all of its results: its last function may still have been sending.';
  return { reason: 'UpdateStopped', sentence };
}

/** Writes the result once. A result of an earlier attempt stays, even if more results came later. */
async function writeResult(
  store: UploadBucket,
  batch: Batch,
  keys: BatchKeys,
  stop: Stop | undefined,
): Promise<Summary> {
  const summary = newSummary();
  const joined = joinResults(store, batch, await readIndex(store, keys), stop, summary);
  const body = Readable.from(measured(joined, summary), { objectMode: false });
  if (!(await store.uploadOnce(keys.result, body))) return readExisting(store, batch, keys);
  if (totalOf(summary.counts) !== batch.records) throw new Error('the index of chunks does not cover the input');
  return summary;
}

/** @throws RunError `StorageConflict` if the object is not a result of this batch */
async function readExisting(store: Bucket, { records }: Batch, { result: key }: BatchKeys): Promise<Summary> {
  const summary = newSummary();
  const body = (await store.stream(key))?.chunks ?? Readable.from([]);
  for await (const line of resultsIn(measured(body, summary))) count(line, summary);
  if (totalOf(summary.counts) !== records) throw conflict(key);
  return summary;
}

async function readIndex(store: Bucket, { chunks: key }: BatchKeys): Promise<Chunk[]> {
  const lines = (await store.read(key))?.text.trimEnd().split('\n') ?? [];
  const chunks = lines.map((line) => parseJson(chunkSchema, line));
  if (chunks.length > 0 && chunks.every((chunk) => chunk !== undefined)) return chunks;
  throw new RunError('StorageConflict', `The index of chunks at ${key} is missing or invalid.`);
}

/** Writes the manifest once. An existing one of this execution with the same result counts: the step was retried. */
async function writeManifest(store: Bucket, key: string, manifest: BatchManifest): Promise<void> {
  if (await store.putOnce(key, batchManifestText(manifest))) return;
  const { execution, result } = parseJson(batchManifestSchema, (await store.read(key))?.text) ?? {};
  if (execution !== manifest.execution || result?.crc32 !== manifest.result.crc32) throw conflict(key);
}

function conflict(key: string): RunError {
  return new RunError(
    'StorageConflict',
    `The object at ${key} has different content from what this batch would write.`,
  );
}

function manifestOf(
  { execution, startedAt }: BatchState,
  batch: Batch,
  keys: BatchKeys,
  summary: Summary,
  stop: Stopped | undefined,
): BatchManifest {
  const { bytes, crc32: checksum, lines, records, chunks, maxRate, stopAfterFailures } = batch;
  // The flag may have been set after the last line.
  const stopped = stop && !isApplied(summary) ? { reason: `${stop.reason}: ${stop.sentence}`, at: stop.at } : null;
  return {
    schemaVersion: 1,
    batch: batch.batch,
    execution,
    input: { key: batch.inputKey, bytes, crc32: checksum, lines, records },
    result: { key: keys.result, bytes: summary.bytes, crc32: crc32Text(summary.crc32) },
    chunks,
    counts: summary.counts,
    stoppedBy: stopped,
    maxRate,
    stopAfterFailures,
    startedAt,
    finishedAt: summary.lastAt ?? startedAt,
    keptUntil: batch.keptUntil,
    softwareVersion: batch.softwareVersion,
    warnings: batch.warnings,
  };
}

function isApplied({ counts }: Summary): boolean {
  return counts.APPLIED === totalOf(counts);
}

function incomplete({ result }: BatchKeys, { counts }: Summary, stop: Stop | undefined): RunError {
  const others = Object.entries(counts)
    .filter(([outcome, times]) => outcome !== 'APPLIED' && times > 0)
    .map(([outcome, times]) => `${times} ${outcome}`);
  const why = stop ? ` The batch was stopped by ${stop.reason}: ${stop.sentence}` : '';
  return new RunError(
    'UpdatesIncomplete',
    `Lines applied: ${counts.APPLIED} of ${totalOf(counts)}; ${others.join(', ')}. See ${result}.${why}`,
  );
}

/** The text of `result.jsonl`, chunk by chunk: each record of the input exactly once, in line order. */
async function* joinResults(
  store: Bucket,
  batch: Batch,
  chunks: Chunk[],
  stop: Stop | undefined,
  summary: Summary,
): AsyncGenerator<string> {
  for (const chunk of chunks) {
    const { results, doubt } = await readParts(store, keysOf(batch.batch), chunk.chunk);
    let text = '';
    for (const record of await readRecords(store, batch, chunk)) {
      const result = results.get(record.line) ?? withoutResult(record, doubt, stop);
      if (result.id !== record.record.id) {
        throw new RunError('StorageConflict', `The result of line ${record.line} belongs to another customer.`);
      }
      count(result, summary);
      text += resultLineText(result);
    }
    yield text;
  }
}

/** The stored results of the lines of a chunk, and its lines in doubt. */
async function readParts(store: Bucket, keys: BatchKeys, chunk: number) {
  const found = await store.list(keys.chunkOf(chunk));
  const parts = await eachOf(found, async ({ key }) => parsePart((await store.read(key))?.text ?? ''));
  const results = parts.flatMap((part) => part.results);
  // Objects are in order, each claim before its results. Lines are sent under a claim only after the previous part is
  // stored, so the last object has all doubt.
  return { results: new Map(results.map((result) => [result.line, result])), doubt: parts.at(-1)?.doubt };
}

/** The result of a line that was not reached, or whose function ended before it stored a result. */
function withoutResult(record: UpdateRecord, doubt: Doubt | undefined, stop: Stop | undefined): ResultLine {
  const tries = triesOf(record.line, doubt);
  const stopped = stop?.reason ?? (tries === NEVER_TRIED ? 'UpdateStopped' : 'StepCrashed');
  return unfinishedLine(record, tries, tries === IN_DOUBT ? 'StepCrashed' : stopped, null);
}

function count({ outcome, at }: ResultLine, summary: Summary): void {
  summary.counts[outcome] += 1;
  if (at !== null && (summary.lastAt === null || at > summary.lastAt)) summary.lastAt = at;
}
