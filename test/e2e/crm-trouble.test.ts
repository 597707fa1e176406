import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { verifyPublished } from '../../cli/data/stored-file.ts';
import type { Run } from '../../cli/runs/run.ts';
import { fieldsOf } from '../../core/columns/column-changes.ts';
import { ENTITIES, type Entity } from '../../core/config/entities.ts';
import { once } from '../../core/step/step.ts';
import type { FaultInput } from '../../sandbox/faults.ts';
import { listedShapes, metricsIn, shapeOfMetric } from '../support/emf.ts';
import { bucketTools } from './support/bucket-tools.ts';
import { type Deployed, deployForTests } from './support/deployed.ts';
import { histories, ledgerItems, linesOf, logs, type NamedText, objects } from './support/everything.ts';
import { missNextNight } from './support/night-check.ts';
import { storedTokens } from './support/secrets.ts';
import { statesOf } from './support/states-of.ts';

/**
 * Tests nights in which the CRM fails, and the logs, histories and metadata of their runs. The first test that needs a
 * shared run makes it, so that each test also passes alone.
 */

const CANARY = 'canary-7f3a91';
const MIB = 1024 * 1024;
let system: Deployed;

beforeAll(async () => {
  system = await deployForTests(
    'crm-trouble',
    {
      timeZone: 'Asia/Jerusalem',
      dashboard: true,
    },
    { canary: CANARY },
  );
});

afterAll(() => system?.close());

/** Runs an entity with these faults. One run after the other: each at once would start functions of its own. */
async function runWith(entity: Entity, faults: Omit<FaultInput, 'entity'>[]): Promise<Run> {
  const armed = faults.map((fault) => system.sandbox.faults.add({ ...fault, entity } as FaultInput));
  const ended = await system.run(entity);
  for (const id of armed) system.sandbox.faults.remove(id);
  return ended;
}

async function manifestOf(report: Run) {
  expect(`${report.status} ${report.error} ${report.cause}`).toBe('SUCCEEDED null null');
  return verifyPublished(system.target, report);
}

const refreshCalls = () =>
  system.sandbox.ledger.calls({ kind: 'token' }).filter(({ grantType }) => grantType === 'refresh_token');

const failedExport = once(() => runWith('leads', [{ path: 'status', status: 'FAILED' }]));

const refusedToken = once(async () => {
  // The first function that uses a grant refreshes it.
  await runWith('contacts', []);
  const before = await storedTokens(system);
  const refreshesBefore = refreshCalls().length;
  const report = await runWith('contacts', [{ path: 'status', calls: [1], answer: { status: 401 } }]);
  const refreshes = refreshCalls().length - refreshesBefore;
  return { report, before, after: await storedTokens(system), refreshes };
});

const TOO_MANY = { status: 429, headers: { 'retry-after': '2' } };
const bursts = once(() =>
  runWith('customers', [
    { path: 'create', calls: [1], answer: { status: 503 } },
    { path: 'status', calls: [1], answer: { status: 500, body: 'oops' } },
    { path: 'status', calls: [2], answer: TOO_MANY },
    { path: 'download', calls: [1], answer: TOO_MANY },
  ]),
);

const lostAnswer = once(() =>
  runWith('agent-numbers', [
    { path: 'create', calls: [1], reset: 'after' },
    { path: 'file', calls: [1], hangUp: 20_000 },
  ]),
);

const noRequest = once(() => system.runRaw({}));

/**
 * Two runs with access tokens that live for six seconds: on a slow machine, a token must still reach the CRM after a
 * function has stored it. No other run may be in progress.
 */
const shortLived = once(async () => {
  const { settings } = system.sandbox;
  const usual = { ...settings };
  Object.assign(settings, { accessTokenSeconds: 6, jobSeconds: 8 });
  // The CRM must refuse the tokens of the warm functions, and the new ones in the secret must be short-lived.
  system.sandbox.expireAccessTokens();
  await system.authorize();
  const callsBefore = refreshCalls().length;
  const secretsBefore = system.issued.size;
  // Waits of machines take no time here: these runs would ask for the status hundreds of times.
  const slowly = [{ path: 'status', delaySeconds: 0.5 } as const];
  const both = (['leads', 'contacts'] as const).map((entity) => runWith(entity, slowly));
  const reports = await Promise.all(both).finally(() => Object.assign(settings, usual));
  return { reports, calls: refreshCalls().slice(callsBefore), secrets: system.issued.size - secretsBefore };
});

/** A run of employers, and one after the CRM lists one column less. */
const columnGone = once(async () => {
  const usual = await manifestOf(await runWith('employers', []));
  const listed = fieldsOf(usual.run) ?? [];
  const body = listed.slice(0, -1).map(({ name, ...others }) => ({ fieldName: name, ...others }));
  await manifestOf(await runWith('employers', [{ path: 'fields', calls: [1], answer: { status: 200, body } }]));
});

/** All entities have run, all metrics were emitted, and the tokens of five token sets have been used. */
const everything = once(async () => {
  for (const shared of [failedExport, refusedToken, bursts, lostAnswer, columnGone, noRequest]) await shared();
  await runWith('workflows', []);
  await shortLived();
  await missNextNight(system.target);
  // The local cloud may write the last log lines of a call only with the next call.
  await manifestOf(await system.run('meetings'));
});

