import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { startBatch } from '../../cli/updates/update.ts';
import { idAt } from '../../sandbox/data/records.ts';
import { type Deployed, deployForTests } from '../e2e/support/deployed.ts';
import { type Entry, runbookEntries } from '../support/runbook.ts';
import { type Operator, operatorOf } from './support/operator.ts';

/** Runs the commands of the runbook's entries about customer updates after their fault. */

const RECORDS = 20;
const entries = new Map(runbookEntries().map((entry) => [entry.id, entry]));
let system: Deployed;
let dir: string;
let file: string;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'runbook-'));
  file = join(dir, 'changes.csv');
  const configuration = { customerUpdates: true, updates: { concurrency: 2, maxRate: 500 } };
  system = await deployForTests('runbook-updates', configuration, { rows: { customers: RECORDS } });
});

afterAll(async () => {
  await system?.close();
  await rm(dir, { recursive: true, force: true });
});

beforeEach(async () => {
  system.sandbox.faults.clear();
  await writeFile(
    file,
    `id,city\n${Array.from({ length: RECORDS }, (_, n) => `${idAt('customers', n)},Haifa`).join('\n')}\n`,
  );
});

function entryOf(id: string): Entry {
  const entry = entries.get(id);
  if (!entry) throw new Error(`The runbook has no entry ${id}.`);
  return entry;
}

/** Runs the commands under some labels of an entry; each must end with one of the exit codes. */
async function typeAll(operator: Operator, id: string, labels: string[], codes: number[]): Promise<string> {
  let said = '';
  for (const { label, command } of entryOf(id).commands.filter(({ label }) => labels.includes(label))) {
    const { code, stdout, stderr } = await operator.type(command);
    expect(codes, `${label}: ${command}\n${stdout}${stderr}`).toContain(code);
    said += stdout + stderr;
  }
  return said;
}

/** Sends a batch that fails, and returns an operator with the name of the batch. */
async function troubledBatch(...options: string[]): Promise<{ operator: Operator; batch: string }> {
  const { code, stderr } = await operatorOf(system).cli('update', file, '--yes', ...options);
  expect(code, stderr).toBe(1);
  const batch = /Batch ([\w-]+):/.exec(stderr)?.[1] ?? '';
  return { operator: operatorOf(system, { BATCH: batch, FILE: join(dir, 'left.csv') }), batch };
}

it('UpdateFileInvalid: the commands list the problems, and apply the corrected file', async () => {
  const operator = operatorOf(system, { FILE: file });
  const right = `id,city\n${idAt('customers', 0)},Haifa\n`;
  await writeFile(file, right.replace('city', 'citty'));

  expect(await typeAll(operator, 'UpdateFileInvalid', ['Look'], [2])).toContain('citty');
  await writeFile(file, right);

  await typeAll(operator, 'UpdateFileInvalid', ['Replay'], [0]);
});

it('UpdateAlreadyStarted: the commands show the batch that owns the file', async () => {
  const { stderr } = await operatorOf(system).cli('update', file, '--yes');
  const batch = /Batch ([\w-]+):/.exec(stderr)?.[1] ?? '';
  const { sfn, UpdatesStateMachineArn = '' } = system.target;
  await startBatch({ sfn, UpdatesStateMachineArn }, `updates/${batch}/input.jsonl`, {});

  expect(await typeAll(operatorOf(system, { BATCH: batch }), 'UpdateAlreadyStarted', ['Look'], [0])).toContain(batch);
});

it('UpdateStopped: the commands show the errors, and send the unsent lines', async () => {
  system.sandbox.faults.add({ path: 'update', answer: { status: 403 } });
  const { operator, batch } = await troubledBatch();

  expect(await typeAll(operator, 'UpdateStopped', ['Look'], [0, 1])).toContain(batch);
  system.sandbox.faults.clear();

  await typeAll(operator, 'UpdateStopped', ['Fix', 'Verify', 'Replay'], [0]);
});

it('UpdatesIncomplete: the commands write the unapplied lines to a file, and send those that were not refused', async () => {
  system.sandbox.faults.add({ path: 'update', customers: [idAt('customers', 3)], answer: { status: 422 } });
  system.sandbox.faults.add({ path: 'update', customers: [idAt('customers', 5)], answer: { status: 503 } });
  const { operator, batch } = await troubledBatch();

  expect(await typeAll(operator, 'UpdatesIncomplete', ['Look'], [0, 1])).toContain(batch);
  system.sandbox.faults.clear();

  await typeAll(operator, 'UpdatesIncomplete', ['Fix', 'Replay'], [0]);
});
