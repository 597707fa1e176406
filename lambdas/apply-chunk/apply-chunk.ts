import type { ResultLine } from '../../core/batch/batch-results.ts';
import {
  type Batch,
  type BatchAnswer,
  type BatchState,
  batchOf,
  type Chunk,
  createStopFlag,
  isLastWait,
  LONGEST_INVOCATION_SECONDS,
  LONGEST_WAIT_SECONDS,
  type Stop,
  type StopFlag,
} from '../../core/batch/batch-state.ts';
import { type BatchKeys, keysOf, readRecords } from '../../core/batch/batch-store.ts';
import { UPDATE_SCOPE } from '../../core/config/scopes.ts';
import type { CrmExchange } from '../../core/crm/crm-client.ts';
import { RunError } from '../../core/errors.ts';
import type { Invocation } from '../../core/step/step.ts';
import type { Bucket } from '../../core/storage/bucket.ts';
import type { UpdateRecord } from '../../core/updates/read-updates.ts';
import { type ApplyLineDeps, applyLine, createPace } from './apply-line.ts';
import { ChunkResults } from './chunk-results.ts';

export interface ApplyChunkDeps extends Invocation {
  crm: CrmExchange;
  store: Bucket;
  sleep: (milliseconds: number) => Promise<void>;
}

/** The most invocations for a chunk. Each has 9 history entries: 18,000 of the 25,000 that an execution may have. */
export const MOST_ROUNDS = 2000;

/**
 * A batch is given up half a day before the state machine times out, so that the remaining lines get results and the
 * batch a summary.
 */
const LONGEST_BATCH_SECONDS = 2.5 * 86_400;

/** Consecutive 403 answers or web pages in a chunk after which the batch stops. */
const FORBIDDEN_IN_A_ROW = 5;
/** The wait after a transient error that followed progress. */
const FIRST_WAIT_SECONDS = 2;

/**
 * Applies as much of one chunk as fits in one invocation, and stores the results. Returns FINISHED, or CONTINUE: the
 * next invocation goes on after the stored results. A failed chunk stops the whole batch, because the other chunks would
 * fail too, after a long wait.
 */
export async function applyChunk(state: BatchState, deps: ApplyChunkDeps): Promise<BatchAnswer<'ApplyChunk'>> {
  const batch = batchOf(state);
  const chunk = chunkIn(state);
  const stop = stopFlagOf(batch.batch, deps);
  try {
    const seconds = (deps.now().getTime() - Date.parse(state.startedAt)) / 1000;
    if (seconds >= LONGEST_BATCH_SECONDS)
      await stop.raise({ reason: 'UpdateStopped', sentence: 'The batch was not complete after two and a half days.' });
    return await applyFrom(state, stop, deps);
  } catch (error) {
    if (error instanceof RunError && (!error.transient || isLastWait(state))) {
      const sentence = `Chunk ${chunk.chunk} was not completed: ${error.message}`;
      // If the stop fails too, the function still reports the error of the chunk.
      await stop.raise({ reason: error.name, sentence }).catch(() => undefined);
    }
    throw error;
  }
}

/** A dead grant is counted at once for its alarm. No chunk ends FAILED for it, so no other place counts it. */
function stopFlagOf(batch: string, { store, log }: ApplyChunkDeps): StopFlag {
  const flag = createStopFlag(store, keysOf(batch).stop);
  const raise = (stop: Stop) => {
    if (stop.reason === 'ReauthorizationRequired') log.measure({ RunsEnded: 1 }, stop.reason);
    return flag.raise(stop);
  };
  return { ...flag, raise };
}

