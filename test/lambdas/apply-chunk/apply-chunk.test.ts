import { describe, expect, test } from 'vitest';
import { resultLineText } from '../../../core/batch/batch-results.ts';
import { asBatchStep } from '../../../core/batch/batch-state.ts';
import { RunError } from '../../../core/errors.ts';
import { MOST_ROUNDS } from '../../../lambdas/apply-chunk/apply-chunk.ts';
import {
  batch,
  batchState,
  chunkWorld,
  idOf,
  KEYS,
  type Reply,
  resultsIn,
  sleepingDeps,
  wholeChunk,
} from '../../support/batches.ts';
import { CANARY, deployment } from '../../support/builders.ts';
import { composed, lambdaContext, NOW } from '../../support/deps.ts';
import { failureOf } from '../../support/failures.ts';
import { type FakeBucket, failing } from '../../support/fake-bucket.ts';
import { expectTexts } from '../../support/screen.ts';

const DOWN = new RunError('StorageUnavailable', 'Down.');

/** A refusal of some services in place of a 429. */
const busy = () => Response.json({ error: { code: 'rateLimitExceeded' } }, { status: 403 });

/** The web page of a proxy that does not know the address. */
const page = () => new Response('<html>', { status: 404 });

const summary = (store: FakeBucket) =>
  resultsIn(store).map(({ outcome, status, attempts, error }) => [outcome, status, attempts, error]);

const notSent = (count: number, reason: string) => Array(count).fill(['NOT_SENT', null, 0, reason]);

test('sends each line once, without its id, and stores its result', async () => {
  const bodies: unknown[] = [];
  const { store, sent, invoke } = chunkWorld(3, (_, __, { operation, id, json }) => {
    bodies.push([operation, id, json]);
    return 200;
  });

  const answer = await invoke();

  expect(answer).toEqual({ outcome: 'FINISHED', waits: 0 });
  expect(sent).toEqual([1, 2, 3]);
  expect(bodies[1]).toEqual(['update', idOf(2), { firstName: CANARY, city: 'Haifa' }]);
  expect(resultsIn(store)[1]).toEqual({
    line: 2,
    id: idOf(2),
    outcome: 'APPLIED',
    error: null,
    status: 200,
    attempts: 1,
    at: expect.stringMatching(/^2026-11-20T01:10/),
  });
});

describe('the result of a line that is answered', () => {
  const sounding = () => Response.json({ errors: [{ field: 'slot', message: 'Unavailable' }] }, { status: 422 });
  const named = () => Response.json({ error: { fields: ['city', CANARY], message: CANARY } }, { status: 422 });
  test.each<[name: string, replies: (Reply | (() => Response))[], expected: unknown[]]>([
    ['204 each time, which confirms nothing', [204, 204, 204], ['UNKNOWN', 204, 3, 'CrmContractError']],
    ['204, then 200', [204, 200], ['APPLIED', 200, 2, null]],
    ['422 with a text about a value that sounds busy', [sounding], ['REJECTED', 422, 1, 'CrmRejectedRequest']],
    ['302', [302], ['UNKNOWN', 302, 1, 'CrmContractError']],
    ['500 each time', [500, 500, 500], ['UNKNOWN', 500, 3, 'CrmUnavailable']],
    ['404 after a 502, which may have had an effect', [502, 404], ['UNKNOWN', 404, 2, 'CrmRejectedRequest']],
    ['423 each time', Array(8).fill(423), ['FAILED', 423, 8, 'CrmBusy']],
    ['429 each time', Array(8).fill(429), ['FAILED', 429, 8, 'RateLimited']],
    ['nothing each time', ['lost', 'lost', 'lost'], ['UNKNOWN', null, 3, 'CrmUnavailable']],
    ['409 after no answer, which may have caused it', ['lost', 409], ['UNKNOWN', 409, 2, 'CrmRejectedRequest']],
    ['200 with an error alone', [() => Response.json({ errors: ['x'] })], ['REJECTED', 200, 1, 'CrmRejectedRequest']],
    ['200 with another customer', [() => Response.json({ id: idOf(9) })], ['UNKNOWN', 200, 1, 'CrmContractError']],
    ['200 with the old value', [() => Response.json({ city: 'Eilat' })], ['UNKNOWN', 200, 1, 'CrmContractError']],
    [
      'nothing, then 200 with errors, which does not prove that the first one had no effect',
      ['lost', () => Response.json({ error: { code: 'locked' } })],
      ['UNKNOWN', 200, 2, 'CrmRejectedRequest'],
    ],
    ['401 to a fresh token', [401], ['FAILED', 401, 1, 'AuthRefused']],
    ['403', [403], ['FAILED', 403, 1, 'AuthRefused']],
    ['404 and a web page, which is of no customer', [page], ['FAILED', 404, 1, 'ConfigInvalid']],
    ['403 because the CRM is busy, then 200', [busy, 200], ['APPLIED', 200, 2, null]],
  ])('%s', async (_, replies, expected) => {
    const { store, invoke } = chunkWorld(1, (__, nth) => {
      const reply = replies[nth - 1] ?? 599;
      return typeof reply === 'function' ? reply() : reply;
    });

    expect(await invoke()).toMatchObject({ outcome: 'FINISHED' });

    expect(summary(store)).toEqual([expected]);
  });

  test('422: stores the names of sent fields and no value', async () => {
    const { store, invoke } = chunkWorld(1, named);

    await invoke();

    expect(resultsIn(store)[0]).toMatchObject({ outcome: 'REJECTED', status: 422, fields: ['city'] });
    expect(JSON.stringify(resultsIn(store))).not.toContain(CANARY);
  });
});

