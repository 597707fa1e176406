import { DescribeExecutionCommand } from '@aws-sdk/client-sfn';
import { createBatchStore } from '../../../core/batch/batch-store.ts';
import { JSONL } from '../../../core/updates/read-jsonl.ts';
import { CommandError, USAGE } from '../../support/exit.ts';
import { type CheckedUpdates, checkUpdates } from '../../updates/check-updates.ts';
import { readBatchManifest } from '../../updates/outcome.ts';
import { openUpdateFile, type UpdateSource } from '../../updates/source.ts';
import { newBatchName, startBatch } from '../../updates/start-batch.ts';
import { uploadInput } from '../../updates/upload.ts';
import { broken, type Check, type Finding, held, lookUntil, NotChecked } from '../base/check.ts';
import type { Verifying } from '../base/verifying.ts';

export const UPDATE_CHECK: Check = {
  id: 'updates',
  does: 'sends the one line of --updates as a batch',
  makes: true,
  look: update,
};

/**
 * The line of `--updates`: written out, or in a file. Checked before anything is made; no value of it is printed.
 * @throws CommandError (exit code 2)
 */
export async function updatesOf(lineOrFile: string, fileOf: (path: string) => string): Promise<CheckedUpdates> {
  const source = lineOrFile.trimStart().startsWith('{') ? inline(lineOrFile) : await openUpdateFile(fileOf(lineOrFile));
  const checked = await checkUpdates(source, () => undefined).catch(async (error: unknown) => {
    await source.close();
    throw error;
  });
  if (checked.records === 1) return checked;
  await source.close();
  throw new CommandError(
    `--updates takes one line, of a customer whom it may change: ${source.name} has ${checked.records}. Nothing was sent.`,
    USAGE,
  );
}

function inline(line: string): UpdateSource {
  const open = async function* () {
    yield Buffer.from(`${line}\n`);
  };
  return { name: 'the line', reader: JSONL, open, close: async () => undefined };
}

async function update(verifying: Verifying): Promise<Finding> {
  const { target, updates } = verifying;
  const { UpdatesStateMachineArn, sfn, s3, BucketName } = target;
  if (!updates) throw new NotChecked('it changes a customer: name a harmless line with --updates');
  if (!UpdatesStateMachineArn) throw new NotChecked('the deployment has no customer updates');
  const store = createBatchStore(s3, BucketName);
  const batch = newBatchName();
  const key = await uploadInput(store, batch, updates);
  verifying.runs.names.push(batch);
  const executionArn = await startBatch({ sfn, UpdatesStateMachineArn }, key);
  const { status, error, cause } = await lookUntil(
    () => sfn.send(new DescribeExecutionCommand({ executionArn })),
    (execution) => execution.status !== 'RUNNING',
    verifying,
  );
  if (status === 'RUNNING') throw new NotChecked(`${batch} was still under way: npm run cli -- update-status ${batch}`);
  const manifest = await readBatchManifest(store, batch);
  if (manifest?.counts.APPLIED === 1) return held(`${batch} applied its line`);
  return broken(
    `${batch} ended in ${error ?? status}: ${cause ?? 'its line was not applied'}`,
    'Its line should be applied.',
  );
}
