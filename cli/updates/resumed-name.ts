import { createHash } from 'node:crypto';
import { type BatchStore, keysOf } from '../../core/batch/batch-store.ts';

const LONGEST_NAME = 60;

/** `BATCH-r2`, then `BATCH-r3`: fixed, so that two who resume at once make one batch. */
export function resumedName(batch: string): string {
  const [, stem = batch, last = '1'] = /^(.+)-r(\d{1,4})$/.exec(batch) ?? [];
  const suffix = `-r${Number(last) + 1}`;
  if (stem.length + suffix.length <= LONGEST_NAME) return stem + suffix;
  return `${stem.slice(0, 40)}-${createHash('sha256').update(batch).digest('hex').slice(0, 8)}${suffix}`;
}

/** The batch that resumes another, once an execution has it; `undefined` where none does. */
export async function resumedBy(store: Pick<BatchStore, 'read'>, batch: string): Promise<string | undefined> {
  const name = resumedName(batch);
  return (await store.read(keysOf(name).started)) && name;
}
