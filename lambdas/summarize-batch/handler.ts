import { asBatchStep } from '../../core/batch/batch-state.ts';
import { batchStoreFromEnv } from '../../core/batch/batch-store.ts';
import type { Connect } from '../../core/step/step.ts';
import { type SummarizeBatchDeps, summarizeBatch } from './summarize-batch.ts';

export const connect: Connect<SummarizeBatchDeps> = () => {
  const store = batchStoreFromEnv();
  return (invocation) => ({ ...invocation, store });
};

/** State SummarizeBatch of the machine CustomerUpdates: writes the result of all lines, then the manifest. */
export const handler = asBatchStep('SummarizeBatch', summarizeBatch, connect);
