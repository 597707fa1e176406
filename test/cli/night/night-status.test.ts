import { describe, expect, test, vi } from 'vitest';
import { type Status, statusSchema, statusText } from '../../../cli/night/night-status.ts';
import { ENTITIES, type Entity } from '../../../core/config/entities.ts';
import { clockAt } from '../../support/clock.ts';
import type { ManifestChanges } from '../../support/manifests.ts';
import { recordedNight } from '../../support/recorded-night.ts';
import { expectResults, expectScreen } from '../../support/screen.ts';
import { denied, refused } from '../support/cloud/answers.ts';
import { aws } from '../support/cloud/cloud.ts';
import { type Execution, executions } from '../support/cloud/executions.ts';
import { grant as grantOf, storedTokens } from '../support/cloud/grant.ts';
import { rules } from '../support/cloud/rules.ts';
import { configured, OUTPUTS } from '../support/cloud/stack.ts';
import type { Part } from '../support/cloud/world.ts';
import type { CliResult } from '../support/run-cli.ts';

const NIGHT = '2026-11-20';
clockAt(`${NIGHT}T07:00:00Z`);

const start = `${NIGHT}T01:00:05Z`;
const failed = (entity: Entity, error: string): Execution => ({
  ...{ name: `${entity}-20261120T010005Z-abcdef`, status: 'FAILED', input: { entity }, start, stop: start },
  ...{ error, cause: 'It went wrong.' },
});
const obtainedAt = `${NIGHT}T01:00:02.000Z`;
/** A grant with one token set, and its item in the ledger. */
const grant = (item?: object) => grantOf({ tokens: storedTokens({ obtainedAt }) }, item);
const alarms = (...names: string[]): Part => ({
  DescribeAlarms: {
    MetricAlarms: names.map((AlarmName) => ({ AlarmName, AlarmActions: [OUTPUTS.AlarmTopicArn] })),
  },
});
/** Starts from 01:00 UTC on, seven minutes apart; a run may take six hours. */
const SIX_HOURS = configured({ polling: { deadlineSeconds: 21_600, largestWaitSeconds: 300 } });

/** A deployment whose entities are published for a date; `BEFORE` for entities that are not named. */
async function deployed(published: Partial<Record<Entity, string>>, ...parts: Part[]) {
  const cloud = await aws(...parts, SIX_HOURS, grant(), alarms());
  for (const entity of ENTITIES) {
    const date = published[entity] ?? '2026-11-19';
    cloud.publish({ entity, date, execution: `${entity}-${date}` });
  }
  return cloud;
}
const whole = Object.fromEntries(ENTITIES.map((entity) => [entity, NIGHT]));

test.each<[boolean, Entity[]]>([
  [true, []],
  [false, ['leads']],
])('reports the record of the night (complete: %s)', async (complete, lacking) => {
  const { cli, objects } = await deployed(
    { ...whole, ...(complete ? {} : { leads: '2026-11-19' }) },
    rules({ paused: lacking }),
  );
  const [key, night] = recordedNight(NIGHT, lacking);
  objects.set(key, Buffer.from(night));

  const { stdout } = await cli('status', '--json');
  expect(statusSchema.parse(JSON.parse(stdout)).night).toEqual({ date: NIGHT, revision: 3, complete, lacking });
});

test('shows a complete night with its files, the grant and the next start', async () => {
  const { code, stderr } = await expectScreen('status-whole', await deployed(whole), 'status', '--deployment', 'test');

  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
});

