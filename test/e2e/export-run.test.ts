import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PutRuleCommand, PutTargetsCommand } from '@aws-sdk/client-eventbridge';
import {
  CreateStateMachineCommand,
  DescribeExecutionCommand,
  ListExecutionsCommand,
  StartExecutionCommand,
} from '@aws-sdk/client-sfn';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { costOf, usageOf } from '../../bench/cost/usage.ts';
import { createManifests } from '../../cli/data/manifests.ts';
import { verifyPublished } from '../../cli/data/verify.ts';
import { followRun } from '../../cli/runs/executions.ts';
import type { NamedRun } from '../../cli/runs/run/run.ts';
import { deployedConfiguration } from '../../cli/support/deployed-configuration.ts';
import { ENTITIES, type Entity } from '../../core/config/entities.ts';
import { ERRORS } from '../../core/errors.ts';
import { timesOfNight } from '../../core/night/expected.ts';
import { completeKey } from '../../core/night/marker.ts';
import { SINCE_KEY } from '../../core/night/watched-since.ts';
import { dateAfter, dateIn } from '../../core/schedule/local-time.ts';
import { waitUntil } from '../../local/processes/wait-until.ts';
import type { FaultInput } from '../../sandbox/world/fault-schema.ts';
import type { Template } from '../../scripts/definition.ts';
import { alarmMetrics, listedShapes, metricsIn, shapeOfMetric } from '../support/emf.ts';
import { documentedEventPattern } from '../support/event-pattern.ts';
import { NO_HISTORY } from '../support/stored-run.ts';
import { bucketTools } from './support/bucket-tools.ts';
import { type Deployed, deployForTests } from './support/deployed.ts';
import { histories, ledgerItems, linesOf, logs, type NamedText, objects } from './support/everything.ts';
import { checkUntilCounted } from './support/night-check.ts';
import { putTokens, rememberSecrets, storedTokens } from './support/secrets.ts';

const CANARY = 'canary-7f3a91';
const SECONDS = 1000;
const secretsSeen = new Set<string>();
let system: Deployed;

beforeAll(async () => {
  system = await deployForTests(
    'nights',
    {
      timeZone: 'Asia/Jerusalem',
      polling: { firstWaitSeconds: 1, largestWaitSeconds: 10, deadlineSeconds: 300, createAgainSeconds: 1 },
      entities: {
        workflows: { polling: { deadlineSeconds: 15 } },
        meetings: { schedule: 'rate(1 minute)' },
        employers: { columns: { except: ['notes'] }, drift: { added: 'stop' } },
      },
      dashboard: true,
    },
    { canary: CANARY },
  );
});

afterAll(() => system?.close());

beforeEach(() => rememberSecrets(system, secretsSeen));

/** Runs an entity against faults of its own. */
function runWith(entity: Entity, faults: Omit<FaultInput, 'entity'>[], input: object = {}): Promise<NamedRun> {
  for (const fault of faults) system.sandbox.faults.add({ ...fault, entity } as FaultInput);
  return system.run(entity, input);
}

async function manifestOf(report: NamedRun) {
  expect(`${report.status} ${report.error} ${report.cause}`).toBe('SUCCEEDED null null');
  return (await verifyPublished(system.target, report)).manifest;
}

describe('a night without trouble', () => {
  it('publishes all seven entities at once, each read back through pointer, manifest and file', async () => {
    const reports = await Promise.all(ENTITIES.map((entity) => system.run(entity)));

    for (const report of reports) {
      const manifest = await manifestOf(report);
      expect(manifest.file).toMatchObject({ rows: 240, header: manifest.request.columns });
      expect(manifest.warnings).toEqual([NO_HISTORY]);
    }
    expect(system.sandbox.ledger.violations()).toEqual([]);

    // Meetings start every minute here: they are of no night.
    const { date } = await manifestOf(reports[0] as NamedRun);
    const night = await createManifests(system.target).night(date);
    const runs = Object.values(night?.entities ?? {}).map(({ file }) => file?.run);
    const ofNight = reports.filter((_, index) => ENTITIES[index] !== 'meetings');
    expect(night?.complete).toBe(true);
    expect(runs).toEqual(ofNight.map(({ run }) => run));
    const told = await bucketTools(system.target).keys('published/nights/complete/');
    expect(told).toContain(completeKey({ date, revision: night?.revision ?? 0 }));
  });

  it('is looked at by the check, which tells behind its deadline of the next one, of which nothing was published', async () => {
    const deployed = await deployedConfiguration(system.target);
    const next = dateAfter(dateIn(deployed.timeZone, new Date()), 1);
    const deadline = timesOfNight(deployed, next)?.deadline.getTime() ?? Number.NaN;

    expect(new Set((await checkUntilCounted(system, new Date(), 0)).counted)).toEqual(new Set([0]));
    const { lines } = await checkUntilCounted(system, new Date(deadline + 1000), 1);

    const missing = ENTITIES.filter((entity) => entity !== 'meetings');
    expect(lines).toContainEqual(
      expect.objectContaining({ message: 'night not complete by its deadline', date: next, missing }),
    );
    expect(await bucketTools(system.target).keys('nights/')).toEqual([SINCE_KEY]);
  });
});