test('ignores the values of the answer with confirmation: status', async () => {
  const old = () => Response.json({ id: idOf(9), city: 'Eilat' });
  const deps = {
    ...sleepingDeps(),
    deployment: deployment({ updates: { ...deployment().updates, confirmation: 'status' } }),
  };
  const { store, stateWith, invoke } = chunkWorld(1, old);

  await invoke(stateWith(), deps);

  expect(summary(store)).toEqual([['APPLIED', 200, 1, null]]);
});

describe('what stops or does not stop the whole batch', () => {
  test('a 403 to a token without the scope: the stop flag names the scope, and no more lines are sent', async () => {
    const { store, sent, invoke } = chunkWorld(3, () => 403, { scope: 'openid global:export' });

    await invoke();

    expect(sent).toEqual([1]);
    expect(summary(store)).toEqual([['FAILED', 403, 1, 'AuthRefused'], ...notSent(2, 'AuthRefused')]);
    const stop = JSON.parse(store.text(KEYS.stop) ?? '');
    expect(stop).toMatchObject({ reason: 'AuthRefused', sentence: expect.stringContaining('"customers:update"') });
  });

  test.each(['openid customers:update', ''])('five 403 in a row with the scopes "%s"', async (scope) => {
    const refused = (line: number) => [2, 4, 5, 6, 7].includes(line) || line > 9;
    const { store, sent, invoke } = chunkWorld(20, (line) => (refused(line) ? 403 : 200), { scope });

    await invoke();

    expect(sent).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]);
    expect(summary(store)[1]).toEqual(['FAILED', 403, 1, 'AuthRefused']);
    expect(summary(store).slice(14)).toEqual(notSent(6, 'AuthRefused'));
    const { sentence } = JSON.parse(store.text(KEYS.stop) ?? '');
    await expectTexts('batch-stopped-by-403', [['five lines in a row', sentence]]);
  });

  test('five web pages in a row, but not a single one: the stop flag names crm.baseUrl', async () => {
    const { store, sent, invoke } = chunkWorld(9, (line) => (line === 2 || line > 3 ? page() : 200));

    await invoke();

    expect(sent).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    expect(summary(store).slice(7)).toEqual([['FAILED', 404, 1, 'ConfigInvalid'], ...notSent(1, 'ConfigInvalid')]);
    const { sentence } = JSON.parse(store.text(KEYS.stop) ?? '');
    await expectTexts('batch-stopped-by-pages', [['web pages instead of the interface', sentence]]);
  });

  test('no 403 that says that the CRM is busy, even without the scope', async () => {
    const { store, sent, invoke } = chunkWorld(7, busy, { scope: 'openid' });

    await invoke();

    expect(new Set(sent)).toEqual(new Set([1, 2, 3, 4, 5, 6, 7]));
    expect(store.text(KEYS.stop)).toBeUndefined();
  });

  test('five 403 in a row over several invocations', async () => {
    const { sent, stateWith, invoke } = chunkWorld(10, () => 403, { scope: '' });
    let state = stateWith({ chunkRate: 0.01 });
    do state = { ...state, ...(await invoke(state, sleepingDeps(400))) };
    while (state.outcome === 'CONTINUE');

    expect(state.rounds).toBe(2);
    expect(sent).toEqual([1, 2, 3, 4, 5]);
  });

  test.each(['ReauthorizationRequired', 'ConfigInvalid'] as const)('%s: sends nothing', async (name) => {
    const { store, sent, invoke } = chunkWorld(2, () => new RunError(name, 'No token.'));

    await invoke();

    expect(sent).toEqual([]);
    expect(summary(store)).toEqual(notSent(2, name));
    expect(store.text(KEYS.stop)).toContain(name);
  });

  test('a dead grant raises its alarm, and no other error does', async () => {
    const measuredAfter = async (reply: Parameters<typeof chunkWorld>[1]) => {
      const deps = sleepingDeps();
      await chunkWorld(1, reply).invoke(undefined, deps);
      return deps.log.measured.map(({ outcome, values }) => ({ outcome, values }));
    };

    const rung = [{ outcome: 'ReauthorizationRequired', values: { RunsEnded: 1 } }];
    expect(await measuredAfter(() => new RunError('ReauthorizationRequired', 'No token.'))).toEqual(rung);
    expect(await measuredAfter(() => new RunError('ConfigInvalid', 'No secret.'))).toEqual([]);
    expect(await measuredAfter(() => 403)).toEqual([]);
  });

  test('a dead grant that ends the chunk is measured once, not twice', async () => {
    const deps = sleepingDeps();
    const { invoke, stateWith } = chunkWorld(1, undefined, {
      before: () => {
        throw new RunError('ReauthorizationRequired', 'No token.');
      },
    });
    const step = asBatchStep('ApplyChunk', (state) => invoke(state, deps), ...composed(deps));

    expect((await step(stateWith(), lambdaContext())).failure?.error).toBe('ReauthorizationRequired');
    expect(deps.log.measured.map(({ outcome }) => outcome)).toEqual(['ReauthorizationRequired']);
  });

  test('stopAfterFailures counts failures of every kind and of other chunks', async () => {
    const replies: Reply[] = [404, 200, 500, 500, 500, 200];
    const { store, sent, stateWith, invoke } = chunkWorld(6, () => replies.shift() ?? 599);
    store.put(`${KEYS.failures}900`, '');

    await invoke(stateWith({ stopAfterFailures: 3 }));

    expect(new Set(sent)).toEqual(new Set([1, 2, 3]));
    expect(summary(store).slice(3)).toEqual(notSent(3, 'UpdateStopped'));
    const { sentence } = JSON.parse(store.text(KEYS.stop) ?? '');
    await expectTexts('batch-stopped-by-failures', [['as many failures as the input allows', sentence]]);
  });

  test('the flag is read before each line', async () => {
    const reads: number[] = [];
    const { store, invoke } = chunkWorld(5, () => {
      reads.push(store.calls.filter((call) => call === `read ${KEYS.stop}`).length);
      return 200;
    });

    await invoke();

    expect(reads).toEqual([1, 2, 3, 4, 5]);
  });
});

