import { once } from 'node:events';
import { checkUpdates } from '../../cli/updates/check.ts';
import { openUpdateFile } from '../../cli/updates/source.ts';
import { costOf, JOB, type ValidateJob } from './job.ts';

/** Validates a file as the command does, in a fresh process, and reports what it cost. */

const { file }: ValidateJob = JSON.parse(process.env[JOB] ?? '');
process.send?.('ready');
await once(process, 'message');
const cost = await costOf(async () => {
  const source = await openUpdateFile(file);
  await checkUpdates(source, () => undefined);
  await source.close();
});
process.send?.(cost);
process.disconnect();
