import type { TransferOptions } from '../../transfer/base/types.ts';
import { transfer } from '../../transfer/transfer.ts';
import { costOf, givenJob } from '../child.ts';
import type { Job } from './clients.ts';

/** One transfer by the engine in a process of its own; goes on as the machine would when the engine hands the upload back. */

const job = givenJob<Job>();
if (job.loaded) await import('../../lambdas/download-file/handler.ts');

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
  // Nothing goes wrong here: a run that had to start over measures something else, and should be looked at.
  observer: { restarted: () => process.stderr.write('The engine started over.\n') },
};

// What the transfer alone takes, from the moment that the address is known.
const cost = await costOf(async () => {
  let resume: TransferOptions['resume'] = null;
  for (;;) {
    const outcome = await transfer({ ...options, resume });
    if (outcome.done) return;
    resume = outcome.resume;
  }
});
process.stdout.write(JSON.stringify(cost));