describe('of an incomplete night', () => {
  const trouble = () =>
    deployed(
      { 'agent-numbers': NIGHT },
      rules({ paused: ['meetings', 'customers'], gone: ['employers'] }),
      executions([
        failed('leads', 'ReauthorizationRequired'),
        failed('contacts', 'FileQuarantined'),
        { name: 'rule-w', status: 'RUNNING', input: { entity: 'workflows' }, start },
      ]),
      alarms('crm-export-test-ExecutionsAborted'),
      grant({
        state: { S: 'DEAD' },
        owner: { S: '' },
        deadline: { N: '0' },
        diedAt: { S: start },
        reason: { S: 'The token endpoint answered 400: invalid_grant.' },
      }),
    );

  test('lists what is missing first, each with a command', async () => {
    const { code, stderr } = await expectScreen('status', await trouble(), 'status', '--deployment', 'test');

    expect({ code, stderr }).toEqual({ code: 1, stderr: '' });
  });

  test('--json prints the same, as its schema defines', async () => {
    const { cli } = await trouble();

    const { code, stdout } = await cli('status', '--json');

    const document = JSON.parse(stdout);
    expect(statusSchema.parse(document)).toEqual(document);
    expect({ code, ...document }).toMatchObject({ code: 1, ok: false, alarms: ['ExecutionsAborted'] });
    expect(document.entities.map(({ state }: { state: string }) => state)).toEqual([
      ...['failed', 'published', 'running', 'quarantined', 'paused', 'paused', 'withoutRule'],
    ]);
    expect(document.grant).toEqual({ obtainedAt, trouble: expect.stringMatching(/^dead since /) });
    expect(document.nextStart).toEqual({ entity: 'leads', at: '2026-11-21T01:00:00.000Z', date: '2026-11-21' });
  });
});

test.each([
  ['is scheduled for deletion', refused('InvalidRequestException'), 1, 'aws secretsmanager restore-secret'],
  ['has no value', refused('ResourceNotFoundException'), 1, 'authorize'],
  ['has another value', { SecretString: '[]', VersionId: 'v1' }, 1, 'authorize'],
  ['may not be read by this person', refused('AccessDeniedException'), 0, 'is unknown: '],
  ['is not answered', refused('InternalServiceError'), 0, 'is unknown: '],
])('says what helps if the secret of the tokens %s', async (_, GetSecretValue, code, text) => {
  const { cli } = await deployed(whole, { GetSecretValue });

  const result = await cli('status', '--deployment', 'test');
  const { ok, grant } = statusSchema.parse(JSON.parse((await cli('status', '--json')).stdout));

  const line = result.stdout.split('\n').find((each) => each.includes(text));
  expect([result.code, ok, line?.slice(0, 2)]).toEqual([code, code === 0, ok ? '! ' : 'Gr']);
  expect(grant).toEqual(ok ? null : { obtainedAt: null, trouble: expect.stringContaining(text) });
});

test.each(['ListExecutions', 'DescribeRule'])('exits with 3 if %s is denied', async (operation) => {
  const { cli } = await deployed(whole, denied(operation));

  expect(await cli('status')).toMatchObject({ code: 3, stdout: '' });
});

/** A night without leads, and a complete night after it. */
async function pastNight() {
  const cloud = await deployed(whole);
  for (const [key, night] of [recordedNight('2026-11-18', ['leads']), recordedNight(NIGHT)]) {
    cloud.objects.set(key, Buffer.from(night));
  }
  for (const entity of ENTITIES)
    cloud.publish({ entity, date: '2026-11-18', execution: `${entity}-2026-11-18`, pointers: [] });
  return cloud;
}

const DEAD = { state: { S: 'DEAD' }, owner: { S: '' }, deadline: { N: '0' }, reason: { S: 'Revoked.' } };
const REFUSED = { ...DEAD, state: { S: 'CLAIMED' }, refusals: { N: '9' } };
/** A run of leads that failed after the night. */
const failedSince = () => {
  const later = { start: `${NIGHT}T06:00:00Z`, stop: `${NIGHT}T06:01:00Z` };
  return executions([{ ...failed('leads', 'CrmUnavailable'), ...later }]);
};
const stopped = () => {
  const { error: _, cause: __, ...run } = failed('leads', '');
  return executions([{ ...run, status: 'ABORTED' }]);
};