async function applyFrom(state: BatchState, stop: StopFlag, deps: ApplyChunkDeps): Promise<BatchAnswer<'ApplyChunk'>> {
  const batch = batchOf(state);
  const chunk = chunkIn(state);
  const spent = state.rounds + state.waits;
  // A CRM that requests waits again and again must not fill the history of the child.
  if (spent >= MOST_ROUNDS) {
    throw new RunError('UpdateStopped', `Chunk ${chunk.chunk} was continued ${spent} times and did not end.`);
  }
  const results = new ChunkResults(deps.store, keysOf(batch.batch), chunk, deps.requestId);
  await results.skipStored();
  const pace = createPace(batch.chunkRate, spent > 0, deps);
  const { confirmation } = deps.deployment.updates;
  let waitSeconds: number | undefined;
  try {
    waitSeconds = await applyLines(batch, chunk, results, { ...deps, stop, pace, confirmation });
  } finally {
    // The results of sent lines must not be lost, even after an error.
    await results.store();
  }
  deps.log.info('applied', { batch: batch.batch, chunk: chunk.chunk, lines: results.count });
  // After this wait the other invocation has ended, or was itself overtaken.
  if (results.overtaken) waitSeconds = LONGEST_INVOCATION_SECONDS;
  if (waitSeconds === undefined) return { outcome: 'FINISHED', waits: 0 };
  return { outcome: 'CONTINUE', rounds: spent + 1, waits: 0, waitSeconds };
}

/** @returns seconds until the rest of the chunk can be sent, or `undefined` at its end */
async function applyLines(
  batch: Batch,
  chunk: Chunk,
  results: ChunkResults,
  deps: ApplyChunkDeps & ApplyLineDeps,
): Promise<number | undefined> {
  const failures = { store: deps.store, keys: keysOf(batch.batch), stop: deps.stop };
  const count = (result: ResultLine) => countFailure(result, batch.stopAfterFailures, failures);
  // The previous invocation may have ended after it stored its last result and before it counted it.
  if (results.last) await count(results.last);
  for (const record of await readRecords(deps.store, batch, chunk)) {
    if (record.line <= results.lastLine) continue;
    const waitSeconds = await applyRecord(record, results, count, deps).catch((error) => waitAfter(error, results));
    if (waitSeconds !== undefined || results.overtaken) return waitSeconds;
  }
  return undefined;
}

/** @returns seconds until the record is to be retried, or `undefined` when it is done */
async function applyRecord(
  record: UpdateRecord,
  results: ChunkResults,
  count: (result: ResultLine) => Promise<void>,
  deps: ApplyLineDeps,
): Promise<number | undefined> {
  const tries = await results.begin(record.line);
  if (!tries) return undefined;
  const end = await applyLine(record, tries, deps);
  if (!end.result) return end.waitSeconds;
  // The result is added first, so that an answered line keeps it even if setting the flag or counting fails.
  await results.add(end.result);
  const stop = end.stop ?? forbiddenStop(results, end.result);
  if (stop) await deps.stop.raise(stop);
  await count(end.result);
  return undefined;
}

/** A single 403 or web page may concern one customer; many in a row concern our permissions or the address. */
function forbiddenStop({ forbidden }: ChunkResults, { error }: ResultLine): Stop | undefined {
  if (forbidden < FORBIDDEN_IN_A_ROW) return undefined;
  const sentence =
    error === 'ConfigInvalid'
      ? `${forbidden} lines in a row were refused, the last by a web page: check crm.baseUrl.`
      : `${forbidden} lines in a row were answered 403: updates need "${UPDATE_SCOPE}", and a right to these customers.`;
  return { reason: error ?? 'AuthRefused', sentence };
}

/** The wait after a transient error that followed progress. It does not count as a wait without progress. */
function waitAfter(error: unknown, { count }: ChunkResults): number {
  if (!(error instanceof RunError && error.transient) || count === 0) throw error;
  return Math.min(Math.max(FIRST_WAIT_SECONDS, Math.ceil(error.retryAfterSeconds ?? 0)), LONGEST_WAIT_SECONDS);
}

function chunkIn({ chunk }: BatchState): Chunk {
  if (!chunk) throw new Error('the state has no chunk: ApplyChunk was not started by the map');
  return chunk;
}

/** Counts failed lines of all chunks. At the configured number the batch stops, so that a person can check them. */
async function countFailure(
  { line, outcome }: ResultLine,
  threshold: number | null,
  { store, keys, stop }: { store: Bucket; keys: BatchKeys; stop: StopFlag },
): Promise<void> {
  if (threshold === null || outcome === 'APPLIED' || outcome === 'NOT_SENT') return;
  await store.putOnce(`${keys.failures}${line}`, '');
  const failures = await store.list(keys.failures, threshold);
  if (failures.length < threshold) return;
  const sentence = `${threshold} lines were not applied, which is the configured limit of the batch.`;
  await stop.raise({ reason: 'UpdateStopped', sentence });
}
