import type { Resume, StoreOptions } from '../../transfer/base/types.ts';
import { transfer } from '../../transfer/transfer.ts';
import { LIMITS } from './transfer-limits.ts';

/** A process that continues an upload until it is killed: `node transfer-child.ts <job as JSON>`. */

export interface ChildJob {
  url: string;
  resume: Resume;
  store: Omit<StoreOptions, 'credentials'>;
  connections: number;
}

const job: ChildJob = JSON.parse(process.argv[2] ?? '');
const { key, contentType } = job.resume;
process.stdout.write('begun\n');
const result = await transfer({
  address: async () => job.url,
  policy: { hosts: [], local: true },
  nameObject: () => ({ key, contentType }),
  store: { ...job.store, credentials: async () => ({ accessKeyId: 'test', secretAccessKey: 'test' }) },
  resume: job.resume,
  maxBytes: 1024 ** 4,
  allowUndeclaredEnd: false,
  connections: { initial: job.connections, most: job.connections },
  secondsLeft: () => 900,
  limits: LIMITS,
});
process.stdout.write(`${result ? 'stored' : 'unfinished'}\n`);
