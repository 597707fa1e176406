import { CloudFormationClient, DescribeStacksCommand } from '@aws-sdk/client-cloudformation';
import { GetObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { verifyPublished } from '../../cli/data/stored-file.ts';
import { createManifests } from '../../cli/data/stored-manifests.ts';
import { startRun } from '../../cli/runs/executions.ts';
import { followRun } from '../../cli/runs/follow.ts';
import type { Entity } from '../../core/config/entities.ts';
import { datePointerKey, latestPointerKey } from '../../core/export/pointer.ts';
import { waitUntil } from '../../local/processes/wait-until.ts';
import { idAt } from '../../sandbox/data/records.ts';
import { runCli } from '../cli/support/run-cli.ts';
import { batchTools, changes } from '../e2e/support/batches.ts';
import { type Assemble, type Deployed, deployForTests, synthesise } from '../e2e/support/deployed.ts';
import { setTimeoutOf } from '../e2e/support/function-timeout.ts';
import { statesOf } from '../e2e/support/states-of.ts';
import { tempDir } from '../support/project.ts';
import { fixtureRelease } from './support/fixture-release.ts';
import { MORE, nextRelease } from './support/next-release.ts';

/**
 * Deploys the fixture's release, this release over it, the next release with one more state, output and setting, and
 * this release again (`docs/upgrading.md`). Each test continues after the one before. `test/lib/upgrade.test.ts`
 * compares the templates.
 */

const MIB = 1024 * 1024;
const DEPLOYED_WITHIN_MS = 300_000;
const LINES = 150;
const [FIRST, SECOND, THIRD, FOURTH] = ['2026-11-19', '2026-11-20', '2026-11-21', '2026-11-22'];
let system: Deployed;
let batches: ReturnType<typeof batchTools>;

beforeAll(async () => {
  system = await deployForTests(
    'upgrade',
    { customerUpdates: true, updates: { concurrency: 1, maxRate: 1000 } },
    { rows: { customers: LINES }, bytes: { leads: 24 * MIB }, jobChecks: 1 },
    fixtureRelease,
  );
  batches = batchTools(system);
}, DEPLOYED_WITHIN_MS);

afterAll(() => system?.close());

afterEach(() => system.sandbox.faults.clear());

const nameOf = (executionArn: string) => executionArn.split(':').at(-1) ?? '';
const start = async (entity: Entity, input: object = {}) => (await startRun(system.target, entity, input)).executionArn;
const end = (executionArn: string) => followRun(system.target.sfn, executionArn, { everyMs: 200 });

/** @returns the standard output of the command */
async function cli(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runCli(...args, ...system.place);
  expect(code, `${args.join(' ')}\n${stdout}\n${stderr}`).toBe(0);
  return stdout;
}

/** The states that an execution has entered. */
const passed = async (executionArn: string) => (await statesOf(system.target, executionArn)).map(({ name }) => name);

async function outputs(): Promise<string[]> {
  const { region, credentials } = system.target.sfn.config;
  const client = new CloudFormationClient({ endpoint: system.cloud.endpoint, region, credentials });
  const { Stacks } = await client.send(new DescribeStacksCommand({ StackName: system.target.stack }));
  return (Stacks?.[0]?.Outputs ?? []).map(({ OutputKey = '' }) => OutputKey);
}

/** Writes the pointers as a later release may: with another version and more fields. */
async function saysMore(...keys: string[]): Promise<void> {
  const { s3, BucketName: Bucket } = system.target;
  for (const Key of keys) {
    const { Body } = await s3.send(new GetObjectCommand({ Bucket, Key }));
    const pointer = JSON.parse((await Body?.transformToString()) ?? '');
    const more = { ...pointer, schemaVersion: pointer.schemaVersion + 1, seal: { by: 'the next release' } };
    await s3.send(new PutObjectCommand({ Bucket, Key, Body: JSON.stringify(more) }));
  }
}

const configured = () => ['--configuration', system.configurationFile];

async function enters(executionArn: string, name: string) {
  const there = async () => (await statesOf(system.target, executionArn)).some((state) => state.name === name);
  expect(await waitUntil(there, { withinMs: 60_000, everyMs: 200 }), name).toBe(true);
}

/** Delays an answer as long as a deployment may take, so that functions of the next release start the second chunk. */
async function holdBatch(batch: string): Promise<string> {
  system.sandbox.faults.add({ path: 'update', customers: [idAt('customers', 0)], delaySeconds: 8 });
  const before = batches.lastCall();
  const executionArn = await batches.start(await batches.upload(batch, changes(LINES, batch)));
  // The local cloud may end a function whose code is replaced while it sends its first line.
  const sending = () => batches.callsSince(before).size > 0;
  expect(await waitUntil(sending, { withinMs: 60_000, everyMs: 100 })).toBe(true);
  return executionArn;
}

function holdRun(entity: Entity): Promise<string> {
  system.sandbox.faults.add({ path: 'status', entity, status: 'PROCESSING', delaySeconds: 0.3 });
  return start(entity);
}

/** Runs one entity to its end. Its first call is refused, so the grant is refreshed. */
async function runRefreshing(entity: Entity, date: string) {
  const refreshed = system.sandbox.ledger.count({ kind: 'token' });
  system.sandbox.faults.add({ path: 'create', entity, calls: [1], answer: { status: 401 } });
  const report = await system.run(entity, { date });
  expect(report).toMatchObject({ status: 'SUCCEEDED', error: null });
  // The first run also refreshes the grant from a person.
  expect(system.sandbox.ledger.count({ kind: 'token' })).toBeGreaterThan(refreshed);
  return report;
}

async function expectApplied(batch: string, since: number) {
  expect(await batches.manifest(batch)).toMatchObject({ counts: { APPLIED: LINES, UNKNOWN: 0, NOT_SENT: 0 } });
  expect([...batches.callsSince(since).values()].filter((calls) => calls.length !== 1)).toEqual([]);
}

/** Running executions, by the step that holds them. */
interface Held {
  workflows: string;
  contacts: string;
  leads: string;
  batch: string;
}

/** Holds a run in each state that waits, and a batch between two chunks. */
async function holdAll(batch: string): Promise<Held> {
  const { sandbox } = system;
  await setTimeoutOf(system, 'DownloadFile', 5);
  sandbox.faults.add({ path: 'create', entity: 'workflows', answer: { status: 503 } });
  sandbox.faults.add({ path: 'file', entity: 'leads', calls: { from: 3 }, answer: { status: 503 } });
  const [workflows, contacts, leads] = [await start('workflows'), await holdRun('contacts'), await start('leads')];
  await enters(workflows, 'WaitBeforeCreate');
  await enters(contacts, 'WaitBeforeCheck');
  await enters(leads, 'WaitBeforeDownload');
  return { workflows, contacts, leads, batch: await holdBatch(batch) };
}

const runsOf = ({ batch: _, ...runs }: Held) => Object.entries(runs) as [Entity, string][];

/** Deploys during held runs and a batch. They must succeed, by the definition with which they began. */
async function expectContinued(batch: string, assemble: Assemble): Promise<Held> {
  const { target, sandbox } = system;
  const since = batches.lastCall();
  const held = await holdAll(batch);

  await system.deploy(assemble);
  sandbox.faults.clear();

  for (const [, executionArn] of runsOf(held)) {
    const report = await end(executionArn);
    expect(report).toMatchObject({ status: 'SUCCEEDED', error: null });
    const manifest = await verifyPublished(target, report);
    expect(manifest).toMatchObject({ file: { format: 'csv' }, state: 'published' });
    expect(await passed(executionArn)).not.toContain(MORE.state);
  }
  const waits = (await statesOf(target, held.leads)).filter(({ name }) => name === 'WaitBeforeDownload');
  expect(waits.at(-1)?.state?.moving).toMatchObject({ upload: { size: expect.any(Number) }, restarts: 0 });
  expect(await batches.ended(held.batch)).toMatchObject({ status: 'SUCCEEDED', error: '' });
  await expectApplied(batch, since);
  return held;
}

let ofFixture: Held & { published: string };
let begun: Held & { failed: string };

it('runs and a batch of the last release succeed under this one, by their old definition', async () => {
  const published = (await runRefreshing('meetings', FIRST)).executionArn;
  ofFixture = { published, ...(await expectContinued('held', synthesise)) };
});

it('the command works on runs and a batch of the last release, and the stored grant is refreshed', async () => {
  for (const args of [
    ['show', nameOf(ofFixture.contacts)],
    ['show', nameOf(ofFixture.published)],
    ['download', 'meetings', '--date', FIRST, '-o', `${await tempDir()}/meetings.csv`],
    ['update-status', 'held'],
  ]) {
    await cli(...args);
  }
  await runRefreshing('meetings', SECOND);
});

it('runs and a batch of this release succeed under the next one, by their old definition', async () => {
  system.sandbox.faults.add({ path: 'status', entity: 'employers', status: 'FAILED' });
  const failed = (await system.run('employers', { date: SECOND })).executionArn;
  begun = { failed, ...(await expectContinued('second', nextRelease)) };
});

it('the next release uses its state, output and setting, refreshes the stored grant and moves the pointers', async () => {
  const { executionArn } = await runRefreshing('meetings', THIRD);
  expect(await outputs()).toContain(MORE.output);
  const states = await statesOf(system.target, executionArn);
  expect(states.find(({ name }) => name === MORE.state)?.state).toMatchObject({ note: MORE.setting.noteAs });

  const manifests = createManifests(system.target);
  expect(await manifests.dates('meetings')).toEqual([FIRST, SECOND, THIRD]);
  expect(await manifests.pointer('meetings', 'latest')).toMatchObject({ execution: nameOf(executionArn) });
  await saysMore(latestPointerKey('meetings'), datePointerKey('meetings', THIRD));
});

it('the command works on runs of all three releases', async () => {
  const runs = (await cli('list', '--since', '1d')).trimEnd().split('\n');
  const outcomes = runs.map((line) => line.split('\t')[3]);
  expect(outcomes.sort()).toEqual(['ExportFailed', ...Array(9).fill('published')]);

  const file = `${await tempDir()}/meetings.csv`;
  for (const args of [
    ['show', nameOf(begun.leads)],
    ['logs', nameOf(begun.contacts)],
    ['download', 'meetings', '--date', FIRST, '-o', file],
    ['peek', 'leads'],
    ['diff', 'meetings', '--from', FIRST, '--to', THIRD],
    ['report', '-o', `${file}.html`],
    ['doctor', '--refresh', ...configured()],
    ['update-status', 'second'],
    ['retry', nameOf(begun.failed), '--wait'],
  ]) {
    await cli(...args);
  }
});

it('after a rollback, a run and a batch of the next release succeed, and pointers and grant are updated', async () => {
  const { target, sandbox } = system;
  const since = batches.lastCall();
  const run = await holdRun('contacts');
  await enters(run, 'WaitBeforeCheck');
  const batch = await holdBatch('back');

  await system.deploy(synthesise);
  sandbox.faults.clear();

  expect(await end(run)).toMatchObject({ status: 'SUCCEEDED', error: null });
  expect(await batches.ended(batch)).toMatchObject({ status: 'SUCCEEDED', error: '' });
  await expectApplied('back', since);
  expect(await outputs()).not.toContain(MORE.output);
  const { executionArn } = await runRefreshing('meetings', FOURTH);
  expect(await passed(executionArn)).not.toContain(MORE.state);
  expect(await createManifests(target).pointer('meetings', 'latest')).toMatchObject({
    execution: nameOf(executionArn),
  });
  for (const args of [
    ['list'],
    ['show', 'meetings'],
    ['download', 'meetings', '-o', `${await tempDir()}/m.csv`],
    ['download', 'meetings', '--date', THIRD, '-o', `${await tempDir()}/n.csv`],
  ]) {
    await cli(...args);
  }
});
