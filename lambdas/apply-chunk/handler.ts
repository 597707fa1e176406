import { setTimeout as sleep } from 'node:timers/promises';
import { crmDependencies } from '../shared/compose.ts';
import { asBatchStep } from '../shared/updates/batch-step.ts';
import { quickBatchStoreFromEnv } from '../shared/updates/compose-store.ts';
import { applyChunk } from './apply-chunk.ts';

/** State ApplyChunk of the children of the machine CustomerUpdates: leaves the results of the lines of one chunk. */
export const handler = asBatchStep('ApplyChunk', applyChunk, (invocation) => ({
  ...crmDependencies('ApplyChunk', invocation),
  store: quickBatchStoreFromEnv(),
  sleep,
}));
