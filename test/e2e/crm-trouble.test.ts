import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { usageOf } from '../../bench/night-cost.ts';
import { verifyPublished } from '../../cli/data/stored-file.ts';
import type { Run } from '../../cli/runs/run.ts';
import { fieldsOf } from '../../core/columns/column-changes.ts';
import { ENTITIES, type Entity } from '../../core/config/entities.ts';
import { ERRORS } from '../../core/errors.ts';
import { once } from '../../core/step/step.ts';
import type { FaultInput } from '../../sandbox/faults.ts';
import type { Template } from '../../scripts/template.ts';
import { alarmMetrics, listedShapes, metricsIn, shapeOfMetric } from '../support/emf.ts';
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
      polling: { firstWaitSeconds: 1, largestWaitSeconds: 10, deadlineSeconds: 300, createAgainSeconds: 1 },
      entities: { employers: { drift: { added: 'stop' } } },
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

const lostAnswer = once(async () => {
  const before = system.sandbox.ledger.count({ kind: 'create', entity: 'agent-numbers' });
  const report = await runWith('agent-numbers', [
    { path: 'create', calls: [1], reset: 'after' },
    { path: 'file', calls: [1], hangUp: 20_000 },
  ]);
  return { report, creates: system.sandbox.ledger.count({ kind: 'create', entity: 'agent-numbers' }) - before };
});

const noRequest = once(() => system.runRaw({}));

/** Two runs with access tokens that live for three seconds. No other run may be in progress. */
const shortLived = once(async () => {
  const { settings } = system.sandbox;
  const usual = { ...settings };
  Object.assign(settings, { accessTokenSeconds: 3, jobSeconds: 4 });
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
  const report = await runWith('employers', [{ path: 'fields', calls: [1], answer: { status: 200, body } }]);
  return { usual, report, names: listed.map(({ name }) => name) };
});

/** All entities have run, all metrics were emitted, and the tokens of five token sets have been used. */
const everything = once(async () => {
  for (const shared of [failedExport, refusedToken, bursts, lostAnswer, columnGone, noRequest]) await shared();
  await runWith('workflows', []);
  await shortLived();
  await missNextNight(system);
  // The local cloud may write the last log lines of a call only with the next call.
  await manifestOf(await system.run('meetings'));
});

describe('a run with an error of the CRM', () => {
  it('ends in ExportFailed with the export id if the CRM reports FAILED', async () => {
    const report = await failedExport();

    expect(report).toMatchObject({ status: 'FAILED', error: 'ExportFailed' });
    expect(report.cause).toContain(report.exportId);
  });

  it('refreshes a refused token once, stores the new one and continues', async () => {
    const { report, before, after, refreshes } = await refusedToken();

    await manifestOf(report);
    expect(after.refreshToken).not.toBe(before.refreshToken);
    expect(refreshes).toBe(1);
  });

  it('waits through bursts of 503, 500 and 429', async () => {
    await manifestOf(await bursts());
  });
});

describe('an invalid input', () => {
  it.each([[null], [{ entity: 'leeds' }]])(
    'ends in InvalidInput for %j, with all entities and an example',
    async (input) => {
      const before = system.sandbox.ledger.count();

      const report = await system.runRaw(input);

      expect(report).toMatchObject({ status: 'FAILED', error: 'InvalidInput' });
      for (const entity of ENTITIES) expect(report.cause).toContain(entity);
      expect(report.cause).toContain('{"entity":"leads"}');
      expect(
        system.sandbox.ledger
          .calls()
          .slice(before)
          .filter(({ entity }) => entity === 'leads'),
      ).toEqual([]);
    },
  );
});

describe('a run with another error of the CRM', () => {
  it('repeats a create request without an answer once, warns in the manifest, and continues a broken file', async () => {
    const { report, creates } = await lostAnswer();

    const manifest = await manifestOf(report);
    expect(creates).toBe(2);
    expect(manifest.unansweredCreates).toBe(1);
    expect(manifest.warnings.join()).toContain('further export');
    // Its history shows what it costs.
    const { transitions, gbSeconds } = await usageOf(system.target, report.executionArn ?? '');
    expect(transitions).toBeGreaterThan(10);
    expect(transitions).toBeLessThan(40);
    expect(gbSeconds).toBeGreaterThan(0);
  });
});

