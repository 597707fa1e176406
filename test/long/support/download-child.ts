import { S3Client } from '@aws-sdk/client-s3';
import { downloadFile } from '../../../lambdas/download-file/download-file.ts';
import { scanStored } from '../../../lambdas/publish-file/scan-stored.ts';
import { deploymentSchema } from '../../../lambdas/shared/deployment.ts';
import { openFile } from '../../../lambdas/shared/files/open-file.ts';
import { runStateSchema } from '../../../lambdas/shared/states.ts';
import { createBucket } from '../../../lambdas/shared/storage/bucket.ts';

/** Stores one file and verifies it as the functions do, and prints the most memory that this took. A process of its own. */
const { url, bucket: name, endpoint } = JSON.parse(process.argv[2] ?? '{}');
const credentials = { accessKeyId: '000000000000', secretAccessKey: 'local' };
const bucket = createBucket(new S3Client({ endpoint, region: 'us-east-1', credentials }), name);
const addresses = { baseUrl: 'http://127.0.0.1/api/v1', authUrl: 'http://127.0.0.1/auth' };
const common = {
  deployment: deploymentSchema.parse({ local: true, crm: addresses }),
  log: { info: () => {}, error: () => {} },
  now: () => new Date(),
  random: () => 0.5,
  secondsLeft: () => 900,
  bucket,
};
const time = new Date().toISOString();
const run = {
  schemaVersion: 1,
  entity: 'leads',
  exportId: crypto.randomUUID(),
  date: time.slice(0, 10),
  prefix: 'runs/entity=leads/run=long/',
  deadline: time,
  firstWaitSeconds: 1,
  largestWaitSeconds: 1,
  keptUntil: time.slice(0, 10),
  request: { columns: ['id'] },
  fingerprint: '',
  createdAt: time,
  softwareVersion: 'test',
};
const state = runStateSchema.parse({ input: {}, execution: 'long', startedAt: time, run });
const crm = { call: async () => ({ url }) };
// The client of the service answers the link that the parent has asked for.
const answer = await downloadFile(state, { ...common, crm: crm as never, openFile });
const afterDownload = process.resourceUsage().maxRSS;
const { scan } = answer.file ? await scanStored(answer.file, null, common) : { scan: null };
process.stdout.write(
  JSON.stringify({
    file: answer.file,
    scan,
    downloadMb: afterDownload / 1024,
    maxMb: process.resourceUsage().maxRSS / 1024,
  }),
);
