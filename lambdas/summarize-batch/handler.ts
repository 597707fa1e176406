import { asBatchStep } from '../../core/batch/batch-step.ts';
import { batchStoreFromEnv } from '../../core/batch/compose-store.ts';
import { summarizeBatch } from './summarize-batch.ts';

/** State SummarizeBatch of the machine CustomerUpdates: leaves the result of all lines and the manifest, in that order. */
export const handler = asBatchStep('SummarizeBatch', summarizeBatch, () => {
  const store = batchStoreFromEnv();
  return (invocation) => ({ ...invocation, store });
});
