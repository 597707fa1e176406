import { DescribeExecutionCommand } from '@aws-sdk/client-sfn';
import { createBatchStore } from '../../../core/batch/batch-store.ts';
import { CRM_EXPORT } from '../../../core/commands.ts';
import { JSONL } from '../../../core/updates/read-jsonl.ts';
import type { Check } from '../../checks/check.ts';
import { broken, CannotTell, type Finding, holds } from '../../checks/finding.ts';
import { CommandError, USAGE } from '../../support/exit.ts';
import { type CheckedUpdates, checkUpdates } from '../../updates/check-updates.ts';
import { readBatchManifest } from '../../updates/outcome.ts';
import { openUpdateFile, type UpdateSource } from '../../updates/source.ts';
import { startBatch } from '../../updates/start-batch.ts';
import { uploadInput } from '../../updates/upload.ts';
import { lookUntil } from '../base/look-until.ts';
import type { Verifying } from '../base/verifying.ts';

export const UPDATE_CHECK: Check<Verifying> = {
  id: 'updates',
  question: 'Is the one line of --updates applied, sent as a batch?',
  option: '--updates',
  rights: [
    's3:GetObject on `updates/*`',
    's3:PutObject on `updates/*/input.jsonl`, `updates/*/stop.json`',
    'states:StartExecution on CustomerUpdates',
    'states:DescribeExecution on executions of CustomerUpdates',
    'kms:GenerateDataKey on the key, through S3',
  ],
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
  const { target, updates, id, runs } = verifying;
  const { UpdatesStateMachineArn, sfn, s3, BucketName } = target;
  if (!updates) throw new CannotTell('it changes a customer: name a harmless line with --updates');
  if (!UpdatesStateMachineArn) throw new CannotTell('the deployment has no customer updates');
  const store = createBatchStore(s3, BucketName);
  const batch = `update-verify-${id}-${runs.names.length}`;
  const key = await uploadInput(store, batch, updates);
  runs.names.push(batch);
  const executionArn = await startBatch({ sfn, UpdatesStateMachineArn }, key);
  const { status, error, cause } = await lookUntil(
    () => sfn.send(new DescribeExecutionCommand({ executionArn })),
    (execution) => execution.status !== 'RUNNING',
    verifying,
  );
  if (status === 'RUNNING') throw new CannotTell(`${batch} was still under way: ${CRM_EXPORT} update-status ${batch}`);
  const manifest = await readBatchManifest(store, batch);
  if (manifest?.counts.APPLIED === 1) return holds(`${batch} applied its line`);
  return broken(
    `${batch} ended in ${error ?? status}: ${cause ?? 'its line was not applied'}`,
    'Its line should be applied.',
  );
}
