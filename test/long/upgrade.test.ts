import { GetObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import * as z from 'zod';
import { verifyPublished } from '../../cli/data/stored-file.ts';
import { createManifests } from '../../cli/data/stored-manifests.ts';
import { startRun } from '../../cli/runs/executions.ts';
import { followRun } from '../../cli/runs/follow.ts';
import { SMALLEST_CHUNK } from '../../core/batch/validate-updates.ts';
import type { Entity } from '../../core/config/entities.ts';
import { datePointerKey, latestPointerKey } from '../../core/export/pointer.ts';
import { LONGEST_SLEEP_SECONDS } from '../../lambdas/apply-chunk/apply-line.ts';
import { idAt } from '../../sandbox/data/records.ts';
import { runCli } from '../cli/support/run-cli.ts';
import { batchTools, changes } from '../e2e/support/batches.ts';
import { type Deployed, deployForTests, synthesise } from '../e2e/support/deployed.ts';
import { statesOf } from '../e2e/support/states-of.ts';
import { eventually, tempDir } from '../support/project.ts';
import { fixtureRelease } from './support/fixture-release.ts';

/**
 * Deploys the fixture's release, this release over it, and the fixture's release again (`docs/upgrading.md`). Each test
 * continues after the one before. `test/lib/upgrade.test.ts` compares the templates.
 */

const MIB = 1024 * 1024;
const LINES = 150;
const [FIRST, SECOND, THIRD] = ['2026-11-19', '2026-11-20', '2026-11-21'];
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
});

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
  await eventually(there, { everyMs: 200 });
}

/**
 * Holds a batch until its fault is cleared, for eight attempts at most: 200 seconds. The first line of its second chunk is
 * answered 429 after a delay. The local cloud ends a function whose code is replaced: at this line, no applied line is
 * then in doubt.
 */
async function holdBatch(batch: string): Promise<string> {
  const held = idAt('customers', SMALLEST_CHUNK);
  const answer = { status: 429, headers: { 'retry-after': String(LONGEST_SLEEP_SECONDS + 1) } };
  system.sandbox.faults.add({ path: 'update', customers: [held], delaySeconds: 25, answer });
  const before = batches.lastCall();
  const executionArn = await batches.start(await batches.upload(batch, changes(LINES, batch)));
  await eventually(() => batches.callsSince(before).has(held));
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
  const applied = [...batches.callsSince(since).values()].map((calls) => calls.filter((call) => call.applied));
  expect(applied.filter((calls) => calls.length !== 1)).toEqual([]);
}

/** Running executions, by the step that holds them. */
interface Held {
  workflows: string;
  contacts: string;
  leads: string;
  batch: string;
}

/** Holds a run in each state that waits, and a batch in its second chunk. */
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

/** Deploys this release during held runs and a batch. They must succeed. */
async function expectContinued(batch: string): Promise<Held> {
  const { target, sandbox } = system;
  const since = batches.lastCall();
  const held = await holdAll(batch);

  await system.deploy(synthesise);
  sandbox.faults.clear();

  for (const [, executionArn] of runsOf(held)) {
    const report = await end(executionArn);
    expect(report).toMatchObject({ status: 'SUCCEEDED', error: null });
    const manifest = await verifyPublished(target, report);
    expect(manifest).toMatchObject({ file: { format: 'csv' }, state: 'published' });
  }
  const waits = (await statesOf(target, held.leads)).filter(({ name }) => name === 'WaitBeforeDownload');
  expect(waits.at(-1)?.state?.moving).toMatchObject({ upload: { size: expect.any(Number) }, restarts: 0 });
  expect(await batches.ended(held.batch)).toMatchObject({ status: 'SUCCEEDED', error: '' });
  await expectApplied(batch, since);
  return held;
}

let ofFixture: Held & { published: string };

it('runs and a batch of the last release succeed under this one', async () => {
  const published = (await runRefreshing('meetings', FIRST)).executionArn;
  ofFixture = { published, ...(await expectContinued('held')) };
});

it('the command works on runs and a batch of the last release, and the stored grant is refreshed', async () => {
  system.sandbox.faults.add({ path: 'status', entity: 'employers', status: 'FAILED' });
  const failed = (await system.run('employers', { date: SECOND })).executionArn;
  system.sandbox.faults.clear();
  await runRefreshing('meetings', SECOND);
  const runs = (await cli('list', '--since', '1d')).trimEnd().split('\n');
  const outcomes = runs.map((line) => line.split('\t')[3]);
  expect(outcomes.sort()).toEqual(['ExportFailed', ...Array(5).fill('published')]);

  const file = `${await tempDir()}/meetings.csv`;
  for (const args of [
    ['show', nameOf(ofFixture.contacts)],
    ['show', nameOf(ofFixture.published)],
    ['logs', nameOf(ofFixture.contacts)],
    ['download', 'meetings', '--date', FIRST, '-o', file],
    ['peek', 'leads'],
    ['diff', 'meetings', '--from', FIRST, '--to', SECOND],
    ['report', '-o', `${file}.html`],
    ['doctor', '--refresh', ...configured()],
    ['update-status', 'held'],
    ['retry', nameOf(failed), '--wait'],
  ]) {
    await cli(...args);
  }
});

it('after a rollback, a run and a batch of this release succeed, and pointers and grant are updated', async () => {
  const { target, sandbox } = system;
  await saysMore(latestPointerKey('meetings'), datePointerKey('meetings', SECOND));
  const since = batches.lastCall();
  const run = await holdRun('contacts');
  await enters(run, 'WaitBeforeCheck');
  const batch = await holdBatch('back');

  await system.deploy(fixtureRelease);
  sandbox.faults.clear();

  expect(await end(run)).toMatchObject({ status: 'SUCCEEDED', error: null });
  expect(await batches.ended(batch)).toMatchObject({ status: 'SUCCEEDED', error: '' });
  await expectApplied('back', since);
  const { executionArn } = await runRefreshing('meetings', THIRD);
  const manifests = createManifests(target);
  expect(await manifests.dates('meetings')).toEqual([FIRST, SECOND, THIRD]);
  expect(await manifests.pointer('meetings', 'latest')).toMatchObject({ execution: nameOf(executionArn) });
  for (const args of [
    ['list'],
    ['show', 'meetings'],
    ['download', 'meetings', '-o', `${await tempDir()}/m.csv`],
    ['download', 'meetings', '--date', SECOND, '-o', `${await tempDir()}/n.csv`],
  ]) {
    await cli(...args);
  }
});

const versionSchema = z.object({ Version: z.string() });

/**
 * Gives a function another timeout, in whole seconds, and makes the machine use it: publishes a new version and moves
 * the alias to it. The stack does not know this setting.
 */
async function setTimeoutOf({ cloud, target }: Deployed, step: string, seconds: number): Promise<void> {
  const address = `${cloud.endpoint}/2015-03-31/functions/${target.stack}-${step}`;
  await ask('PUT', `${address}/configuration`, { Timeout: seconds });
  const { Version } = versionSchema.parse(await ask('POST', `${address}/versions`, {}));
  await ask('PUT', `${address}/aliases/live`, { FunctionVersion: Version });
}

async function ask(method: string, url: string, body: object): Promise<unknown> {
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(url, { method, headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`${method} ${url}: ${answer.status} ${await answer.text()}`);
  return answer.json();
}
