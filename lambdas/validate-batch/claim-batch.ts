import * as z from 'zod';
import type { Batch, BatchState } from '../../core/batch/batch-state.ts';
import type { BatchStore } from '../../core/batch/batch-store.ts';
import { RunError } from '../../core/errors.ts';
import { parseJson } from '../../core/json.ts';

const claimSchema = z.object({ execution: z.string(), startedAt: z.string(), etag: z.string() });
type Claim = z.infer<typeof claimSchema>;

/**
 * Claims a batch for the execution: of any number of writers, S3 lets one win. A retry of the step finds its own claim.
 *
 * @throws RunError `UpdateAlreadyStarted` when another execution has it, `StorageConflict` when the file was changed since
 */
export async function claimBatch(
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
export async function claimOf(store: Pick<BatchStore, 'read'>, key: string): Promise<Claim | undefined> {
  return parseJson(claimSchema, (await store.read(key))?.text);
}