describe('trouble in the middle of a chunk', () => {
  const noToken = new RunError('TokenRefreshInProgress', 'Another function refreshes.');

  test('waits, keeps the results so far, and continues without sending a line again', async () => {
    let trouble = true;
    const { store, sent, step } = chunkWorld(3, (line) => (trouble && line === 3 ? noToken : 200));

    const waiting = await step();
    trouble = false;
    const end = await step(waiting);

    // The wait followed progress, so it does not count as repeated.
    expect(waiting).toMatchObject({ outcome: 'CONTINUE', waits: 0, failure: null });
    expect(waiting.waitSeconds).toBeGreaterThanOrEqual(2);
    expect(end.outcome).toBe('FINISHED');
    expect(sent).toEqual([1, 2, 3]);
    expect(resultsIn(store).map(({ line }) => line)).toEqual([1, 2, 3]);
  });

  test('a token endpoint that fails after a 401: waits as without a token, and stops nothing', async () => {
    const trouble = new RunError('CrmUnavailable', 'The token endpoint is away.');
    let away = true;
    const refused = () => ({ response: new Response(null, { status: 401 }), trouble });
    const { store, sent, stateWith, step } = chunkWorld(2, () => (away ? refused() : 200));

    let state = stateWith();
    for (let times = 0; times < 20; times += 1) state = await step(state);
    expect(state).toMatchObject({ outcome: 'CONTINUE', waits: 20, failure: null });
    expect(store.keys()).not.toContain(KEYS.stop);
    away = false;
    expect(await step(state)).toMatchObject({ outcome: 'FINISHED' });

    expect(sent).toHaveLength(22);
    expect(summary(store)).toEqual([
      ['APPLIED', 200, 21, null],
      ['APPLIED', 200, 1, null],
    ]);
  });

  test('a token endpoint that fails until the batch stops: a line refused with 401 is FAILED', async () => {
    const trouble = new RunError('CrmUnavailable', 'The token endpoint is away.');
    const { store, step } = chunkWorld(1, () => ({ response: new Response(null, { status: 401 }), trouble }));
    const waiting = await step();
    store.put(KEYS.stop, '');
    await step(waiting);

    expect(summary(store)).toEqual([['FAILED', 401, 1, 'AuthRefused']]);
  });

  test('a slow token endpoint: does not send a line that it could not complete in time', async () => {
    const { sent, stateWith, invoke } = chunkWorld(1);
    // The time left at the start of the line, and right before it is sent.
    const left = [200, 59];

    const deps = { ...sleepingDeps(), secondsLeft: () => left.shift() ?? 0 };
    await failureOf(invoke(stateWith(), deps), 'TokenRefreshInProgress');

    expect(sent).toEqual([]);
  });

  test('that lasts for 45 waits without progress ends the chunk', async () => {
    const { stateWith, step } = chunkWorld(1, () => noToken);

    const end = await step(stateWith({}, { waits: 45 }));

    expect(end).toMatchObject({ outcome: 'FAILED', failure: { error: 'TokenRefreshInProgress' } });
  });

  test('closes a claim that sent nothing with an empty part', async () => {
    const { store, invoke } = chunkWorld(1, () => new RunError('CrmUnavailable', 'No connection.'));

    await failureOf(invoke(), 'CrmUnavailable');

    expect(store.keys()).toContain(KEYS.claim(1, 1));
    expect(store.text(KEYS.part(1, 1))).toBe('');
  });

  test('leaves the chunk to the invocation that closed its claim', async () => {
    const { store, stateWith, invoke } = chunkWorld(3, (line) => {
      if (line === 2) store.put(KEYS.part(1, 1), '{"doubt":{"firstLine":1,"records":100}}\n');
      return 200;
    });

    const answer = await invoke();

    expect(answer).toMatchObject({ outcome: 'CONTINUE', waitSeconds: 900, rounds: 1 });
    expect(resultsIn(store)).toEqual([]);

    expect(await invoke(stateWith({}, answer))).toMatchObject({ outcome: 'FINISHED' });
    expect(resultsIn(store).map(({ line }) => line)).toEqual([1, 2, 3]);
  });

  test('a failed write of the stop flag after a 403: stores the result of the line', async () => {
    const before = failing('putOnce', KEYS.stop, DOWN);
    const { store, invoke } = chunkWorld(2, () => 403, { before, scope: 'openid' });

    expect(await invoke()).toMatchObject({ outcome: 'CONTINUE', waits: 0 });

    expect(summary(store)).toEqual([['FAILED', 403, 1, 'AuthRefused']]);
  });

  test('a failed write of the failure count at the threshold: stores the result, and the next invocation counts it', async () => {
    const before = failing('putOnce', KEYS.failures, DOWN);
    const { store, sent, stateWith, invoke } = chunkWorld(2, () => 404, { before });

    const answer = await invoke(stateWith({ stopAfterFailures: 1 }));
    await invoke(stateWith({ stopAfterFailures: 1 }, answer));

    expect(sent).toEqual([1]);
    expect(summary(store)).toEqual([['REJECTED', 404, 1, 'CrmRejectedRequest'], ...notSent(1, 'UpdateStopped')]);
  });

  test('ends in StorageUnavailable if the results cannot be stored', async () => {
    const { invoke } = chunkWorld(1, undefined, { before: failing('putOnce', '.000001.jsonl', DOWN) });

    await failureOf(invoke(), 'StorageUnavailable');
  });

  test('sends lines that another release validated, unchanged', async () => {
    const old = { id: idOf(1), email: null, cellNumber: 'none', monthlyRevenue: 1, retired: 'a field of before' };
    const input = `${JSON.stringify(old)}\n`;
    const bodies: unknown[] = [];
    const { store, invoke } = chunkWorld(1, (_, __, { json }) => {
      bodies.push(json);
      return 200;
    });
    store.put(KEYS.input, input);

    await invoke(batchState({ batch: batch(input), chunk: wholeChunk(input) }));

    const { id: _, ...fields } = old;
    expect(bodies).toEqual([fields]);
    expect(summary(store)).toEqual([['APPLIED', 200, 1, null]]);
  });
});

