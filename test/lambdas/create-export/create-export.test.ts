import { expect, test } from 'vitest';
import { RunError } from '../../../core/errors.ts';
import { asStep } from '../../../core/step/export-run.ts';
import type { Run, RunState } from '../../../core/step/states.ts';
import { createExport } from '../../../lambdas/create-export/create-export.ts';
import { run as aRun, deployment, EXPORT_ID, newState, STARTED_AT } from '../../support/builders.ts';
import { at, composed, lambdaContext } from '../../support/deps.ts';
import { createDeps } from '../../support/export-records.ts';
import { failureOf } from '../../support/failures.ts';
import { fakeCrm } from '../../support/fake-crm.ts';

const FIELDS = [{ fieldName: 'id', type: 'uuid' }, ...[{ fieldName: 'firstName', label: 'שם פרטי' }]];
const fields: [string, unknown] = ['get /leads/fields', FIELDS];
const created: [string, unknown] = ['post /leads/exports', { id: EXPORT_ID }];
const lost: [string, unknown] = ['post /leads/exports', new RunError('CreateUnanswered', 'The answer was lost.')];

interface Given {
  input?: object;
  settings?: Parameters<typeof deployment>[0];
  leads?: object;
  state?: Partial<RunState>;
  deps?: Parameters<typeof createDeps>[1];
  /** The CRM; by default it creates an export. */
  crm?: ReturnType<typeof fakeCrm>;
}

async function create({ input, settings, leads = {}, state, deps, crm = fakeCrm(fields, created) }: Given = {}) {
  const configured = deployment({ entities: { leads }, ...settings });
  const begun = newState({ entity: 'leads', ...input }, state);
  return createExport(begun, createDeps(crm, { deployment: configured, ...deps }));
}

async function dateOf(timeZone: string, startedAt: string, input: object = {}): Promise<string | undefined> {
  return (await create({ input, settings: { timeZone }, state: { startedAt } })).run?.date;
}

test('CREATED returns everything that the later steps need', async () => {
  expect(await create()).toEqual({
    outcome: 'CREATED',
    waitSeconds: 10,
    checks: 0,
    run: aRun({
      request: { columns: ['id', 'firstName'] },
      listed: { others: [], labels: [null, 'שם פרטי'], types: ['uuid', null], complete: true },
      fingerprint: expect.stringMatching(/^[0-9a-f]{64}$/),
      plan: expect.stringMatching(/^[0-9a-f]{64}$/),
      createdAt: '2026-11-20T01:10:00.000Z',
      softwareVersion: '1.2.3',
    }),
  });
});

test('sends the settings of input and configuration in the POST, after one request of the columns', async () => {
  const crm = fakeCrm(fields, created);
  const leads = { columns: ['firstName'], filters: [{ field: 'id' }], extra: { locale: 'he' } };

  await create({ crm, leads, input: { sendEmail: true } });

  expect(crm.calls).toEqual([
    { line: 'get /leads/fields', json: undefined },
    {
      line: 'post /leads/exports',
      json: { columns: ['firstName'], filters: [{ field: 'id' }], sendEmail: true, locale: 'he' },
    },
  ]);
});

test.each<[string, object, Partial<Run>]>([
  ['the configured columns by name', { columns: ['firstName'] }, {}],
  ['the sorting alone', { sorts: [{ field: 'id' }] }, {}],
  ['other columns', { columns: ['id'] }, { kind: 'partial', differs: ['columns'], publish: false }],
  ['a filter', { filters: [{ field: 'id' }] }, { kind: 'partial', differs: ['filters'], publish: false }],
  ['a filter, to be published', { filters: [{}], publish: true }, { kind: 'partial', differs: ['filters'] }],
])('sets kind and publication of a manual run with %s', async (_, input, expected) => {
  const { run } = await create({ input, leads: { columns: ['firstName'] } });

  expect(run).toMatchObject({ kind: 'full', differs: [], publish: true, ...expected });
});

const sinceYesterday = (...value: unknown[]) => [{ field: 'createdAt', operator: 'between', value }];
const YESTERDAY = { filters: sinceYesterday({ $date: 'day-1d' }, { $date: 'day' }) };

test('relative dates count from the date of the run: a repeat weeks later sends equal bytes', async () => {
  const night = fakeCrm(fields, created);
  const repeat = fakeCrm(fields, created);
  const state = { startedAt: '2026-12-24T15:00:00.000Z' };

  const first = await create({ crm: night, leads: YESTERDAY, input: { scheduledFor: STARTED_AT } });
  const again = await create({ crm: repeat, leads: YESTERDAY, input: { date: '2026-11-20' }, state });

  const filters = sinceYesterday('2026-11-19', '2026-11-20');
  expect(night.calls.at(-1)?.json).toEqual({ columns: ['id', 'firstName'], filters });
  expect(JSON.stringify(repeat.calls)).toBe(JSON.stringify(night.calls));
  expect(first.run).toMatchObject({ kind: 'window', publish: true, differs: [], request: { filters } });
  expect(again.run?.fingerprint).toBe(first.run?.fingerprint);
});

