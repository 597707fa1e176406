import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Run } from '../../cli/runs/run.ts';
import type { Entity } from '../../core/config/entities.ts';
import { once } from '../../core/step/step.ts';
import type { FaultInput } from '../../sandbox/faults.ts';
import { bucketTools } from './support/bucket-tools.ts';
import { type Deployed, deployForTests } from './support/deployed.ts';
import { histories, ledgerItems, linesOf, logs, type NamedText, objects } from './support/everything.ts';
import { storedTokens } from './support/secrets.ts';
import { statesOf } from './support/states-of.ts';

/**
 * Tests runs in which the CRM fails, and their logs, histories and metadata. The first test that needs a shared run makes
 * it, so that each test also passes alone.
 */

const CANARY = 'canary-7f3a91';
const MIB = 1024 * 1024;
let system: Deployed;

beforeAll(async () => {
  system = await deployForTests('crm-trouble', { timeZone: 'Asia/Jerusalem' }, { canary: CANARY });
});

afterAll(() => system?.close());

/** Runs an entity with these faults. One run after the other: each at once would start functions of its own. */
async function runWith(entity: Entity, faults: Omit<FaultInput, 'entity'>[]): Promise<Run> {
  const armed = faults.map((fault) => system.sandbox.faults.add({ ...fault, entity } as FaultInput));
  const ended = await system.run(entity);
  for (const id of armed) system.sandbox.faults.remove(id);
  return ended;
}

const REFUSED = { status: 401 };
const TOO_MANY = { status: 429, headers: { 'retry-after': '1' } };

/** One run of contacts whose token the CRM refuses at its first status request. */
const refusedToken = once(async () => {
  // The first function that uses a grant refreshes it.
  await system.manifestOf(await runWith('contacts', []));
  const before = await storedTokens(system);
  const refreshes = refreshCounter();
  const report = await runWith('contacts', [{ path: 'status', calls: [1], answer: REFUSED }]);
  return { report, refreshes: refreshes(), before, after: await storedTokens(system) };
});

function refreshCounter(): () => number {
  const refreshes = () =>
    system.sandbox.ledger.calls({ kind: 'token' }).filter(({ grantType }) => grantType === 'refresh_token').length;
  const before = refreshes();
  return () => refreshes() - before;
}

/** Runs with every kind of trouble, and one without. */
const everything = once(async () => {
  await refusedToken();
  const failed = await runWith('leads', [{ path: 'status', status: 'FAILED' }]);
  const published = [
    await runWith('customers', [
      { path: 'create', calls: [1], answer: { status: 503 } },
      { path: 'status', calls: [1], answer: { status: 500, body: 'oops' } },
      { path: 'status', calls: [2], answer: TOO_MANY },
      { path: 'download', calls: [1], answer: TOO_MANY },
    ]),
    await runWith('agent-numbers', [
      { path: 'create', calls: [1], reset: 'after' },
      { path: 'file', calls: [1], hangUp: 20_000 },
    ]),
  ];
  const invalid = await system.runRaw({});
  // The local cloud may write the last log lines of a call only with the next call.
  for (const report of [...published, await system.run('meetings')]) await system.manifestOf(report);
  return { failed, invalid };
});

it('a run refreshes a refused token once, stores the new one and continues', async () => {
  const { report, refreshes, before, after } = await refusedToken();

  await system.manifestOf(report);
  expect(after.refreshToken).not.toBe(before.refreshToken);
  expect(refreshes).toBe(1);
});

// So the rights of CreateExport and DownloadFile to refresh are always used.
it('a run refreshes at its first call and at the link of its file if the token is refused', async () => {
  system.sandbox.expireAccessTokens();
  const first = refreshCounter();
  await system.manifestOf(await runWith('agent-numbers', []));
  expect(first()).toBeGreaterThan(0);

  const second = refreshCounter();
  await system.manifestOf(await runWith('agent-numbers', [{ path: 'download', calls: [1], answer: REFUSED }]));
  expect(second()).toBeGreaterThan(0);
});