describe('handing on to the next invocation', () => {
  test('leaves a long Retry-After to the machine, then continues the same line with its attempts', async () => {
    const busy = () => new Response(null, { status: 429, headers: { 'retry-after': '120' } });
    const { store, sent, stateWith, invoke } = chunkWorld(3, (line, nth) => (line === 2 && nth === 1 ? busy() : 200));

    const first = await invoke();
    const second = await invoke(stateWith({}, first));

    expect(first).toMatchObject({ outcome: 'CONTINUE', waitSeconds: 120, rounds: 1 });
    expect(second.outcome).toBe('FINISHED');
    expect(sent).toEqual([1, 2, 2, 3]);
    expect(summary(store)).toEqual([
      ['APPLIED', 200, 1, null],
      ['APPLIED', 200, 2, null],
      ['APPLIED', 200, 1, null],
    ]);
  });

  test.each([
    [429, {}, 'FAILED', 'RateLimited'],
    [403, { code: 'rateLimitExceeded' }, 'FAILED', 'CrmBusy'],
    [400, { code: 'SERVER_BUSY' }, 'FAILED', 'CrmBusy'],
    [503, {}, 'UNKNOWN', 'CrmUnavailable'],
  ])('if the batch stops while a line waits after %i %j, it is %s', async (status, body, outcome, error) => {
    const busy = () => Response.json(body, { status, headers: { 'retry-after': '120' } });
    const { store, stateWith, invoke } = chunkWorld(2, busy);
    const first = await invoke();
    store.put(KEYS.stop, '{}');

    await invoke(stateWith({}, first));

    expect(summary(store)).toEqual([[outcome, status, 1, error], ...notSent(1, 'UpdateStopped')]);
  });

  test('hands on less than 1.5 KB of state each time its time runs out', async () => {
    const { store, sent, stateWith, invoke } = chunkWorld(250);
    let state = stateWith({ chunkRate: 1 });
    do {
      state = { ...state, ...(await invoke(state, sleepingDeps(281))) };
      expect(JSON.stringify(state).length).toBeLessThan(1500);
    } while (state.outcome === 'CONTINUE');

    expect(state.rounds).toBe(2);
    expect(sent).toEqual(Array.from({ length: 250 }, (_, index) => index + 1));
    expect(resultsIn(store).map(({ line }) => line)).toEqual(sent);
  });

  test('reads one part of a chunk that was continued a thousand times', async () => {
    const { store, sent, stateWith, invoke } = chunkWorld(1001);
    const of = { outcome: 'APPLIED', error: null, status: 200, attempts: 1, at: NOW } as const;
    for (let line = 1; line <= 1000; line += 1) {
      store.put(KEYS.claim(1, line), '{"doubt":{"firstLine":1,"records":100}}');
      store.put(KEYS.part(1, line), resultLineText({ line, id: idOf(line), ...of }));
    }

    await invoke(stateWith({}, { rounds: 1000 }));

    expect(sent).toEqual([1001]);
    expect(store.calls.filter((call) => call.startsWith(`read ${KEYS.results}`))).toEqual([
      `read ${KEYS.part(1, 1000)}`,
    ]);
  });

  test('ends a chunk in UpdateStopped before its execution history is full', async () => {
    const { stateWith, invoke } = chunkWorld(1);
    await failureOf(invoke(stateWith({}, { rounds: MOST_ROUNDS })), 'UpdateStopped');
  });
});

test("sends lines and retries at the chunk's share of the rate", async () => {
  const { stateWith, invoke } = chunkWorld(11, (line, nth) => (line === 5 && nth === 1 ? 503 : 200));
  const deps = sleepingDeps();

  await invoke(stateWith({ chunkRate: 2 }), deps);

  // Twelve calls with eleven intervals of half a second between them.
  expect(deps.slept()).toBeGreaterThanOrEqual(5.5);
  expect(deps.slept()).toBeLessThan(7);
});

test('waits one interval before the first line of a continued chunk, so that the rate is kept', async () => {
  const { stateWith, invoke } = chunkWorld(2);
  const first = sleepingDeps();
  const goesOn = sleepingDeps();
  const again = sleepingDeps();

  await invoke(stateWith({ chunkRate: 1 }), first);
  await chunkWorld(2).invoke(stateWith({ chunkRate: 1 }, { rounds: 1 }), goesOn);
  await chunkWorld(2).invoke(stateWith({ chunkRate: 1 }, { waits: 1 }), again);

  // The random number puts the first turn of a chunk at its start here.
  expect([first.slept(), goesOn.slept(), again.slept()]).toEqual([1, 2, 2]);
});