test('nights with relative dates share one plan and have different fingerprints', async () => {
  const one = await create({ leads: YESTERDAY, input: { date: '2026-11-18' } });
  const other = await create({ leads: YESTERDAY, input: { date: '2026-11-19' } });

  expect(one.run?.plan).toBe(other.run?.plan);
  expect(one.run?.fingerprint).not.toBe(other.run?.fingerprint);
});

test('replaces relative dates of an input too, and the run stays partial', async () => {
  const crm = fakeCrm(fields, created);

  const { run } = await create({ crm, input: YESTERDAY });

  expect(run).toMatchObject({ kind: 'partial', differs: ['filters'], publish: false });
  expect(crm.calls.at(-1)?.json).toMatchObject({ filters: [{ value: ['2026-11-19', '2026-11-20'] }] });
});

test.each([
  ['of the start, without a schedule', 'UTC', '2026-11-20T23:30:00Z', {}, '2026-11-20'],
  ['of the start, in the zone of the deployment', 'Asia/Jerusalem', '2026-11-20T23:30:00Z', {}, '2026-11-21'],
  ['of the day before, west of Greenwich', 'America/New_York', '2026-11-20T03:00:00Z', {}, '2026-11-19'],
  [
    'of the schedule, even if the run starts after midnight',
    'UTC',
    '2026-11-21T00:05:00Z',
    { scheduledFor: '2026-11-20T23:58:00Z' },
    '2026-11-20',
  ],
  ['of an offset schedule', 'UTC', '2026-11-21T00:05:00Z', { scheduledFor: '2026-11-21T01:00:00+02:00' }, '2026-11-20'],
  ['of the start, in summer time', 'Asia/Jerusalem', '2026-07-10T21:30:00Z', {}, '2026-07-11'],
  [
    'that the input gives, in preference to any other',
    'Asia/Jerusalem',
    '2026-11-20T23:30:00Z',
    { date: '2025-01-01', scheduledFor: '2026-11-20T23:00:00Z' },
    '2025-01-01',
  ],
])('the date of a run is the one %s', async (_, timeZone, startedAt, input, date) => {
  expect(await dateOf(timeZone, startedAt, input)).toBe(date);
});

test('takes deadline, waits and retention from the configuration', async () => {
  const leads = { polling: { firstWaitSeconds: 5, deadlineSeconds: 120 } };

  expect(await create({ leads, settings: { retentionDays: 1 } })).toMatchObject({
    waitSeconds: 5,
    run: {
      deadline: '2026-11-20T01:02:00.000Z',
      firstWaitSeconds: 5,
      largestWaitSeconds: 100,
      keptUntil: '2026-11-21',
    },
  });
});

test.each([
  ['nightly-2026.11_20', 'nightly-2026.11_20'],
  ['../x', '..%2Fx'],
  ['50%+1=#?', '50%25%2B1%3D%23%3F'],
])('gives an execution named %s its own folder, run=%s', async (execution, folder) => {
  const { run } = await create({ state: { execution } });

  expect(run?.prefix).toBe(`runs/entity=leads/run=${folder}/`);
});

const polling = { firstWaitSeconds: 10, deadlineSeconds: 3600 };
const waiting = (largestWaitSeconds: number, createAgainSeconds: number): Given => ({
  settings: { polling: { ...polling, largestWaitSeconds, createAgainSeconds } },
});
const slow = (retryAfterSeconds: number) => new RunError('CreateUnanswered', 'It was lost.', { retryAfterSeconds });

test.each<[what: string, waitSeconds: number | undefined, given?: Given, error?: RunError]>([
  ['five minutes', 300],
  ['the largest wait, if that is longer', 900, waiting(900, 300)],
  ['the largest wait of a local configuration', 10, waiting(10, 1)],
  ['five minutes, just before the deadline at 02:00', 300, { deps: { now: at('2026-11-20T01:54:50Z') } }],
  ['no wait, if the deadline is too near', undefined, { deps: { now: at('2026-11-20T01:54:51Z') } }],
  ['the Retry-After of the CRM', 777, {}, slow(777)],
  // The deadline is in fifty minutes, and the first wait takes ten seconds.
  ['the longest possible Retry-After', 2990, {}, slow(2990)],
  ['no wait, with a longer one', undefined, {}, slow(2990.1)],
  ['no wait, with one until the deadline', undefined, {}, slow(3000)],
  ['no wait, with one of a day', undefined, {}, slow(86_400)],
])('repeats a POST without an answer, and counts it in the state: after %s', async (_, waitSeconds, given, error) => {
  const answer = create({ ...given, crm: fakeCrm(fields, ['post /leads/exports', error ?? lost[1]]) });

  if (waitSeconds === undefined) await failureOf(answer, 'CreateUnanswered');
  else expect(await answer).toMatchObject({ outcome: 'RETRY', unansweredCreates: 1, waits: 1, waitSeconds });
});

