import { setTimeout as sleep } from 'node:timers/promises';
import { asBatchStep } from '../../core/batch/batch-step.ts';
import { quickBatchStoreFromEnv } from '../../core/batch/compose-store.ts';
import { crmDependencies } from '../../core/crm/compose.ts';
import { applyChunk } from './apply-chunk.ts';

/** State ApplyChunk of the children of the machine CustomerUpdates: leaves the results of the lines of one chunk. */
export const handler = asBatchStep('ApplyChunk', applyChunk, (invocation) => ({
  ...crmDependencies('ApplyChunk', invocation),
  store: quickBatchStoreFromEnv(),
  sleep,
}));
