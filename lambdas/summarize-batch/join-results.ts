import { keysOf } from '../../core/batch/batch-keys.ts';
import { type Counts, noCounts } from '../../core/batch/batch-manifest.ts';
import type { Batch } from '../../core/batch/batch-state.ts';
import type { BatchStore } from '../../core/batch/batch-store.ts';
import type { Chunk } from '../../core/batch/chunk-index.ts';
import { type ChunkParts, IN_DOUBT, NEVER_TRIED, readParts, unfinishedLine } from '../../core/batch/chunk-parts.ts';
import { readRecords, type UpdateRecord } from '../../core/batch/read-chunk.ts';
import { type ResultLine, resultLineText } from '../../core/batch/result-line.ts';
import type { Stop } from '../../core/batch/stop-flag.ts';
import { RunError } from '../../core/errors.ts';

/** What is counted while joining; complete after the last line. */
export interface Tally {
  counts: Counts;
  records: number;
  /** When the last outcome was known. */
  lastAt: string | null;
}

export function newTally(): Tally {
  return { counts: noCounts(), records: 0, lastAt: null };
}

/** The text of `result.jsonl`, a chunk at a time: each record of the input exactly once, in the order of the lines. */
export async function* joinResults(
  store: BatchStore,
  batch: Batch,
  chunks: Chunk[],
  stop: Stop | undefined,
  tally: Tally,
): AsyncGenerator<string> {
  for (const chunk of chunks) {
    const parts = await readParts(store, keysOf(batch.batch), chunk.chunk);
    const stretch = { line: chunk.firstLine, byte: chunk.from, to: chunk.to };
    let text = '';
    for await (const record of readRecords(store, batch, stretch)) {
      const result = parts.results.get(record.line) ?? withoutResult(record, parts, stop);
      if (result.id !== record.record.id) {
        throw new RunError(
          'StorageConflict',
          `The result of line ${record.line} is of another customer than the line.`,
        );
      }
      count(result, tally);
      text += resultLineText(result);
    }
    yield text;
  }
}

/** A line that was never reached, or whose function died or gave up before it stored a result. */
function withoutResult(record: UpdateRecord, { doubt }: ChunkParts, stop: Stop | undefined): ResultLine {
  if (!doubt || record.line < doubt.firstLine || doubt.records === 0) {
    return unfinishedLine(record, NEVER_TRIED, stop?.reason ?? 'UpdateStopped', null);
  }
  doubt.records -= 1;
  const tries = record.line === doubt.firstLine ? doubt.tries : null;
  return unfinishedLine(record, tries ?? IN_DOUBT, tries ? (stop?.reason ?? 'StepCrashed') : 'StepCrashed', null);
}

export function count({ outcome, at }: ResultLine, tally: Tally): void {
  tally.records += 1;
  tally.counts[outcome] = (tally.counts[outcome] ?? 0) + 1;
  if (at !== null && (tally.lastAt === null || at > tally.lastAt)) tally.lastAt = at;
}
