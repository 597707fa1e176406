import type { CrmExchange } from '../shared/crm/client.ts';
import { type ErrorName, RunError } from '../shared/errors.ts';
import type { StepDeps } from '../shared/step.ts';
import type { BatchStore } from '../shared/storage/batch-store.ts';
import { keysOf } from '../shared/updates/batch-keys.ts';
import { type Batch, type BatchState, batchOf, type Place } from '../shared/updates/batch-state.ts';
import { type BatchAnswer, isLastWait } from '../shared/updates/batch-step.ts';
import type { Chunk } from '../shared/updates/chunk-index.ts';
import { recordsOf, type Stretch } from '../shared/updates/read-chunk.ts';
import { createStopFlag, type StopFlag } from '../shared/updates/stop-flag.ts';
import { type ApplyLineDeps, applyLine } from './apply-line.ts';
import { ChunkResults } from './chunk-results.ts';
import { countFailure } from './count-failures.ts';
import { createPace } from './pace.ts';

export interface ApplyChunkDeps extends StepDeps {
  crm: CrmExchange;
  store: BatchStore;
  /** Id of the invocation. */
  requestId: string;
  sleep: (milliseconds: number) => Promise<void>;
}

/** 9 entries of history each: 18,000 of the 25,000 that an execution may have. */
export const MOST_ROUNDS = 2000;

/** Half a day before the machine itself is stopped, so that the rest is told and the batch is summarized. */
const LONGEST_BATCH_SECONDS = 2.5 * 86_400;

/** Where the next invocation goes on, and when. */
interface Pause extends Pick<Place, 'line' | 'byte'> {
  waitSeconds: number;
}

/**
 * Applies one chunk, as far as one invocation comes, and leaves the results of the lines it handled.
 * Answers FINISHED, or CONTINUE with the place where the next invocation goes on. A chunk that ends otherwise stops the batch,
 * so that no other waits for what will not come, and the result says why.
 */
export async function applyChunk(state: BatchState, deps: ApplyChunkDeps): Promise<BatchAnswer<'ApplyChunk'>> {
  const [batch, chunk] = [batchOf(state), chunkIn(state)];
  const stop = createStopFlag(deps.store, keysOf(batch.batch).stop, deps.now);
  const raise = (reason: ErrorName, sentence: string) => stop.raise({ reason, sentence, at: deps.now().toISOString() });
  try {
    if (isOverdue(state, deps)) await raise('UpdateStopped', 'It was not done after two and a half days.');
    return await applyFrom(state.place ?? beginningOf(chunk), state, stop, deps);
  } catch (error) {
    if (error instanceof RunError && (!error.transient || isLastWait(state))) {
      const told = raise(error.name, `Chunk ${chunk.chunk} was given up: ${error.message}`);
      // Its own error is the one to be told.
      await told.catch(() => undefined);
    }
    throw error;
  }
}

async function applyFrom(
  place: Place,
  state: BatchState,
  stop: StopFlag,
  deps: ApplyChunkDeps,
): Promise<BatchAnswer<'ApplyChunk'>> {
  const [batch, chunk] = [batchOf(state), chunkIn(state)];
  refuseEndless(chunk, place.rounds + state.waits);
  const of = { chunk: chunk.chunk, by: deps.requestId };
  const results = new ChunkResults(deps.store, keysOf(batch.batch), of, place);
  await results.skipStanding();
  const pace = createPace(batch.chunkRate, state.place !== null || state.waits > 0, deps);
  let pause: Pause | undefined;
  try {
    pause = await applyLines(batch, { ...place, to: chunk.to }, results, { ...deps, stop, pace });
  } finally {
    // Whatever happened: what is known of lines that were sent must not be lost.
    await results.store();
  }
  deps.log.info('applied', { batch: batch.batch, chunk: chunk.chunk, lines: results.count });
  if (!pause) return { outcome: 'FINISHED', place: null, waits: 0 };
  const { waitSeconds, ...next } = pause;
  // The next invocation reads the last object, for what it says of lines in doubt.
  const [part, rounds] = [Math.max(1, results.part - 1), place.rounds + state.waits + 1];
  return { outcome: 'CONTINUE', place: { ...next, part, rounds }, waits: 0, waitSeconds };
}

async function applyLines(
  batch: Batch,
  stretch: Stretch,
  results: ChunkResults,
  deps: ApplyChunkDeps & ApplyLineDeps,
): Promise<Pause | undefined> {
  const failures = { store: deps.store, keys: keysOf(batch.batch), stop: deps.stop };
  for await (const record of recordsOf(deps.store, batch, stretch)) {
    const { line, from } = record;
    if (line <= results.lastLine) continue;
    const end = await applyLine(record, await results.begin(line), deps);
    if (!end.result) return { waitSeconds: end.waitSeconds, line, byte: from ?? stretch.byte };
    // First, for a line that has its result is never looked at again.
    await countFailure(end.result, batch.stopAfterFailures, failures);
    await results.add(end.result);
  }
  return undefined;
}

function beginningOf({ firstLine, from }: Chunk): Place {
  return { line: firstLine, byte: from, part: 1, rounds: 0 };
}

function isOverdue({ startedAt }: BatchState, { now }: ApplyChunkDeps): boolean {
  return now().getTime() - Date.parse(startedAt) >= LONGEST_BATCH_SECONDS * 1000;
}

function chunkIn({ chunk }: BatchState): Chunk {
  if (!chunk) throw new Error('the state has no chunk: ApplyChunk was not started by the map');
  return chunk;
}

/** A service that keeps asking us to wait must not fill the history of the child. */
function refuseEndless({ chunk }: Chunk, rounds: number): void {
  if (rounds < MOST_ROUNDS) return;
  throw new RunError('UpdateStopped', `Chunk ${chunk} was handed on ${rounds} times without coming to its end.`);
}
