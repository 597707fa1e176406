import type { TransferOptions } from '../../transfer/base/types.ts';
import { transfer } from '../../transfer/transfer.ts';
import { doJob } from '../child.ts';
import type { Job } from './clients.ts';

/** Runs one transfer of the engine in its own process. Like the state machine, it continues an unfinished upload. */

// The function has loaded all these modules when it moves a file, and knows the address.
await import('../../lambdas/download-file/handler.ts');
await doJob(async ({ source, key, bucket, store, connections }: Job) => {
  const options = {
    address: async () => source,
    policy: { hosts: [], local: true },
    nameObject: () => ({ key, contentType: 'text/csv' }),
    store: {
      bucket,
      region: 'us-east-1',
      endpoint: store,
      credentials: async () => ({ accessKeyId: 'bench', secretAccessKey: 'bench' }),
      objectChecksum: true,
    },
    connections,
    maxBytes: 2 ** 46,
    allowUndeclaredEnd: false,
    secondsLeft: () => 900,
  };
  let resume: TransferOptions['resume'] = null;
  const observer: TransferOptions['observer'] = {
    upload: (upload) => {
      resume = upload;
    },
  };
  while (!(await transfer({ ...options, resume, observer })));
});
