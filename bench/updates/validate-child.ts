import { checkUpdates } from '../../cli/updates/check.ts';
import { openUpdateFile } from '../../cli/updates/source.ts';
import { JOB, whenBegun } from '../support/children.ts';
import { costOf } from '../support/process-cost.ts';

/** Validates a file as the command does, in a fresh process, and reports what it cost. */

const { file }: { file: string } = JSON.parse(process.env[JOB] ?? '');
await whenBegun(() =>
  costOf(async () => {
    const source = await openUpdateFile(file);
    await checkUpdates(source, () => undefined);
    await source.close();
  }),
);
