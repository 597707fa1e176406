import { stepDependencies } from '../shared/compose.ts';
import { asBatchStep } from '../shared/updates/batch-step.ts';
import { batchStoreFromEnv } from '../shared/updates/compose-store.ts';
import { summarizeBatch } from './summarize-batch.ts';

/** State SummarizeBatch of the machine CustomerUpdates: leaves the result of all lines and the manifest, in that order. */
export const handler = asBatchStep('SummarizeBatch', summarizeBatch, () => ({
  ...stepDependencies('SummarizeBatch'),
  store: batchStoreFromEnv(),
}));
