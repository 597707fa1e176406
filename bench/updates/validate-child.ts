import { checkUpdates } from '../../cli/updates/check-updates.ts';
import { openUpdateFile } from '../../cli/updates/source.ts';
import { givenJob, whenBegun } from '../support/children.ts';
import { costOf } from '../support/process-cost.ts';

/** Validates a file as the command does, in a fresh process, and reports what it cost. */

const { file } = givenJob<{ file: string }>();
await whenBegun(() =>
  costOf(async () => {
    const source = await openUpdateFile(file);
    await checkUpdates(source, () => undefined);
    await source.close();
  }),
);