test('each kind of night has its own headline', async () => {
  const lacking = { ...whole, leads: '2026-11-19' };
  const recorded = await deployed(lacking, rules({ paused: ['leads'] }));
  const [key, night] = recordedNight(NIGHT, ['leads']);
  recorded.objects.set(key, Buffer.from(night));
  const warned = await deployed(whole);
  warned.publish({ date: NIGHT, execution: 'leads-warned', manifest: { warnings: ['A column came.'] } });
  const results: [string, CliResult][] = [];
  for (const [what, cloud, ...args] of [
    ['an incomplete night with its record', recorded],
    ['a past date', pastNight(), '--date', '2026-11-18'],
    ['a future date', deployed({}), '--date', '2026-11-21'],
    ['a date of another century', deployed({}), '--date', '1999-01-01'],
    ['a run has failed since', deployed(whole, failedSince())],
    ['a published file with a warning', warned],
    ['the grant is dead', deployed(whole, grant(DEAD))],
    ['the CRM refuses to refresh the grant', deployed(whole, grant(REFUSED))],
    ['the grant is dead, and a file is missing', deployed(lacking, grant(DEAD))],
    ['the grant is dead, and a run has failed since', deployed(whole, grant(DEAD), failedSince())],
    ['a stopped run', deployed(lacking, stopped())],
    ['the alarms are unknown', deployed(whole, denied('DescribeAlarms'))],
    ['the grant is unknown', deployed(whole, denied('GetSecretValue'))],
  ] as [string, ReturnType<typeof deployed>, ...string[]][])
    results.push([what, await (await cloud).cli('status', ...args)]);
  vi.setSystemTime('2026-11-19T07:00:00Z');
  results.push(['the clock is a day behind', await (await deployed(whole)).cli('status')]);
  vi.setSystemTime('2026-11-01T00:30:00Z');
  results.push(['before the first night', await (await firstNight()).cli('status')]);

  // The other entities have the same row in each screen.
  const ofOthers = /^ {2}[✓·] (?!leads).*\n/gm;
  await expectResults(
    'status-headlines',
    results.map(([what, result]) => [what, { ...result, shown: result.shown.replaceAll(ofOthers, '') }]),
  );
});

test('after a complete night, a newer run that ended well clears a failure, even if it published nothing', async () => {
  const cloud = await deployed(whole, executions([failed('leads', 'CrmUnavailable')]));
  const manifest: ManifestChanges = {
    state: 'unpublished',
    startedAt: `${NIGHT}T06:30:00Z`,
    differs: ['columns'],
    file: { storedAt: `${NIGHT}T06:31:00.000Z` },
  };
  cloud.publish({ execution: 'leads-with-other-columns', manifest, pointers: [] });

  expect((await cloud.cli('status')).code).toBe(0);
});

/** Before the first night, a person has started a run. */
async function firstNight() {
  const cloud = await aws(SIX_HOURS, grant(), alarms());
  cloud.publish({ date: '2026-11-01', manifest: { startedAt: '2026-11-01T00:10:00.000Z' } });
  for (const date of ['2026-10-31', '2026-11-01']) {
    const [key, night] = recordedNight(date, ENTITIES.slice(1));
    cloud.objects.set(key, Buffer.from(night.replaceAll(`leads-${date}`, 'leads-night')));
  }
  return cloud;
}

test('on a terminal, a missing entity is red, and a published one is green', () => {
  vi.stubEnv('NO_COLOR', undefined);
  const row = { date: NIGHT, run: 'x', rule: 'on', readers: null, failedSince: null } as const;
  const bad = { state: 'failed', missing: true, error: 'ReauthorizationRequired', advice: 'do this' } as const;
  const good = { state: 'published', missing: false, error: null, advice: null } as const;
  const status: Status = {
    ...{ deployment: 'prod', madeAt: `${NIGHT}T07:00:00Z`, ok: false, headline: 'Last night: 1 of 7 missing: leads' },
    entities: [
      { ...row, ...bad, entity: 'leads' },
      { ...row, ...good, entity: 'contacts' },
    ],
    ...{ night: null, alarms: null, grant: null, nextStart: null, warnings: [] },
  };

  const screen = statusText(status, { deployment: 'prod' }, { isTTY: true });

  expect(screen).toContain('\u001b[31m  ✕ leads');
  expect(screen).toContain('\u001b[32m  ✓ contacts');
});
