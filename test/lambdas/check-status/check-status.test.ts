import { expect, test } from 'vitest';
import type { CrmClient } from '../../../core/crm/crm-client.ts';
import { RunError, type RunErrorName } from '../../../core/errors.ts';
import { asStep } from '../../../core/step/export-run.ts';
import { NOTHING_MOVED, type RunState } from '../../../core/step/states.ts';
import { checkStatus } from '../../../lambdas/check-status/check-status.ts';
import { EXPORT_ID, run, runState } from '../../support/builders.ts';
import { crmAt } from '../../support/crm-at.ts';
import { at, composed, lambdaContext, testDeps } from '../../support/deps.ts';
import { failureOf } from '../../support/failures.ts';
import { fakeCrm } from '../../support/fake-crm.ts';
import { cutOff, serverFor } from '../../support/http-server.ts';
import { expectTexts } from '../../support/screen.ts';

const DEADLINE = '2026-11-20T02:00:00.000Z';
const status = (answer: unknown): [string, unknown] => ['get /leads/exports/{id}', answer];
const is = (word: string) => status({ id: EXPORT_ID, status: word });
const gone = status(new RunError('ExportNotFound', 'GET /leads/exports/{id} was answered 404.', { status: 404 }));

const check = (answer: [string, unknown], now?: string, state = runState()) =>
  checkStatus(state, { ...testDeps(now ? { now: at(now) } : {}), crm: fakeCrm(answer) });

/** The step with its wrapper. */
const handled = (crm: CrmClient, { now, ...overrides }: Partial<RunState> & { now?: string } = {}) => {
  const deps = testDeps(now ? { now: at(now) } : {});
  const handler = asStep('CheckStatus', checkStatus, ...composed({ ...deps, crm }));
  return { answer: handler(runState(overrides), lambdaContext()), log: deps.log };
};

const pendingWith = (retryAfterSeconds: number | undefined, state = runState()) => {
  const crm = fakeCrm([...is('PROCESSING'), retryAfterSeconds]);
  return checkStatus(state, { ...testDeps(), crm });
};

test('answers READY if the status is PROCESSED, and counts the check', async () => {
  expect(await check(is('PROCESSED'))).toEqual({ outcome: 'READY', checks: 4 });
});

test.each(['INITIATED', 'PROCESSING'])('answers PENDING with the next wait if the status is %s', async (word) => {
  const answer = await check(is(word), undefined, runState({ waits: 1 }));
  expect(answer).toEqual({ outcome: 'PENDING', checks: 4, waits: 2, waitSeconds: 15 });
});

test('waits as long as Retry-After asks while the export is PENDING', async () => {
  expect(await pendingWith(90)).toMatchObject({ outcome: 'PENDING', waitSeconds: 90 });
});

test('limits a Retry-After of a day to the largest wait, and only for this one wait', async () => {
  const first = await pendingWith(86_400);
  const second = await pendingWith(undefined, runState({ waits: first.waits ?? 0 }));

  expect(first).toMatchObject({ outcome: 'PENDING', waits: 1, waitSeconds: 100 });
  expect(second).toMatchObject({ outcome: 'PENDING', waits: 2, waitSeconds: 15 });
});

test('ends if the status is FAILED, and at the deadline after one more check of a known or unknown export', async () => {
  const early = runState({ run: run({ deadline: '2026-11-20T01:00:30.000Z' }) });
  const ends = [
    ['ExportFailed', 'a failure', check(is('FAILED'))],
    ['ExportDeadlineExceeded', 'the deadline', check(is('PROCESSING'), DEADLINE)],
    ['ExportDeadlineExceeded', 'a deadline in the first minute', check(gone, '2026-11-20T01:00:31Z', early)],
  ] as const;
  const texts = ends.map(async ([name, what, end]) => [what, (await failureOf(end, name)).message] as const);

  await expectTexts('check-status-ends', await Promise.all(texts));
});

test('waits for an export that is unknown during its first minute, without counting the check', async () => {
  const answer = await check(gone, '2026-11-20T01:01:04.999Z');

  expect(answer).toMatchObject({
    outcome: 'PENDING',
    waitSeconds: 10,
    trouble: { error: 'ExportNotFound', status: 404 },
  });
  expect(answer.checks).toBeUndefined();
});

test('logs a warning with the status when it waits after a refused status check', async () => {
  const refused = status(new RunError('CrmUnavailable', 'It was answered 503.', { status: 503 }));

  const { answer, log } = handled(fakeCrm(refused));

  expect(await answer).toMatchObject({ outcome: 'PENDING', trouble: { status: 503 } });
  expect(log.lines).toMatchObject([
    { level: 'warn', message: 'waits', fields: { error: 'CrmUnavailable', status: 503, waitSeconds: 10 } },
    { level: 'info', message: 'answered' },
  ]);
});

test('keeps the count of refused downloads when READY, and ends other trouble', async () => {
  const trouble = { error: 'ExportNotReady', status: 409, count: 3, deadline: DEADLINE };

  const refused = handled(fakeCrm(is('PROCESSED')), { moving: NOTHING_MOVED, trouble });
  const other = handled(fakeCrm(is('PROCESSED')), { trouble });

  expect(await refused.answer).toMatchObject({ outcome: 'READY', trouble });
  expect(await other.answer).toMatchObject({ outcome: 'READY', trouble: null });
});

test('ends in ExportNotFound if the export is unknown after its first minute', async () => {
  await failureOf(check(gone, '2026-11-20T01:01:05Z'), 'ExportNotFound');
});

test.each([
  ['is not over', '2026-11-20T01:09:00.000Z', '2026-11-20T01:38:59.999Z', 'PENDING'],
  ['is over', '2026-11-20T01:09:00.000Z', '2026-11-20T01:39:00.000Z', 'ExportNotFound'],
])('an unknown export falls under the half hour of refused downloads, which %s', async (_, since, now, end) => {
  const moving = { ...NOTHING_MOVED, unknownSince: since };

  const { outcome, failure } = await handled(fakeCrm(gone), { moving, now }).answer;

  expect(failure?.error ?? outcome).toBe(end);
});

test.each<[RunErrorName, string, string]>([
  ['CrmUnavailable', 'begins', '2026-11-20T01:20:00.000Z'],
  ['RateLimited', 'begins', '2026-11-20T01:20:00.000Z'],
  ['TokenStoreUnavailable', 'does not begin', '2026-11-20T01:09:00.000Z'],
])('after %s in a status check, the half hour of refused downloads %s again', async (name, _, unknownSince) => {
  const moving = { ...NOTHING_MOVED, unknownSince: '2026-11-20T01:09:00.000Z' };
  const crm = fakeCrm(status(new RunError(name, 'Wait.', { retryAfterSeconds: 44 })));

  expect(await handled(crm, { moving, now: '2026-11-20T01:20:00.000Z' }).answer).toMatchObject({
    outcome: 'PENDING',
    waitSeconds: 44,
    moving: { unknownSince },
  });
});

test.each([
  ['a web page', '2026-11-20T01:10:00Z', { text: '<html>' }, 'PENDING'],
  ['half an answer at the deadline', DEADLINE, cutOff(200, {}, '{"sta'), 'CrmContractError'],
])('waits until the deadline if the CRM answers %s instead of a status', async (_, now, reply, end) => {
  const { url } = await serverFor([`GET /leads/exports/${EXPORT_ID}`, reply]);

  const { outcome, failure } = await handled(crmAt(url), { now }).answer;

  expect(failure?.error ?? outcome).toBe(end);
  if (failure) await expectTexts('check-status-broken-off', [['half an answer at the deadline', failure.cause]]);
});
