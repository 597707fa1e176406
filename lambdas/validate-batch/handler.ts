import { readEnv } from '../../core/aws/env.ts';
import { asBatchStep } from '../../core/batch/batch-state.ts';
import { batchStoreFromEnv } from '../../core/batch/batch-store.ts';
import type { Connect } from '../../core/step/step.ts';
import { type ValidateBatchDeps, validateBatch } from './validate-batch.ts';

export const connect: Connect<ValidateBatchDeps> = () => {
  const store = batchStoreFromEnv();
  const { SOFTWARE_VERSION: softwareVersion } = readEnv(process.env, 'SOFTWARE_VERSION');
  return (invocation) => ({ ...invocation, store, softwareVersion });
};

/** State ValidateBatch of the machine CustomerUpdates: writes the claim of the batch and the index of its chunks. */
export const handler = asBatchStep('ValidateBatch', validateBatch, connect);
