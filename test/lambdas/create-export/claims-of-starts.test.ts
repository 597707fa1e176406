import { expect, test } from 'vitest';
import { RunError } from '../../../core/errors.ts';
import { asStep } from '../../../core/step/export-run.ts';
import type { RunState } from '../../../core/step/states.ts';
import { createExport } from '../../../lambdas/create-export/create-export.ts';
import { deployment, EXPORT_ID, newState } from '../../support/builders.ts';
import { at, composed, lambdaContext } from '../../support/deps.ts';
import { createDeps, emptyLedger } from '../../support/export-records.ts';
import { fakeCrm } from '../../support/fake-crm.ts';
import { expectTexts } from '../../support/screen.ts';

const FIELDS: [string, unknown] = ['get /leads/fields', [{ fieldName: 'id' }]];
const CREATED: [string, unknown] = ['post /leads/exports', { id: EXPORT_ID }];
const NIGHT = { timeZone: 'Asia/Jerusalem', nightly: { at: '02:00' } };

/** A deployment with a CRM that always answers and counts the requests. */
function deployed(settings: Parameters<typeof deployment>[0] = {}) {
  const ledger = emptyLedger();
  let posts = 0;
  const run = async (execution: string, startedAt: string, input: object, state: Partial<RunState> = {}) => {
    const crm = fakeCrm(FIELDS, CREATED);
    const deps = createDeps(crm, { deployment: deployment(settings), now: at(startedAt) }, ledger);
    const begun = newState({ entity: 'leads', ...input }, { execution, startedAt, ...state });
    const answer = await asStep('CreateExport', createExport, ...composed(deps))(begun, lambdaContext());
    posts += crm.calls.filter(({ line }) => line.startsWith('post')).length;
    return { answer, asked: crm.calls.length };
  };
  const claims = () => ledger.rows().filter(({ pk }) => String(pk).startsWith('slot#'));
  return { ledger, claims, run, posts: () => posts };
}

const due = (time: string): [string, { scheduledFor: string }] => [time, { scheduledFor: time }];

test('exactly one of two executions of one start requests an export, and the other names it', async () => {
  const { run, posts } = deployed();

  const answers = await Promise.all(
    ['event-1', 'event-2'].map((execution) => run(execution, ...due('2026-11-20T01:00:00Z'))),
  );

  const [first, second] = answers.map(({ answer }) => answer.outcome === 'CREATED');
  expect([first, second].sort()).toEqual([false, true]);
  const [winner, loser] = first ? (['event-1', 1] as const) : (['event-2', 0] as const);
  expect(answers[loser]).toMatchObject({ answer: { outcome: 'ALREADY_STARTED', startedBy: winner }, asked: 0 });
  expect(posts()).toBe(1);
});

test('a repeated call finds the claim of its own execution', async () => {
  const { run } = deployed();
  const start = due('2026-11-20T01:00:00Z');

  await run('event-1', ...start);

  expect((await run('event-1', ...start)).answer).toMatchObject({ outcome: 'CREATED', startedBy: null });
});

test('a manual run makes no claim and ignores the claim of a rule', async () => {
  const { run, claims, posts } = deployed();

  await run('by-hand-1', '2026-11-20T01:00:00Z', {});
  await run('by-hand-2', '2026-11-20T01:00:00Z', { date: '2026-11-20', scheduledFor: '2026-11-20T01:00:00Z' });
  expect(claims()).toEqual([]);
  await run('event-1', ...due('2026-11-20T01:00:00Z'));
  await run('by-hand-3', '2026-11-20T01:00:00Z', {});

  expect(posts()).toBe(4);
});

test('refuses to claim a future start', async () => {
  const { run, claims } = deployed();

  const { answer } = await run('by-hand', '2026-11-20T00:30:00Z', { scheduledFor: '2026-11-20T01:00:00Z' });

  expect(answer).toMatchObject({ outcome: 'FAILED', failure: { error: 'InvalidInput' } });
  await expectTexts('future-start', [['a start in half an hour', answer.failure?.cause ?? '']]);
  expect(claims()).toEqual([]);
});

test('the start that is not due claims and requests nothing, and the due one exports', async () => {
  const { run, claims, posts } = deployed(NIGHT);

  expect(await run('event-1', ...due('2026-11-19T23:00:00Z'))).toMatchObject({
    answer: { outcome: 'NOT_DUE' },
    asked: 0,
  });
  expect(claims()).toEqual([]);
  const { answer } = await run('event-2', ...due('2026-11-20T00:00:00Z'));

  expect(answer).toMatchObject({ outcome: 'CREATED', run: { date: '2026-11-20' } });
  expect(posts()).toBe(1);
  expect(claims()).toEqual([
    { pk: 'slot#leads#2026-11-20T00:00Z', owner: 'event-2', ttl: Date.parse('2026-12-20T00:00:00Z') / 1000 },
  ]);
});

test.each([
  ['lost the answer to its request', 'CreateUnanswered'],
  ['was unavailable', 'CrmUnavailable'],
] as const)('a run that waits because the CRM %s stays due, even if a deployment moves its start', async (_, error) => {
  const ledger = emptyLedger();
  const [time, start] = due('2026-06-19T23:00:00Z');
  const invoke = (localTime: string, state: RunState, ...answers: Parameters<typeof fakeCrm>) => {
    const settings = deployment({ timeZone: 'Asia/Jerusalem', nightly: { at: localTime } });
    const deps = createDeps(fakeCrm(...answers), { deployment: settings, now: at(time) }, ledger);
    return asStep('CreateExport', createExport, ...composed(deps))(state, lambdaContext());
  };
  const begun = newState({ entity: 'leads', ...start }, { execution: 'event-1', startedAt: time });

  const waiting = await invoke('02:00', begun, FIELDS, ['post /leads/exports', new RunError(error, 'No.')]);
  const ended = await invoke('01:00', waiting, FIELDS, CREATED);

  expect(waiting).toMatchObject({ outcome: 'RETRY', date: '2026-06-20' });
  expect(ended).toMatchObject({ outcome: 'CREATED', run: { date: '2026-06-20' } });
});

test.each([
  ['is briefly unavailable', 'InternalServerError', 'RETRY', undefined],
  ['denies the write', 'AccessDeniedException', 'FAILED', 'ConfigInvalid'],
])('requests nothing while the ledger %s', async (_, name, outcome, error) => {
  const { run, ledger } = deployed();
  ledger.trouble = () => Object.assign(new Error('refused'), { name });

  const { answer, asked } = await run('event-1', ...due('2026-11-20T01:00:00Z'));

  expect({ outcome: answer.outcome, error: answer.failure?.error, asked }).toEqual({ outcome, error, asked: 0 });
  expect(answer.trouble?.error).toBe(outcome === 'RETRY' ? 'TokenStoreUnavailable' : undefined);
});
