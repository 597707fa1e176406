import { setTimeout as sleep } from 'node:timers/promises';
import { asBatchStep } from '../../core/batch/batch-state.ts';
import { quickBatchStoreFromEnv } from '../../core/batch/batch-store.ts';
import { crmFromEnv } from '../../core/crm/crm-from-env.ts';
import type { Connect } from '../../core/step/step.ts';
import { type ApplyChunkDeps, applyChunk } from './apply-chunk.ts';

export const connect: Connect<ApplyChunkDeps> = () => {
  const crm = crmFromEnv();
  const store = quickBatchStoreFromEnv();
  return (invocation) => ({ ...invocation, crm: crm(invocation), store, sleep });
};

/** State ApplyChunk in the children of the machine CustomerUpdates: stores the results of one chunk. */
export const handler = asBatchStep('ApplyChunk', applyChunk, connect);
