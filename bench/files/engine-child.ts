import type { TransferOptions } from '../../transfer/base/types.ts';
import { transfer } from '../../transfer/transfer.ts';
import { answer, costOf, jobOfChild } from '../child.ts';
import type { Job } from './clients.ts';

/** Runs one transfer of the engine in its own process. Like the state machine, it continues an unfinished upload. */

const job = jobOfChild<Job>();
// The function has loaded all these modules when it moves a file.
await import('../../lambdas/download-file/handler.ts');

const options = {
  address: async () => job.source,
  policy: { hosts: [], local: true },
  nameObject: () => ({ key: job.key, contentType: 'text/csv' }),
  store: {
    bucket: job.bucket,
    region: 'us-east-1',
    endpoint: job.store,
    credentials: async () => ({ accessKeyId: 'bench', secretAccessKey: 'bench' }),
    objectChecksum: true,
  },
  connections: job.connections,
  maxBytes: 2 ** 46,
  allowUndeclaredEnd: false,
  secondsLeft: () => 900,
};

// Measures the transfer alone, once the address is known.
const cost = await costOf(async () => {
  let resume: TransferOptions['resume'] = null;
  const observer: TransferOptions['observer'] = {
    upload: (upload) => {
      resume = upload;
    },
  };
  while (!(await transfer({ ...options, resume, observer })));
});
answer(cost);
