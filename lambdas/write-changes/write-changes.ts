import type { Answer } from '../../core/step/export-run.ts';
import type { Invocation } from '../../core/step/invocation.ts';
import type { RunState } from '../../core/step/states.ts';
import type { Bucket } from '../../core/storage/bucket.ts';

export interface WriteChangesDeps extends Invocation {
  bucket: Bucket;
  softwareVersion: string;
}

/** Tells what has changed since the table that the last feed ended at. */
export async function writeChanges(_state: RunState, _deps: WriteChangesDeps): Promise<Answer<'WriteChanges'>> {
  return { outcome: 'UP_TO_DATE' };
}