describe('a run with an error of the CRM', () => {
  it('refreshes a refused token once, stores the new one and continues', async () => {
    const { report, before, after, refreshes } = await refusedToken();

    await manifestOf(report);
    expect(after.refreshToken).not.toBe(before.refreshToken);
    expect(refreshes).toBe(1);
  });
});

describe('runs with tokens that live for six seconds', () => {
  it('refresh several times without reusing a token, and both are published', async () => {
    const { reports, calls, secrets } = await shortLived();

    for (const report of reports) await manifestOf(report);
    const granted = calls.filter(({ status }) => status === 200);
    expect(granted.length).toBeGreaterThanOrEqual(2);
    expect(calls.filter(({ reuse }) => reuse)).toEqual([]);
    // Each refresh issues two tokens, and the sandbox recorded both.
    expect(secrets).toBeGreaterThanOrEqual(2 * granted.length);
    const { accessToken, refreshToken } = await storedTokens(system);
    expect([...system.issued]).toEqual(expect.arrayContaining([accessToken, refreshToken]));
  });

  // So the rights of CreateExport and DownloadFile to refresh are always used.
  it('refresh at the first call of a run and at the link of its file if the token is refused', async () => {
    system.sandbox.expireAccessTokens();
    const callsBefore = refreshCalls().length;

    await manifestOf(await runWith('agent-numbers', []));
    const callsOfFirst = refreshCalls().length;
    await manifestOf(await runWith('agent-numbers', [{ path: 'download', calls: [1], answer: { status: 401 } }]));

    expect(callsOfFirst).toBeGreaterThan(callsBefore);
    expect(refreshCalls().length).toBeGreaterThan(callsOfFirst);
  });
});

describe('secrets and records', () => {
  it('appear in no history, log, error or metadata', async () => {
    await everything();
    const { metadata, files } = await objects(system.target);
    const ledger = await ledgerItems(system.target);
    const seen: NamedText[] = [
      ...(await histories(system.target)),
      ...(await logs(system.target)),
      ...metadata,
      ...ledger,
    ];
    const forbidden = [CANARY, ...system.issued, 'signature='];
    const find = (places: NamedText[]) =>
      places.flatMap(({ name, text }) =>
        forbidden.filter((word) => text.includes(word)).map((word) => `${name}: ${word.slice(0, 12)}`),
      );

    expect(find(seen)).toEqual([]);
    // The same search finds the tokens in the place for them.
    const tokens = await storedTokens(system);
    const secret = { name: 'secret', text: JSON.stringify(tokens) };
    expect(new Set(find([secret])).size).toBe(2);
    expect(ledger.map(({ text }) => text).join()).toContain('STORED');
    // Five or more token sets of two tokens, two codes with their verifiers, and the client.
    expect(system.issued.size).toBeGreaterThanOrEqual(15);
    const { accessToken, refreshToken } = tokens;
    expect(forbidden).toEqual(expect.arrayContaining([system.sandbox.clientSecret, accessToken, refreshToken]));
    // The canaries existed, and the search covered the logs and histories.
    expect(files.length).toBeGreaterThan(ENTITIES.length);
    for (const { text } of files) expect(text).toContain(CANARY);
    expect(seen.filter(({ text }) => text.includes('PublishFile')).length).toBeGreaterThan(ENTITIES.length);
  });
});

describe('metrics and logs of the functions', () => {
  it('have exactly the listed metrics that runs can emit, each in its listed form', async () => {
    await everything();
    const metrics = (await linesOf(system.target)).filter((line) => '_aws' in line).flatMap(metricsIn);

    expect(new Set(metrics.map(shapeOfMetric))).toEqual(new Set(listedShapes(system.target.stack, NEVER_SEEN)));
    const outcomes = new Set(metrics.flatMap(({ dimensions }) => dimensions.outcome ?? []));
    expect([...outcomes]).toEqual(expect.arrayContaining(['PUBLISHED', 'ExportFailed', 'InvalidInput']));
    const entities = new Set(metrics.flatMap(({ dimensions }) => dimensions.entity ?? []));
    expect(entities).toEqual(new Set(ENTITIES));
    const ends = metrics.filter(({ name }) => name === 'RunsEnded');
    expect(ends.map(({ value }) => value)).toEqual(Array(ends.length).fill(1));
  });

  it('have step and execution in every line, and entity and export once known', async () => {
    await everything();
    // The check of the nights belongs to no execution.
    const lines = (await linesOf(system.target)).filter(({ step, execution }) => step !== 'RecordNight' || execution);

    expect(lines.length).toBeGreaterThan(100);
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
});

describe('a file that is stored in parts', () => {
  it('continues its upload in the next invocation, and restarts if the file changed', async () => {
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

    const manifest = await manifestOf(report);
    expect(manifest.file).toMatchObject({ restarts: 1 });
    const states = await statesOf(system.target, report.executionArn ?? '');
    const waited = states.filter(({ name, state }) => name === 'WaitBeforeCheck' && state?.outcome === 'NOT_READY');
    expect(waited.map(({ state }) => state?.moving?.upload?.size)).toContain(manifest.file.bytes);
    expect(await bucketTools(system.target).uploads()).toEqual([]);
  });
});

/**
 * Metrics that no run here emits. They need a store that refuses a refreshed grant, hours without an answer (both in
 * `test/oauth`), or an entity with a table (`test/lambdas/write-table`).
 */
const NEVER_SEEN: string[] = ['GrantRotatedButNotStored', 'TokenEndpointUnanswered', 'TablesNotWritten'];
