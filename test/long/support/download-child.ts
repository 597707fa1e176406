import { existsSync, readFileSync } from 'node:fs';
import { deploymentSchema } from '../../../core/config/deployment.ts';
import type { FunctionLog } from '../../../core/log/log.ts';
import type { RunState } from '../../../core/step/states.ts';
import { downloadFile } from '../../../lambdas/download-file/download-file.ts';
import { storeFromEnv } from '../../../lambdas/download-file/handler.ts';
import { readStored } from '../../../lambdas/publish-file/read.ts';
import { fieldNames } from '../../../sandbox/data/entity-columns.ts';
import { abortUpload, transfer } from '../../../transfer/transfer.ts';
import { run, runState } from '../../support/builders.ts';

/** Stores and verifies one file as the functions do, in its own process, and prints the peak memory. */
const { url, bucket: name, endpoint } = JSON.parse(process.argv[2] ?? '{}');
const credentials = { accessKeyId: '000000000000', secretAccessKey: 'local' };
const addresses = { baseUrl: 'http://127.0.0.1/api/v1', authUrl: 'http://127.0.0.1/auth' };
const deployment = deploymentSchema.parse({ local: true, crm: addresses });
const env = { BUCKET_NAME: name, AWS_REGION: 'us-east-1', URL_SUFFIX: 'amazonaws.com', AWS_ENDPOINT_URL: endpoint };
const log: FunctionLog = { info: () => {}, warn: () => {}, error: () => {}, about: () => log, measure: () => {} };
const common = {
  deployment,
  log,
  now: () => new Date(),
  random: () => 0.5,
  secondsLeft: () => 900,
  cpuMilliseconds: () => 0,
  requests: { crm: 0, file: 0, store: 0 },
  requestId: 'child',
};
// The CRM client answers with the link that the parent requested.
const crm = { call: async () => ({ url }) } as never;
const store = { ...storeFromEnv(env, deployment), credentials: async () => credentials };
const time = new Date().toISOString();
const asked = run({
  ...{ date: time.slice(0, 10), prefix: 'runs/entity=leads/run=long/', deadline: time },
  ...{ request: { columns: fieldNames('leads') }, createdAt: time },
  listed: { others: [], labels: null, types: null, complete: true },
});
const begun = runState({ execution: 'long', startedAt: time, run: asked });
const { file } = await stored(begun);
const downloadMb = mostMemoryMb();

// Loads the SDK only now: DownloadFile has none for the bucket.
const { S3Client } = await import('@aws-sdk/client-s3');
const { createBucket } = await import('../../../core/storage/bucket.ts');
const bucket = createBucket(new S3Client({ endpoint, region: 'us-east-1', credentials }), name);
const deps = { ...common, bucket };
const read = file && begun.run ? await readStored(file, begun.run, deps) : null;
const maxMb = mostMemoryMb();
process.stdout.write(JSON.stringify({ file, facts: read?.facts ?? null, downloadMb, maxMb }));

/** Invokes the step until the file is stored: a large upload is recorded first. */
async function stored(state: RunState): Promise<RunState> {
  const answer = { ...state, ...(await downloadFile(state, { ...common, crm, store, transfer, abortUpload })) };
  return answer.outcome === 'STORED' ? answer : stored(answer);
}

/** On Linux, `maxRSS` includes the memory of the parent process. The process status does not. */
function mostMemoryMb(): number {
  const status = existsSync('/proc/self/status') ? readFileSync('/proc/self/status', 'utf8') : '';
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1] ?? process.resourceUsage().maxRSS) / 1024;
}
