import { createHash } from 'node:crypto';
import { keysOf } from '../../core/batch/batch-keys.ts';
import type { BatchStore } from '../../core/batch/batch-store.ts';
import { refused } from './source.ts';

const LONGEST_NAME = 60;

/**
 * The name of the batch that resumes a batch: `BATCH-r2`, then `BATCH-r3`. It is fixed, so that two who resume at once make
 * one batch.
 */
export function resumedName(batch: string): string {
  const [, stem = batch, last = '1'] = /^(.+)-r(\d{1,4})$/.exec(batch) ?? [];
  const suffix = `-r${Number(last) + 1}`;
  if (stem.length + suffix.length <= LONGEST_NAME) return stem + suffix;
  return `${stem.slice(0, 40)}-${createHash('sha256').update(batch).digest('hex').slice(0, 8)}${suffix}`;
}

/** @throws CommandError (exit code 2) where the batch was resumed before */
export async function refuseSecondResume(store: Pick<BatchStore, 'read'>, batch: string): Promise<void> {
  if (await store.read(keysOf(resumedName(batch)).started)) throw resumedAlready(batch);
}

export function resumedAlready(batch: string) {
  const name = resumedName(batch);
  return refused(
    `The batch ${batch} was resumed already, as ${name}: look at that with update-status, and resume that for what it leaves.`,
  );
}