it('failed runs show their error and what to do', async () => {
  const { failed, invalid } = await everything();

  expect(failed).toMatchObject({
    status: 'FAILED',
    error: 'ExportFailed',
    cause: expect.stringContaining(' failed. Start '),
  });
  expect(invalid).toMatchObject({
    status: 'FAILED',
    error: 'InvalidInput',
    cause: expect.stringContaining('"entity"'),
  });
});

it('secrets and records appear in no history, log, error or metadata', async () => {
  await everything();
  const { metadata, files } = await objects(system.target);
  const ledger = await ledgerItems(system.target);
  const told = [...(await histories(system.target)), ...(await logs(system.target))];
  const forbidden = [CANARY, ...system.issued, 'signature='];
  const find = (places: NamedText[]) =>
    places.flatMap(({ name, text }) =>
      forbidden.filter((word) => text.includes(word)).map((word) => `${name}: ${word.slice(0, 12)}`),
    );

  expect(find([...told, ...metadata, ...ledger])).toEqual([]);
  // The same search finds the tokens in the place for them.
  const tokens = await storedTokens(system);
  expect(new Set(find([{ name: 'secret', text: JSON.stringify(tokens) }])).size).toBe(2);
  expect(ledger.map(({ text }) => text).join()).toContain('STORED');
  // Three or more token sets of two tokens, a code with its verifier, and the client.
  expect(system.issued.size).toBeGreaterThanOrEqual(9);
  expect(forbidden).toEqual(expect.arrayContaining([system.sandbox.clientSecret, tokens.accessToken]));
  // The canaries existed, and the search covered the logs and histories.
  expect(files.length).toBeGreaterThanOrEqual(5);
  for (const { text } of files) expect(text).toContain(CANARY);
  expect(told.filter(({ text }) => text.includes('PublishFile')).length).toBeGreaterThan(5);
});

it('every log line has step and execution, and entity and export once they are known', async () => {
  await everything();
  // The check of the nights belongs to no execution.
  const lines = (await linesOf(system.target)).filter(({ step, execution }) => step !== 'RecordNight' || execution);

  expect(lines.length).toBeGreaterThan(50);
  for (const line of lines) expect(line).toMatchObject({ step: expect.any(String), execution: expect.any(String) });
  // A run may fail before it has an export. It is still recorded and mailed.
  const early = ['CreateExport', 'RecordNight', 'MailFailedRuns'];
  for (const line of lines.filter(({ step, exportId }) => exportId !== undefined || !early.includes(String(step)))) {
    expect(line).toMatchObject({ entity: expect.any(String), exportId: expect.any(String) });
  }
  const without = lines.filter(({ entity, step }) => entity === undefined && step !== 'MailFailedRuns');
  expect(new Set(without.map(({ message, error, outcome }) => error ?? message ?? outcome))).toEqual(
    new Set(['InvalidInput']),
  );
});

it('the upload of a file in parts continues in the next invocation, and restarts if the file changed', async () => {
  const { settings } = system.sandbox;
  // Three parts of the smallest size.
  settings.bytes = { leads: 24 * MIB };
  const report = await runWith('leads', [
    { path: 'file', calls: [3], answer: { status: 403, body: '<Error/>' } },
    { path: 'download', calls: [2], answer: { status: 409 } },
    { path: 'file', calls: { from: 4 }, etag: '"changed"' },
  ]).finally(() => {
    settings.bytes = null;
  });

  const manifest = await system.manifestOf(report);
  expect(manifest.file).toMatchObject({ restarts: 1 });
  const states = await statesOf(system.target, report.executionArn ?? '');
  const waited = states.filter(({ name, state }) => name === 'WaitBeforeCheck' && state?.outcome === 'NOT_READY');
  expect(waited.map(({ state }) => state?.moving?.upload?.size)).toContain(manifest.file.bytes);
  expect(await bucketTools(system.target).uploads()).toEqual([]);
});