describe('readers with the rule of the document', () => {
  it('get an event of each pointer that moves, and of no other object', async () => {
    const { sfn, events, BucketName } = system.target;
    const machine = { name: 'readers', roleArn: 'arn:aws:iam::000000000000:role/readers' };
    const definition = JSON.stringify({ StartAt: 'Read', States: { Read: { Type: 'Pass', End: true } } });
    const { stateMachineArn } = await sfn.send(new CreateStateMachineCommand({ ...machine, definition }));
    await events.send(new PutRuleCommand({ Name: machine.name, EventPattern: documentedEventPattern(BucketName) }));
    const target = { Id: machine.name, Arn: stateMachineArn, RoleArn: machine.roleArn };
    await events.send(new PutTargetsCommand({ Rule: machine.name, Targets: [target] }));
    const keysToldOf = async () => {
      const { executions = [] } = await sfn.send(new ListExecutionsCommand({ stateMachineArn }));
      const told = executions.map(({ executionArn }) => sfn.send(new DescribeExecutionCommand({ executionArn })));
      return (await Promise.all(told)).map(({ input = '' }) => JSON.parse(input).detail.object.key as string);
    };

    const { date } = await manifestOf(await system.run('customers'));
    await manifestOf(await system.run('customers', { date: '2020-02-28' }));

    const told = ['date=2020-02-28', `date=${date}`, 'latest'].map((name) => `published/entity=customers/${name}.json`);
    await waitUntil(
      async () => (await keysToldOf()).filter((key) => key.includes('=customers/')).length >= told.length,
      {
        withinMs: 20 * SECONDS,
        everyMs: 200,
      },
    );
    const keys = await keysToldOf();
    expect(keys.filter((key) => key.includes('=customers/')).toSorted()).toEqual(told.toSorted());
    expect(keys.filter((key) => !key.startsWith('published/'))).toEqual([]);
  });
});

describe.concurrent('a night with trouble at the CRM', () => {
  it('names the export that the CRM reports as failed', async () => {
    const report = await runWith('leads', [{ path: 'status', status: 'FAILED' }]);

    expect(report).toMatchObject({ status: 'FAILED', error: 'ExportFailed' });
    expect(report.cause).toContain(report.exportId);
  });

  it('ends on a status word that nobody knows', async () => {
    const report = await runWith('agent-numbers', [{ path: 'status', calls: [2], status: 'ARCHIVED' }]);

    expect(report).toMatchObject({ status: 'FAILED', error: 'CrmContractError' });
    expect(report.cause).toContain('"ARCHIVED"');
  });

  it('gives up at the deadline of the run', async () => {
    const report = await runWith('workflows', [{ path: 'status', status: 'PROCESSING' }]);

    expect(report).toMatchObject({ status: 'FAILED', error: 'ExportDeadlineExceeded' });
    expect(report.seconds).toBeGreaterThan(14);
  });

  it('refreshes a refused token once, stores it before it is used, and goes on', async () => {
    const before = await storedTokens(system);
    const refreshes = () =>
      system.sandbox.ledger.calls({ kind: 'token' }).filter((call) => call.grantType === 'refresh_token').length;
    const refreshesBefore = refreshes();

    await manifestOf(await runWith('contacts', [{ path: 'status', calls: [1], answer: { status: 401 } }]));

    const after = await storedTokens(system);
    expect(after.refreshToken).not.toBe(before.refreshToken);
    expect(refreshes() - refreshesBefore).toBe(1);
  });

  it('waits through bursts of 503, 500 and 429', async () => {
    const tooMany = { status: 429, headers: { 'retry-after': '2' } };
    await manifestOf(
      await runWith('customers', [
        { path: 'create', calls: [1, 2], answer: { status: 503 } },
        { path: 'status', calls: [1, 2, 3], answer: { status: 500, body: 'oops' } },
        { path: 'status', calls: [4, 5], answer: tooMany },
        { path: 'download', calls: [1], answer: tooMany },
      ]),
    );
  });

  it('refuses an unknown column before any export is made', async () => {
    const before = system.sandbox.ledger.count({ kind: 'create', entity: 'employers' });

    const report = await runWith('employers', [], { columns: ['id', 'nmae'] });

    expect(report).toMatchObject({ status: 'FAILED', error: 'ConfigInvalid' });
    expect(report.cause).toContain('"nmae" (did you mean "name"?)');
    expect(system.sandbox.ledger.count({ kind: 'create', entity: 'employers' })).toBe(before);
  });
});

