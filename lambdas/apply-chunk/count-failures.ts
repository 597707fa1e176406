import type { BatchKeys } from '../../core/batch/batch-keys.ts';
import type { BatchStore } from '../../core/batch/batch-store.ts';
import type { ResultLine } from '../../core/batch/result-line.ts';
import type { StopFlag } from '../../core/batch/stop-flag.ts';

/** Counts a line over all chunks, and stops the batch at its threshold: a person wants to see them before the rest is sent. */
export async function countFailure(
  { line, outcome, at }: ResultLine,
  threshold: number | null,
  { store, keys, stop }: { store: BatchStore; keys: BatchKeys; stop: StopFlag },
): Promise<void> {
  if (threshold === null || outcome === 'APPLIED' || outcome === 'NOT_SENT') return;
  await store.putOnce(`${keys.failures}${line}`, '');
  const failures = await store.list(keys.failures, threshold);
  if (failures.length < threshold) return;
  const sentence = `${threshold} lines were not applied, the number at which the batch was to stop.`;
  await stop.raise({ reason: 'UpdateStopped', sentence, at: at ?? '1970-01-01T00:00:00Z' });
}
