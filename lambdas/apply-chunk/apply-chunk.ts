import type { CrmExchange } from '../shared/crm/client.ts';
import { RunError } from '../shared/errors.ts';
import type { StepDeps } from '../shared/step.ts';
import type { BatchStore } from '../shared/storage/batch-store.ts';
import { keysOf } from '../shared/updates/batch-keys.ts';
import { type Batch, type BatchState, batchOf, type Place } from '../shared/updates/batch-state.ts';
import type { BatchAnswer } from '../shared/updates/batch-step.ts';
import type { Chunk } from '../shared/updates/chunk-index.ts';
import { recordsOf } from '../shared/updates/read-chunk.ts';
import { createStopFlag } from '../shared/updates/stop-flag.ts';
import { type ApplyLineDeps, applyLine, type Tries } from './apply-line.ts';
import { ChunkResults } from './chunk-results.ts';
import { countFailure } from './count-failures.ts';
import { createPace } from './pace.ts';

export interface ApplyChunkDeps extends StepDeps {
  crm: CrmExchange;
  store: BatchStore;
  sleep: (milliseconds: number) => Promise<void>;
}

/** 9 entries of history each: 18,000 of the 25,000 that an execution may have. */
export const MOST_ROUNDS = 2000;

const NEVER_TRIED: Tries = { attempts: 0, lost: false, status: null };

/** Where the next invocation goes on, and when. */
interface Pause {
  waitSeconds: number;
  next: Pick<Place, 'line' | 'byte' | 'attempts' | 'lost' | 'status'>;
}

/**
 * Applies one chunk, as far as one invocation comes, and leaves the results of the lines it handled.
 * Answers FINISHED, or CONTINUE with the place where the next invocation goes on.
 */
export async function applyChunk(state: BatchState, deps: ApplyChunkDeps): Promise<BatchAnswer<'ApplyChunk'>> {
  const [batch, chunk] = [batchOf(state), chunkIn(state)];
  const place = state.place ?? beginningOf(chunk);
  refuseEndless(chunk, place.rounds + state.waits);
  const results = new ChunkResults(deps.store, keysOf(batch.batch), chunk.chunk, place);
  await results.skipStanding();
  let pause: Pause | undefined;
  try {
    pause = await applyLines(batch, chunk, place, results, deps);
  } finally {
    // Whatever happened: what is known of lines that were sent must not be lost.
    await results.store();
  }
  deps.log.info('applied', { batch: batch.batch, chunk: chunk.chunk, lines: results.count });
  if (!pause) return { outcome: 'FINISHED', place: null, waits: 0 };
  const rounds = place.rounds + state.waits + 1;
  const next = { ...pause.next, part: results.part, rounds };
  return { outcome: 'CONTINUE', place: next, waits: 0, waitSeconds: pause.waitSeconds };
}

async function applyLines(
  batch: Batch,
  chunk: Chunk,
  place: Place,
  results: ChunkResults,
  deps: ApplyChunkDeps,
): Promise<Pause | undefined> {
  const keys = keysOf(batch.batch);
  const stop = createStopFlag(deps.store, keys.stop);
  const lineDeps: ApplyLineDeps = { ...deps, stop, pace: createPace(batch.chunkRate, deps) };
  for await (const record of recordsOf(deps.store, batch, { ...place, to: chunk.to })) {
    const { line, from } = record;
    if (line <= results.lastLine) continue;
    const { attempts, lost, status } = line === place.line ? place : NEVER_TRIED;
    const doubtful = await results.begin(line);
    const end = await applyLine(record, { attempts, lost: lost || doubtful, status }, lineDeps);
    if (!end.result) return { waitSeconds: end.waitSeconds, next: { line, byte: from ?? place.byte, ...end.tries } };
    await results.add(end.result);
    await countFailure(end.result, batch.stopAfterFailures, { store: deps.store, keys, stop });
  }
  return undefined;
}

function beginningOf({ firstLine, from }: Chunk): Place {
  return { line: firstLine, byte: from, part: 1, rounds: 0, ...NEVER_TRIED };
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