test('gives the POST the configured timeout and the time left of the invocation', async () => {
  const crm = fakeCrm(fields, created);

  await create({ crm, settings: { crm: { createTimeoutSeconds: 400 } }, deps: { secondsLeft: () => 77 } });

  expect(crm.given.map(({ timeoutMs, secondsLeft }) => [timeoutMs, secondsLeft?.()])).toEqual([
    [undefined, undefined],
    // The time reserved for recording the export is not spent waiting.
    [400_000, 67],
  ]);
});

test('sends at most two POSTs that may have created an export, until the longest deadline', async () => {
  const not: [string, unknown] = ['post /leads/exports', new RunError('CrmUnavailable', 'It was answered 503.')];
  const patient = deployment({ polling: { firstWaitSeconds: 1, largestWaitSeconds: 300, deadlineSeconds: 86_400 } });

  for (const creates of [
    [lost, lost],
    [not, lost, not, not, lost],
    [lost, not, not, created],
  ]) {
    const crm = fakeCrm(...creates.flatMap((answer) => [fields, answer]));
    const handler = asStep('CreateExport', createExport, ...composed(createDeps(crm, { deployment: patient })));

    let state = newState();
    while (state.outcome === null || state.outcome === 'RETRY') state = await handler(state, lambdaContext());

    expect(crm.left).toEqual([]);
    expect(state).toMatchObject({ outcome: creates.at(-1) === lost ? 'FAILED' : 'CREATED', unansweredCreates: 1 });
  }
});

test('keeps the state of an ordinary run below 16 KB and of the largest request below 140 KB', async () => {
  const filters = [{ value: 'ש'.repeat(31_900) }];
  const handlerWith = () => asStep('CreateExport', createExport, ...composed(createDeps(fakeCrm(fields, created))));

  const ordinary = await handlerWith()(newState(), lambdaContext());
  const largest = await handlerWith()(newState({ entity: 'leads', filters }), lambdaContext());

  expect(Buffer.byteLength(JSON.stringify(ordinary))).toBeLessThan(16 * 1024);
  expect(largest.outcome).toBe('CREATED');
  expect(Buffer.byteLength(JSON.stringify(largest))).toBeLessThan(140 * 1024);
});

test.each<[what: string, input: object, date: string]>([
  ['a future date', { date: '2999-01-01' }, '2999-01-01'],
  ['tomorrow', { date: '2026-11-21' }, '2026-11-21'],
  ['a schedule of tomorrow by its offset', { scheduledFor: '2026-11-20T23:00:00-01:00' }, '2026-11-21'],
  ['a schedule in the year 1', { scheduledFor: '0001-01-01T00:00:00Z' }, '0001-01-01'],
  ['a schedule before the year 0', { scheduledFor: '0000-01-01T00:00:00+23:59' }, '-000001-12-31'],
])('refuses %s before any call', async (_, input, date) => {
  const crm = fakeCrm();

  const error = await failureOf(create({ crm, input }), 'InvalidInput');

  expect(error.message).toContain(date);
  expect(crm.calls).toEqual([]);
});

test("accepts today's date in the zone of the deployment", async () => {
  expect(await dateOf('Pacific/Auckland', '2026-11-20T12:00:00.000Z', { date: '2026-11-21' })).toBe('2026-11-21');
});

const DATED = [{ field: 'updatedAt', operator: 'gte', value: { $date: 'day-1d' } }];
const UNDATED = [{ field: 'status', operator: 'eq', value: 'open' }];

test.each<[string, object, object, string, boolean]>([
  ['a past date, and no filters', { date: '2026-11-19' }, {}, 'UTC', true],
  ['a past date, and filters without a date', { date: '2026-11-01' }, { filters: UNDATED }, 'UTC', true],
  ['a past date, and other undated filters', { date: '2026-11-19', filters: UNDATED }, { filters: DATED }, 'UTC', true],
  ['a past date, and filters with a date', { date: '2026-11-19' }, { filters: DATED }, 'UTC', false],
  ['a past date, and other filters with a date', { date: '2026-11-19', filters: DATED }, {}, 'UTC', false],
  ['the date of the start', { date: '2026-11-20' }, {}, 'UTC', false],
  ['the date of the start, still the day before there', { date: '2026-11-19' }, {}, 'America/New_York', false],
  ['no date', {}, {}, 'UTC', false],
  ['the event of a rule', { date: '2026-11-19', scheduledFor: '2026-11-19T01:00:00Z' }, {}, 'UTC', false],
])('with %s, warns that the records are of another day: %s', async (_, input, leads, timeZone, warns) => {
  const { run } = await create({ input, leads, settings: { timeZone } });

  expect(run?.remarks).toHaveLength(warns ? 1 : 0);
});
