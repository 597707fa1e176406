import { describe, expect, test } from 'vitest';
import type { ResultLine } from '../../../core/batch/batch-results.ts';
import type { Batch, BatchState } from '../../../core/batch/batch-state.ts';
import type { CrmExchange } from '../../../core/crm/crm-client.ts';
import { RunError } from '../../../core/errors.ts';
import { applyChunk } from '../../../lambdas/apply-chunk/apply-chunk.ts';
import {
  applyStep,
  fakeExchange,
  inputOf,
  KEYS,
  type Reply,
  sleepingDeps,
  summarised,
  wholeBatch,
} from '../../support/batches.ts';
import { lambdaContext } from '../../support/deps.ts';
import { type FakeBucket, fakeBucket } from '../../support/fake-bucket.ts';

/** Checks the result of a whole batch after faults in several invocations. */

const NO_CONNECTION = new RunError('CrmUnavailable', 'No connection.');

interface World {
  store: FakeBucket;
  state: BatchState;
  /** Invokes the function once and returns its answer. */
  invoke: (state: BatchState) => Promise<BatchState>;
}

let requests = 0;

function world(
  records: number,
  reply: (line: number, nth: number) => Reply,
  change: Partial<Batch> = {},
  before?: NonNullable<Parameters<typeof fakeBucket>[0]>['before'],
): World & { sent: number[] } {
  const { store, state } = wholeBatch(records, change, before);
  const { crm, sent } = fakeExchange(reply);
  return { store, state, sent, invoke: invoker(store, { crm }) };
}

function invoker(store: FakeBucket, clients: Pick<ReturnType<typeof fakeExchange>, 'crm'>): World['invoke'] {
  const handler = applyStep({ ...clients, store });
  return (state) => {
    requests += 1;
    return handler(state, lambdaContext({ awsRequestId: `request-${requests}` }));
  };
}

/** Invokes the function as the machine does. */
async function run({ state, invoke }: World, most = 200): Promise<BatchState> {
  let answer = await invoke(state);
  for (let times = 1; answer.outcome === 'CONTINUE' && times < most; times += 1) answer = await invoke(answer);
  return answer;
}

const brief = (results: ResultLine[]) =>
  results.map(({ outcome, error, status, attempts }) => [outcome, error, status, attempts]);

const stopOf = ({ store }: World) => JSON.parse(store.text(KEYS.stop) ?? 'null');

describe('a line whose answer was lost', () => {
  test('is UNKNOWN if the CRM then refuses all connections, and the batch stops', async () => {
    const met = world(3, (line, nth) => (line === 1 ? 200 : nth === 1 && line === 2 ? 'lost' : NO_CONNECTION));

    const end = await run(met);

    expect(end).toMatchObject({ outcome: 'FAILED', failure: { error: 'CrmUnavailable' } });
    expect(met.sent).toEqual([1, 2]);
    expect(brief(await summarised(met))).toEqual([
      ['APPLIED', null, 200, 1],
      ['UNKNOWN', 'CrmUnavailable', null, 1],
      ['NOT_SENT', 'CrmUnavailable', null, 0],
    ]);
    expect(stopOf(met)).toMatchObject({
      reason: 'CrmUnavailable',
      sentence: 'Chunk 1 was given up: No connection.',
    });
  });

  test.each([404, 409, 412])('stays UNKNOWN if a later invocation is answered %i', async (status) => {
    const replies: Reply[] = ['lost', NO_CONNECTION, status];
    const met = world(3, (line) => (line === 2 ? (replies.shift() ?? 599) : 200));

    await run(met);

    expect(brief(await summarised(met))).toEqual([
      ['APPLIED', null, 200, 1],
      ['UNKNOWN', 'CrmRejectedRequest', status, 2],
      ['APPLIED', null, 200, 1],
    ]);
  });
});

test('a line is UNKNOWN if a bug ends its function while it is sent', async () => {
  const met = world(3, (line) => (line === 2 ? new TypeError('bug') : 200));

  await expect(met.invoke(met.state)).rejects.toThrow('TypeError');

  expect(brief(await summarised(met))).toEqual([
    ['APPLIED', null, 200, 1],
    ['UNKNOWN', 'StepCrashed', null, 0],
    ['NOT_SENT', 'UpdateStopped', null, 0],
  ]);
});