describe('runs with tokens that live for three seconds', () => {
  it('refresh several times without reusing a token, and both are published', async () => {
    const { reports, calls, secrets } = await shortLived();

    for (const report of reports) await manifestOf(report);
    const granted = calls.filter(({ status }) => status === 200);
    expect(granted.length).toBeGreaterThanOrEqual(2);
    expect(calls.filter(({ reuse }) => reuse)).toEqual([]);
    // Each refresh issues two tokens, and the witness recorded both.
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
    const seen: NamedText[] = [...(await histories(system.target)), ...(await logs(system)), ...metadata, ...ledger];
    const forbidden = [CANARY, ...system.issued, 'signature='];
    const find = (places: NamedText[]) =>
      places.flatMap(({ name, text }) =>
        forbidden.filter((word) => text.includes(word)).map((word) => `${name}: ${word.slice(0, 12)}`),
      );

    expect(find(seen)).toEqual([]);
    // The same search finds the tokens and the secret of the client in the place for them.
    const tokens = await storedTokens(system);
    const secret = { name: 'secret', text: JSON.stringify(tokens) };
    expect(new Set(find([secret])).size).toBe(3);
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

describe('changed columns of the CRM', () => {
  const requested = () => system.sandbox.ledger.count({ kind: 'create', entity: 'employers' });

  it('are requested as listed, and reported in the manifest', async () => {
    const { usual, report, names } = await columnGone();

    const manifest = await manifestOf(report);
    const { execution } = usual;
    expect(manifest.run.drift).toMatchObject({ since: { execution }, removed: [names.at(-1)], added: [] });
    expect(manifest.warnings.join()).toContain(`stopped listing since the export of ${manifest.run.date}: "`);
    expect(manifest.run.request.columns).toEqual(names.slice(0, -1));
  });

  it('stop the run before the POST if the configuration says so, until a person accepts them', async () => {
    const name = (await columnGone()).names.at(-1);
    const before = requested();

    const stopped = await system.run('employers');

    expect(stopped).toMatchObject({ status: 'FAILED', error: 'SchemaChanged' });
    expect(stopped.cause).toContain(`: "${name}". (drift.added)`);
    expect(requested()).toBe(before);
    const { run } = await manifestOf(await system.run('employers', { acceptSchema: true }));
    expect(run.drift?.added).toEqual([name]);
  });
});

describe('metrics and logs of the functions', () => {
  it('have exactly the listed metrics that runs can emit, each in its listed form', async () => {
    await everything();
    const metrics = (await linesOf(system)).filter((line) => '_aws' in line).flatMap(metricsIn);

    expect(new Set(metrics.map(shapeOfMetric))).toEqual(new Set(listedShapes(system.target.stack, NEVER_SEEN)));
    const outcomes = new Set(metrics.flatMap(({ dimensions }) => dimensions.outcome ?? []));
    expect([...outcomes]).toEqual(expect.arrayContaining(['PUBLISHED', 'ExportFailed', 'InvalidInput']));
    const entities = new Set(metrics.flatMap(({ dimensions }) => dimensions.entity ?? []));
    expect(entities).toEqual(new Set(ENTITIES));
    const ends = metrics.filter(({ name }) => name === 'RunsEnded');
    expect(ends.map(({ value }) => value)).toEqual(Array(ends.length).fill(1));
  });

  it('have every metric that an alarm reads', async () => {
    await everything();
    const emitted = (await linesOf(system)).filter((line) => '_aws' in line).flatMap(metricsIn);
    const looked = alarmMetrics(deployedTemplate(system), system.target.stack);

    expect(new Set(looked.map(({ name }) => name))).toEqual(
      new Set([
        ...['RunsEnded', 'FileWarnings', 'SchemaChanges', 'TokenRefreshes', 'GrantRotatedButNotStored'],
        ...['TokenEndpointUnanswered', 'NightIncomplete'],
      ]),
    );
    const seen = new Set(emitted.map(({ name, dimensions }) => `${name} ${Object.keys(dimensions)}`));
    for (const { name, dimensions } of looked) {
      if (!NEVER_SEEN.includes(name)) expect(seen).toContain(`${name} ${Object.keys(dimensions)}`);
      const { entity = 'leads', outcome = 'PUBLISHED' } = dimensions;
      expect(ENTITIES).toContain(entity);
      expect(['PUBLISHED', 'APPLIED', ...Object.keys(ERRORS)]).toContain(outcome);
    }
  });

  it('have step and execution in every line, and entity and export once known', async () => {
    await everything();
    // The check of the nights belongs to no execution.
    const lines = (await linesOf(system)).filter(({ step, execution }) => step !== 'RecordNight' || execution);

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

function deployedTemplate({ assembly, target }: Deployed): Template {
  return JSON.parse(readFileSync(join(assembly(), `${target.stack}.template.json`), 'utf8'));
}
