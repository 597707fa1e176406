import { GetObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { createManifests } from '../../cli/data/manifests.ts';
import { verifyPublished } from '../../cli/data/verify.ts';
import { followRun, startRun } from '../../cli/runs/executions.ts';
import type { Entity } from '../../core/config/entities.ts';
import { datePointerKey } from '../../core/export/pointer.ts';
import { waitUntil } from '../../local/processes/wait-until.ts';
import { idAt } from '../../sandbox/data/records.ts';
import { runCli } from '../cli/support/run-cli.ts';
import { batchTools, changes } from '../e2e/support/batches.ts';
import { type Deployed, deployForTests, synthesise } from '../e2e/support/deployed.ts';
import { setTimeoutOf } from '../e2e/support/function-timeout.ts';
import { statesOf } from '../e2e/support/states-of.ts';
import { tempDir } from '../local/support/support.ts';
import { earlierRelease } from './support/earlier-release.ts';

/**
 * Release 0.1.0, this one over it, and 0.1.0 again (`docs/upgrading.md`). Each test goes on where the one before ended. What changes
 * in the template is in `test/lib/upgrade.test.ts`.
 */

const MIB = 1024 * 1024;
const LINES = 150;
const EARLIER = earlierRelease('0.1.0');
const [FIRST, SECOND, THIRD] = ['2026-11-19', '2026-11-20', '2026-11-21'];
let system: Deployed;
let batches: ReturnType<typeof batchTools>;
/** Executions by what holds them up. */
const begun = { create: '', check: '', download: '', failed: '', published: '', batch: '' };

beforeAll(async () => {
  system = await deployForTests(
    'upgrade',
    { customerUpdates: true, updates: { concurrency: 1, maxRate: 1000 } },
    { rows: { customers: LINES }, bytes: { leads: 24 * MIB }, jobChecks: 1 },
    EARLIER,
  );
  batches = batchTools(system);
  await setTimeoutOf(system, 'DownloadFile', 5);
});

afterAll(() => system?.close());

afterEach(() => system.sandbox.faults.clear());

const nameOf = (executionArn: string) => executionArn.split(':').at(-1) ?? '';
const start = (entity: Entity, input: object = {}) => startRun(system.target, entity, input);
const end = (entity: Entity, executionArn: string) =>
  followRun(system.target.sfn, entity, executionArn, { everyMs: 200 });

/** @returns what the command wrote on standard output */
async function cli(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runCli(...args, ...system.place);
  expect(code, `${args.join(' ')}\n${stdout}\n${stderr}`).toBe(0);
  return stdout;
}

const configured = () => ['--configuration', system.configurationFile];

async function enters(executionArn: string, name: string) {
  const there = async () => (await statesOf(system.target, executionArn)).some((state) => state.name === name);
  expect(await waitUntil(there, { withinMs: 60_000, everyMs: 200 }), name).toBe(true);
}

/** Its answer is late for as long as a deployment may take, so that the second chunk is begun by the functions of the next release. */
async function holdBatch(batch: string): Promise<string> {
  system.sandbox.faults.add({ path: 'update', customers: [idAt('customers', 0)], delaySeconds: 8 });
  return batches.start(await batches.upload(batch, changes(LINES, batch)));
}

function holdRun(entity: Entity): Promise<string> {
  system.sandbox.faults.add({ path: 'status', entity, status: 'PROCESSING', delaySeconds: 0.3 });
  return start(entity);
}

/** Runs one entity to its end; its first call is refused, so that the grant is refreshed. */
async function runRefreshing(entity: Entity, date: string) {
  const refreshed = system.sandbox.ledger.count({ kind: 'token' });
  system.sandbox.faults.add({ path: 'create', entity, calls: [1], answer: { status: 401 } });
  const report = await system.run(entity, { date });
  expect(report).toMatchObject({ status: 'SUCCEEDED', error: null });
  expect(system.sandbox.ledger.count({ kind: 'token' })).toBe(refreshed + 1);
  return report;
}

async function expectApplied(batch: string, since: number) {
  expect(await batches.manifest(batch)).toMatchObject({ counts: { APPLIED: LINES, UNKNOWN: 0, NOT_SENT: 0 } });
  expect([...batches.callsSince(since).values()].filter((calls) => calls.length !== 1)).toEqual([]);
}

it('runs and a batch that 0.1.0 began end well under this release, by their old definition and the new functions', async () => {
  const { target, sandbox } = system;
  begun.published = (await runRefreshing('meetings', FIRST)).executionArn;
  sandbox.faults.add({ path: 'status', entity: 'employers', status: 'FAILED' });
  begun.failed = (await system.run('employers', { date: FIRST })).executionArn;
  sandbox.faults.add({ path: 'create', entity: 'workflows', answer: { status: 503 } });
  sandbox.faults.add({ path: 'file', entity: 'leads', calls: { from: 3 }, answer: { status: 503 } });
  // A run of that release publishes a file with other columns.
  begun.create = await start('workflows', { columns: ['id'] });
  begun.check = await holdRun('contacts');
  begun.download = await start('leads');
  await enters(begun.create, 'WaitBeforeCreate');
  await enters(begun.check, 'WaitBeforeCheck');
  await enters(begun.download, 'WaitBeforeDownload');
  const since = batches.lastCall();
  begun.batch = await holdBatch('held');

  await system.deploy(synthesise);
  sandbox.faults.clear();

  const held = { workflows: begun.create, contacts: begun.check, leads: begun.download };
  for (const [entity, executionArn] of Object.entries(held) as [Entity, string][]) {
    const report = await end(entity, executionArn);
    expect(report).toMatchObject({ status: 'SUCCEEDED', error: null });
    const { manifest } = await verifyPublished(target, report);
    // The functions of 0.1.0 say nothing of the format.
    expect(manifest).toMatchObject({ file: { format: 'csv' }, state: 'published' });
  }
  const { moving } =
    (await statesOf(target, begun.download)).findLast(({ name }) => name === 'WaitBeforeDownload')?.state ?? {};
  expect(moving).toMatchObject({ upload: { size: expect.any(Number) }, restarts: 0 });
  expect(await batches.ended(begun.batch)).toMatchObject({ status: 'SUCCEEDED', error: '' });
  await expectApplied('held', since);
});

it('the grant that 0.1.0 stored is refreshed, and its pointers are moved on', async () => {
  const { executionArn } = await runRefreshing('meetings', SECOND);

  const manifests = createManifests(system.target);
  expect(await manifests.dates('meetings')).toEqual([FIRST, SECOND]);
  expect(await manifests.pointer('meetings', 'latest')).toMatchObject({ execution: nameOf(executionArn) });
});

it('the command works on runs of both', async () => {
  const runs = (await cli('list', '--since', '1d', ...configured())).trimEnd().split('\n');
  const outcomes = runs.map((line) => line.split('\t')[3]);
  expect(outcomes.sort()).toEqual(['ExportFailed', ...Array(5).fill('published')]);

  const file = `${await tempDir()}/meetings.csv`;
  for (const args of [
    ['show', nameOf(begun.published)],
    ['show', nameOf(begun.download)],
    ['logs', nameOf(begun.check)],
    ['download', 'meetings', '--date', FIRST, '-o', file],
    ['peek', 'leads'],
    ['diff', 'meetings', '--from', FIRST, '--to', SECOND],
    ['report', '-o', `${file}.html`, ...configured()],
    ['doctor', '--refresh', ...configured()],
    ['update-status', 'held'],
    ['retry', nameOf(begun.failed), '--wait'],
  ]) {
    await cli(...args);
  }
});

it('what this release began ends well under 0.1.0, which moves its pointers and refreshes its grant', async () => {
  const { target, sandbox } = system;
  const since = batches.lastCall();
  const run = await holdRun('contacts');
  await enters(run, 'WaitBeforeCheck');
  const batch = await holdBatch('back');
  await system.run('workflows', { date: FIRST, columns: ['id'], publish: true });

  await system.deploy(EARLIER);
  sandbox.faults.clear();

  expect(await end('contacts', run)).toMatchObject({ status: 'SUCCEEDED', error: null });
  expect(await batches.ended(batch)).toMatchObject({ status: 'SUCCEEDED', error: '' });
  await expectApplied('back', since);
  const { executionArn } = await runRefreshing('meetings', THIRD);
  expect(await createManifests(target).pointer('meetings', 'latest')).toMatchObject({
    execution: nameOf(executionArn),
  });
  for (const args of [
    ['list'],
    ['show', 'meetings'],
    ['download', 'meetings', '-o', `${await tempDir()}/m.csv`],
    ['doctor', ...configured()],
  ]) {
    await cli(...args);
  }
});

it('a pointer with more than 0.1.0 knows stops its runs of that date, until the fields are removed', async () => {
  const { s3, BucketName: Bucket } = system.target;
  const Key = datePointerKey('workflows', FIRST);
  const refused = await system.run('workflows', { date: FIRST });
  expect(refused).toMatchObject({ error: 'StorageConflict', cause: expect.stringContaining(Key) });

  const { Body } = await s3.send(new GetObjectCommand({ Bucket, Key }));
  const { kind, ...known } = JSON.parse((await Body?.transformToString()) ?? '');
  expect(kind).toBe('partial');
  await s3.send(new PutObjectCommand({ Bucket, Key, Body: JSON.stringify(known) }));

  expect(await system.run('workflows', { date: FIRST })).toMatchObject({ status: 'SUCCEEDED' });
});
