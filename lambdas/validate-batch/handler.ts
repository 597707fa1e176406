import { stepDependencies } from '../shared/compose.ts';
import { readEnv } from '../shared/env.ts';
import { asBatchStep } from '../shared/updates/batch-step.ts';
import { batchStoreFromEnv } from '../shared/updates/compose-store.ts';
import { validateBatch } from './validate-batch.ts';

/** State ValidateBatch of the machine CustomerUpdates: leaves the claim of the batch and the index of its chunks. */
export const handler = asBatchStep('ValidateBatch', validateBatch, () => ({
  ...stepDependencies('ValidateBatch'),
  store: batchStoreFromEnv(),
  softwareVersion: readEnv(process.env, 'SOFTWARE_VERSION').SOFTWARE_VERSION,
}));