describe('an input that is no request', () => {
  it.each([[{}], [[1, 2]], ['leads'], [7], [null], [{ entity: 'leeds' }], [{ entity: 'leads', colums: [] }]])(
    'ends %j at once in InvalidInput, with all entities and an example',
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

describe.concurrent('a night with more trouble', () => {
  beforeAll(() => system.sandbox.faults.clear());

  it('ends on an export id that is no UUID', async () => {
    const report = await runWith('leads', [{ path: 'create', id: '42' }]);

    expect(report).toMatchObject({ status: 'FAILED', error: 'CrmContractError' });
    expect(report.cause).toContain('keys id');
  });

  it('repeats a request whose answer was lost once, and says so in the manifest', async () => {
    const before = system.sandbox.ledger.count({ kind: 'create', entity: 'agent-numbers' });

    const manifest = await manifestOf(await runWith('agent-numbers', [{ path: 'create', calls: [1], reset: 'after' }]));

    expect(system.sandbox.ledger.count({ kind: 'create', entity: 'agent-numbers' }) - before).toBe(2);
    expect(manifest.export.unansweredCreates).toBe(1);
    expect(manifest.warnings.join()).toContain('further export');
  });

  it('ends in the name of what stood in the way when the CRM stays down', async () => {
    const report = await runWith('workflows', [{ path: 'fields', reset: 'before' }]);

    expect(report).toMatchObject({ status: 'FAILED', error: 'CrmUnavailable' });
  });

  it('goes on with a file that broke off, and costs what its history and its logs say', async () => {
    const calls = () => system.sandbox.ledger.calls({ entity: 'contacts' }).map(({ kind }) => kind);
    const before = calls().length;

    const report = await runWith('contacts', [{ path: 'file', calls: [1], hangUp: 20_000 }]);
    const { file } = await manifestOf(report);

    const made = calls().slice(before);
    expect(made.filter((kind) => kind === 'download')).toHaveLength(1);
    const usage = await usageOnceLogged(report);
    expect(usage).toMatchObject({
      crmRequests: made.filter((kind) => kind !== 'file').length,
      fileRequests: 2,
      // The last pointer and manifest for their columns, the file in one call; it is read twice, both pointers are looked at,
      // dates are listed, and pointer and manifest of the date read for the gate; then a manifest and two pointers are written.
      storeRequests: 13,
      bytes: file.bytes,
    });
    expect(usage.transitions).toBeGreaterThan(10);
    expect(costOf(usage)).toBeLessThan(0.001);
  });

  it('waits when the file is not given out yet, and asks again when the link is refused', async () => {
    await manifestOf(
      await runWith('customers', [
        { path: 'download', calls: [1], answer: { status: 409 } },
        { path: 'file', calls: [1], answer: { status: 403, body: '<Error/>' } },
      ]),
    );
  });

  it('stores no web page in place of a file', async () => {
    const report = await runWith('employers', [
      { path: 'file', contentType: 'text/html', body: '<html>sign in</html>' },
    ]);

    expect(report).toMatchObject({ status: 'FAILED', error: 'FileRejected', key: null });
  });
});

/** When tokens lived for three seconds only: what else ran then may have failed, on a busy machine. */
const shortLife = { from: new Date(), to: new Date() };

describe('a night whose tokens live for three seconds', () => {
  const refreshCalls = () =>
    system.sandbox.ledger.calls({ kind: 'token' }).filter(({ grantType }) => grantType === 'refresh_token');

  it('refreshes several times while two runs go on, and leaves each generation to be looked for', async () => {
    const { settings, faults } = system.sandbox;
    const usual = { ...settings };
    faults.clear();
    shortLife.from = new Date();
    Object.assign(settings, { accessTokenSeconds: 3, jobSeconds: 7 });
    // The functions are warm: what they hold must be refused, and what they find in the secret instead must be short-lived.
    system.sandbox.expireAccessTokens();
    await system.authorize();
    const callsBefore = refreshCalls().length;
    const secretsBefore = system.issued.size;

    const reports = await Promise.all((['leads', 'contacts'] as const).map((entity) => system.run(entity)));
    Object.assign(settings, usual);
    shortLife.to = new Date();

    for (const report of reports) await manifestOf(report);
    const calls = refreshCalls().slice(callsBefore);
    const granted = calls.filter(({ status }) => status === 200);
    expect(granted.length).toBeGreaterThanOrEqual(2);
    expect(calls.filter(({ reuse }) => reuse)).toEqual([]);
    // Both tokens that each refresh issues are known; more, where the rule has started a run meanwhile.
    expect(system.issued.size - secretsBefore).toBeGreaterThanOrEqual(2 * granted.length);
    const { accessToken, refreshToken } = await storedTokens(system);
    expect([...system.issued]).toEqual(expect.arrayContaining([accessToken, refreshToken]));
  });

  // CreateExport is the first to call: its rights to refresh are seen used, whatever the chance of the other runs.
  it('refreshes at the first call of a run, where the token is refused', async () => {
    system.sandbox.expireAccessTokens();
    const callsBefore = refreshCalls().length;

    await manifestOf(await system.run('agent-numbers'));

    expect(refreshCalls().length).toBeGreaterThan(callsBefore);
  });
});

describe('starts that come twice, late or by themselves', () => {
  it('runs a start that is delivered a hundred times under one name only once', async () => {
    const { sfn, StateMachineArn: stateMachineArn } = system.target;
    const start = { stateMachineArn, name: 'delivered-again-and-again', input: '{"entity":"leads"}' };
    const before = system.sandbox.ledger.count({ kind: 'create', entity: 'leads' });
    system.sandbox.faults.clear();

    const { executionArn = '' } = await sfn.send(new StartExecutionCommand(start));
    // AWS answers further calls with the running execution, the local cloud refuses them.
    const again = Array.from({ length: 99 }, () =>
      sfn.send(new StartExecutionCommand(start)).then(
        (started) => started.executionArn,
        (error: Error) => error.name,
      ),
    );
    for (const answer of await Promise.all(again)) expect([executionArn, 'ExecutionAlreadyExists']).toContain(answer);
    await manifestOf(await followRun(sfn, 'leads', executionArn, { everyMs: 200 }));

    expect(system.sandbox.ledger.count({ kind: 'create', entity: 'leads' }) - before).toBe(1);
  });

  it('lets two runs of one night both end well, and the later one count', async () => {
    const reports = await Promise.all([system.run('contacts'), system.run('contacts')]);

    const manifests = await Promise.all(reports.map(manifestOf));
    const later = manifests.toSorted((a, b) => (a.startedAt + a.execution < b.startedAt + b.execution ? 1 : -1))[0];
    const pointer = await bucketTools(system.target).pointer('contacts', `date=${later?.date}`);
    expect(pointer.execution).toBe(later?.execution);
  });

  it('requests one export where the event of a rule is delivered twice', async () => {
    const creates = () => system.sandbox.ledger.count({ kind: 'create', entity: 'contacts' });
    const before = creates();
    const event = { scheduledFor: '2026-11-10T01:00:00Z' };

    const reports = await Promise.all([system.run('contacts', event), system.run('contacts', event)]);

    expect(reports.map(({ status }) => status)).toEqual(['SUCCEEDED', 'SUCCEEDED']);
    const [first, ...others] = reports.filter(({ manifestKey }) => manifestKey !== null);
    expect((await manifestOf(first ?? reports[0])).date).toBe('2026-11-10');
    expect(others).toEqual([]);
    expect(creates() - before).toBe(1);
  });

  it('does not move the newest date back when an older date is exported again', async () => {
    const report = await system.run('contacts', { date: '2020-02-29' });

    await manifestOf(report);
    const { pointer } = bucketTools(system.target);
    expect((await pointer('contacts', 'date=2020-02-29')).execution).toBe(report.executionArn.split(':').at(-1));
    expect((await pointer('contacts', 'latest')).date > '2020-02-29').toBe(true);
  });

  it('publishes what a rule that fires each minute started', async () => {
    const { sfn, StateMachineArn: stateMachineArn } = system.target;
    let byRule: string | undefined;
    await waitUntil(
      async () => {
        const { executions = [] } = await sfn.send(new ListExecutionsCommand({ stateMachineArn }));
        const usual = executions.filter(
          ({ startDate, stopDate }) =>
            (startDate && startDate > shortLife.to) || (stopDate && stopDate < shortLife.from),
        );
        byRule = usual.findLast(({ name }) => isRuleName(name ?? ''))?.executionArn;
        return byRule !== undefined;
      },
      { withinMs: 90 * SECONDS, everyMs: 500 },
    );

    const manifest = await manifestOf(await followRun(sfn, 'meetings', byRule ?? '', { everyMs: 200 }));

    expect(manifest.entity).toBe('meetings');
  });
});

describe('what stays out of sight', () => {
  it('finds no token, secret, signature or record in any history, log, error or metadata', async () => {
    await rememberSecrets(system, secretsSeen);
    const { metadata, files } = await objects(system.target);
    const ledger = await ledgerItems(system.target);
    const seen: NamedText[] = [...(await histories(system.target)), ...(await logs(system)), ...metadata, ...ledger];
    const forbidden = [CANARY, ...secretsSeen, ...system.issued, 'signature='];
    const find = (places: NamedText[]) =>
      places.flatMap(({ name, text }) =>
        forbidden.filter((word) => text.includes(word)).map((word) => `${name}: ${word.slice(0, 12)}`),
      );

    expect(find(seen)).toEqual([]);
    // Searching the same way finds the tokens where they belong.
    const secret = { name: 'secret', text: JSON.stringify(await storedTokens(system)) };
    expect(new Set(find([secret])).size).toBe(2);
    expect(ledger.map(({ text }) => text).join()).toContain('STORED');
    // Five generations or more of two tokens each, two codes with their verifiers, and the client.
    expect(system.issued.size).toBeGreaterThanOrEqual(15);
    // The canaries were really there to be found, and the logs and histories really were looked through.
    expect(files.length).toBeGreaterThan(ENTITIES.length);
    for (const { text } of files) expect(text).toContain(CANARY);
    expect(secretsSeen.size).toBeGreaterThan(6);
    expect(seen.filter(({ text }) => text.includes('PublishFile')).length).toBeGreaterThan(10);
  });
});

describe('columns that the CRM lists otherwise than before', () => {
  const requested = () => system.sandbox.ledger.count({ kind: 'create', entity: 'employers' });
  let listed: { name: string }[] = [];

  it('are requested as they are, and named in the manifest', async () => {
    const { fields, execution } = await manifestOf(await system.run('employers'));
    listed = fields ?? [];
    const body = listed.slice(0, -1).map(({ name, ...others }) => ({ fieldName: name, ...others }));

    const answer = { status: 200, body };
    const manifest = await manifestOf(await runWith('employers', [{ path: 'fields', calls: [1], answer }]));

    expect(manifest.drift).toMatchObject({ since: { execution }, removed: [listed.at(-1)?.name], added: [] });
    expect(manifest.warnings.join()).toContain(`no longer lists since the export of ${manifest.date}: "`);
    expect(manifest.request.columns).toEqual(listed.slice(0, -1).map(({ name }) => name));
  });

  it('stop the run before the POST where the configuration says so, until a person accepts them', async () => {
    const before = requested();
    const name = listed.at(-1)?.name;

    const stopped = await system.run('employers');

    expect(stopped).toMatchObject({ status: 'FAILED', error: 'SchemaChanged' });
    expect(stopped.cause).toContain(`: "${name}". (drift.added)`);
    expect(requested()).toBe(before);
    const { drift } = await manifestOf(await system.run('employers', { acceptSchema: true }));
    expect(drift?.added).toEqual([name]);
    const next = await manifestOf(await system.run('employers'));
    expect(next.drift?.added).toEqual([]);
  });

  it('and one that is left out, and delivered nevertheless, quarantines the file for good', async () => {
    const { execution, request } = await manifestOf(await system.run('employers'));
    expect(request.columns).not.toContain('notes');
    const body = `${[...request.columns, 'notes'].join(',')}\r\n${',x'.repeat(request.columns.length)}\r\n`;

    const report = await runWith('employers', [{ path: 'file', calls: [1], body }]);

    expect(report).toMatchObject({ status: 'FAILED', error: 'FileQuarantined' });
    expect(report.cause).toContain('It cannot be released');
    expect(await bucketTools(system.target).pointer('employers', 'latest')).toMatchObject({ execution });
  });
});

describe('what the functions say of themselves', () => {
  it('emits every metric of the list that runs can emit, each as listed, and no other', async () => {
    const metrics = (await linesOf(system)).filter((line) => '_aws' in line).flatMap(metricsIn);

    expect(new Set(metrics.map(shapeOfMetric))).toEqual(new Set(listedShapes(system.target.stack, NEVER_SEEN)));
    const outcomes = new Set(metrics.flatMap(({ dimensions }) => dimensions.outcome ?? []));
    expect([...outcomes]).toEqual(expect.arrayContaining(['PUBLISHED', 'ExportFailed', 'InvalidInput']));
    const entities = new Set(metrics.flatMap(({ dimensions }) => dimensions.entity ?? []));
    expect(entities).toEqual(new Set(ENTITIES));
    const ends = metrics.filter(({ name }) => name === 'RunsEnded');
    expect(ends.map(({ value }) => value)).toEqual(Array(ends.length).fill(1));
  });

  it('emits what each alarm on metrics of our own looks at', async () => {
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

  it('says in every line which step and execution it is of, and which export and entity as soon as there is one', async () => {
    // The check of the nights is of no execution.
    const lines = (await linesOf(system)).filter(({ step, execution }) => step !== 'RecordNight' || execution);

    expect(lines.length).toBeGreaterThan(100);
    for (const line of lines) expect(line).toMatchObject({ step: expect.any(String), execution: expect.any(String) });
    for (const line of lines.filter(
      ({ step, exportId }) => step !== 'CreateExport' && (step !== 'RecordNight' || exportId),
    )) {
      expect(line).toMatchObject({ entity: expect.any(String), exportId: expect.any(String) });
    }
    const without = lines.filter(({ entity }) => entity === undefined);
    expect(new Set(without.map(({ message, error, outcome }) => error ?? message ?? outcome))).toEqual(
      new Set(['InvalidInput']),
    );
  });
});

describe('dead parts', () => {
  it('says which secret is no JSON, and never its value', async () => {
    await putTokens(system, 'not-json-but-secret');
    // The functions are warm: they look at the secret again only when the CRM refuses the token that they hold.
    system.sandbox.expireAccessTokens();

    const report = await system.run('customers');

    await system.authorize();
    expect(report).toMatchObject({ status: 'FAILED', error: 'ConfigInvalid' });
    expect(report.cause).toContain('npx --no -- crm-export authorize');
    expect(report.cause).not.toContain('not-json-but-secret');
  });

  it('says that the bucket is gone', async () => {
    await bucketTools(system.target).remove();

    const report = await system.run('employers');

    expect(report).toMatchObject({ status: 'FAILED', error: 'StorageDenied' });
  });

  it('deploys again after a destroy, with a bucket of its own', async () => {
    const before = system.target;

    await system.destroy();
    await system.deploy();
    await system.authorize();

    expect(system.target.BucketName).not.toBe(before.BucketName);
    await manifestOf(await system.run('leads'));
  });
});

/**
 * Only a store that refuses a refreshed grant emits the first, only hours without an answer the second (`test/oauth`), and only
 * an entity with a table the third (`test/lambdas/write-table`).
 */
const NEVER_SEEN: string[] = ['GrantRotatedButNotStored', 'TokenEndpointUnanswered', 'TablesNotWritten'];

function deployedTemplate({ assembly, target }: Deployed): Template {
  return JSON.parse(readFileSync(join(assembly(), `${target.stack}.template.json`), 'utf8'));
}

/** The local cloud notes lines that come late with the next invocation of the same process. */
async function usageOnceLogged({ executionArn }: NamedRun) {
  let usage = await usageOf(system.target, executionArn);
  for (let again = 0; again < 5 && usage.storeRequests < 13; again += 1) {
    await system.run('contacts');
    usage = await usageOf(system.target, executionArn);
  }
  return usage;
}

/** A rule names its execution by the id of the event. */
function isRuleName(name: string): boolean {
  return /^[0-9a-f]{8}-[0-9a-f]{4}/.test(name);
}
