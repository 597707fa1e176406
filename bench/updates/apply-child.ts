import { setTimeout as sleep } from 'node:timers/promises';
import { S3Client } from '@aws-sdk/client-s3';
import { keysOf } from '../../core/batch/batch-keys.ts';
import { type BatchState, batchStateSchema } from '../../core/batch/batch-state.ts';
import { createBatchStore } from '../../core/batch/batch-store.ts';
import { deploymentSchema } from '../../core/config/deployment.ts';
import { createCrmClient } from '../../core/crm/client.ts';
import { createLog } from '../../core/log/log.ts';
import { MACHINE_VERSION } from '../../core/step/steps.ts';
import { createFastRead } from '../../core/storage/fast-read.ts';
import { type ApplyChunkDeps, applyChunk } from '../../lambdas/apply-chunk/apply-chunk.ts';
import { givenJob, whenBegun } from '../support/children.ts';
import { costOf } from '../support/process-cost.ts';
import type { ApplyJob, PreparedBatch } from './apply.ts';

/** The step ApplyChunk as a warm function: real clients of the CRM and of S3, real log, a cached token. */

const job = givenJob<ApplyJob>();
const now = () => new Date();
const log = createLog('ApplyChunk');
const credentials = { accessKeyId: '000000000000', secretAccessKey: 'local' };
const bucket = { endpoint: job.bucketUrl, region: 'us-east-1' };
const s3 = new S3Client({ ...bucket, credentials, forcePathStyle: true });
const read = createFastRead({ ...bucket, bucket: 'bench', credentials: async () => credentials });
const token = { accessToken: job.accessToken, scope: 'customers:update' };
const deps: ApplyChunkDeps = {
  log,
  now,
  random: Math.random,
  secondsLeft: () => 900,
  sleep,
  requests: { crm: 0, file: 0, store: 0 },
  deployment: deploymentSchema.parse({ local: true, crm: { baseUrl: job.baseUrl, authUrl: job.baseUrl } }),
  crm: createCrmClient({ baseUrl: job.baseUrl, getAccessToken: async () => token, log, now }),
  store: { ...createBatchStore(s3, 'bench'), read },
  requestId: 'bench',
  cpuMilliseconds: () => 0,
};

function stateOf({ batch, bytes, records, etag }: PreparedBatch): BatchState {
  const keys = keysOf(batch);
  const chunk = { chunk: 1, from: 0, to: bytes, firstLine: 1, lastLine: records, records };
  return batchStateSchema.parse({
    machineVersion: MACHINE_VERSION,
    input: {},
    execution: batch,
    startedAt: now().toISOString(),
    chunk,
    batch: {
      schemaVersion: 1,
      batch,
      inputKey: keys.input,
      etag,
      bytes,
      crc32: '',
      lines: records,
      records,
      chunks: 1,
      // No limit, or the bench would measure the limit.
      chunksKey: keys.chunks,
      maxRate: 1e9,
      chunkRate: 1e9,
      stopAfterFailures: null,
      keptUntil: '2099-01-01',
      softwareVersion: '0',
      warnings: [],
    },
  });
}

async function apply(prepared: PreparedBatch): Promise<void> {
  const { outcome } = await applyChunk(stateOf(prepared), deps);
  if (outcome !== 'FINISHED') throw new Error(`The chunk ended in ${outcome}.`);
}

await apply(job.warmUp);
await whenBegun(() => costOf(() => apply(job.measured)));