describe('lines that a dead function may have sent', () => {
  const dead = (records: number) => JSON.stringify({ doubt: { firstLine: 1, records }, by: 'the dead' });

  test('stay UNKNOWN except for those that the next invocation sent', async () => {
    const met = world(6, (line) => (line < 3 ? 200 : NO_CONNECTION));
    met.store.put(KEYS.claim(1, 1), dead(4));

    await met.invoke(met.state);

    const outcomes = (await summarised(met)).map(({ outcome }) => outcome);
    expect(outcomes).toEqual(['APPLIED', 'APPLIED', 'UNKNOWN', 'UNKNOWN', 'NOT_SENT', 'NOT_SENT']);
  });

  test('are UNKNOWN again if the function that continued them died too', async () => {
    const busy = () => new Response(null, { status: 429, headers: { 'retry-after': '120' } });
    const met = world(3, (line, nth) => (line === 1 && nth === 1 ? busy() : 404));
    const waiting = await met.invoke(met.state);
    expect(brief(await summarised({ ...met, store: copyOf(met.store) }))[0]).toEqual(['FAILED', 'RateLimited', 429, 1]);
    await met.invoke(waiting);

    // The state after a kill behind the last line.
    const results = await summarised({ ...met, store: copyOf(met.store, KEYS.part(1, 2)) });

    expect(results.map(({ outcome }) => outcome)).toEqual(['UNKNOWN', 'UNKNOWN', 'UNKNOWN']);
  });
});

/** A copy of the bucket without one object. */
function copyOf(store: FakeBucket, without?: string): FakeBucket {
  const kept = store.keys().filter((key) => key !== without);
  return fakeBucket({ objects: Object.fromEntries(kept.map((key) => [key, store.text(key) ?? ''])) });
}

describe('a bucket', () => {
  test('that loses the answer to a claim leaves no line UNKNOWN', async () => {
    const met = world(2, () => 404);
    // The client repeats the write, and its own first write makes S3 refuse it.
    const { putOnce } = met.store;
    const store = {
      ...met.store,
      putOnce: async (key: string, body: string) => (await putOnce(key, body)) && !key.endsWith('.begun.json'),
    };

    await run({
      ...met,
      invoke: invoker(
        store,
        fakeExchange(() => 404),
      ),
    });

    expect((await summarised(met)).map(({ outcome }) => outcome)).toEqual(['REJECTED', 'REJECTED']);
  });
});

describe('a batch that does not end', () => {
  test('is stopped after two and a half days, half a day before its machine is', async () => {
    const met = world(3, () => 200);
    const startedAt = '2026-11-17T13:10:00.000Z';

    expect(await run({ ...met, state: { ...met.state, startedAt } })).toMatchObject({ outcome: 'FINISHED' });

    expect(met.sent).toEqual([]);
    expect(brief(await summarised(met))).toEqual(Array(3).fill(['NOT_SENT', 'UpdateStopped', null, 0]));
    expect(stopOf(met).sentence).toBe('The batch was not complete after two and a half days.');
  });

  test('is reported without waiting for its rate once it is stopped', async () => {
    const met = world(1000, () => 200, { chunkRate: 0.1 });
    met.store.put(KEYS.stop, '');
    const deps = sleepingDeps();

    await applyChunk(met.state, { ...deps, ...fakeExchange(), store: met.store });

    expect(deps.slept()).toBeLessThanOrEqual(10);
  });

  test('is stopped by a chunk that ends in an error', async () => {
    const met = world(1, () => 200);
    met.store.put(KEYS.input, inputOf(2));

    expect(await run(met)).toMatchObject({ outcome: 'FAILED', failure: { error: 'StorageConflict' } });

    expect(stopOf(met)).toMatchObject({ reason: 'StorageConflict' });
  });

  test('is not stopped by a transient error', async () => {
    const met = world(1, () => NO_CONNECTION);

    await met.invoke({ ...met.state, waits: 44 });

    expect(met.store.keys()).not.toContain(KEYS.stop);
  });
});

test('reports no line as NOT_SENT that a running function of an abandoned chunk sends', async () => {
  const { store, state } = wholeBatch(300);
  const held = Promise.withResolvers<void>();
  const inTheMiddle = Promise.withResolvers<void>();
  const { crm, sent } = fakeExchange();
  const exchange: CrmExchange['exchange'] = async (...call) => {
    const answer = await crm.exchange(...call);
    if (sent.length === 20) inTheMiddle.resolve();
    if (sent.length === 20) await held.promise;
    return answer;
  };
  const step = applyStep({ crm: { exchange }, store });
  const unheard = step(state, lambdaContext());
  await inTheMiddle.promise;

  const results = await summarised({ store, state }, () => {
    held.resolve();
    return unheard;
  });
  held.resolve();
  await unheard;

  const applied = results.filter(({ outcome }) => outcome === 'APPLIED').map(({ line }) => line);
  expect(applied).toEqual(sent);
  expect(results.filter(({ outcome }) => outcome === 'NOT_SENT')).toHaveLength(300 - sent.length);
});
