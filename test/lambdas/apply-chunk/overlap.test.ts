import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { BatchState } from '../../../core/batch/batch-state.ts';
import type { CrmExchange } from '../../../core/crm/crm-client.ts';
import { RunError } from '../../../core/errors.ts';
import { applyStep, expectTruth, fakeExchange, KEYS, type Reply, told, wholeBatch } from '../../support/batches.ts';
import { lambdaContext } from '../../support/deps.ts';
import { runs } from '../../support/runs.ts';

/** Concurrent invocations of one chunk: Step Functions repeats a call after a lost answer. */

const CALLS = [
  'ok',
  'ok',
  'ok',
  'ok',
  'applied, lost',
  'lost',
  'refused',
  '503',
  'applied, 500',
  'down',
  'dies',
  'applied, dies',
] as const;
type Fate = (typeof CALLS)[number];

/** The CRM's answers, depending on whether the change was already made. */
const REPLIES: Partial<Record<Fate, (applied: boolean) => Reply>> = {
  ok: () => 200,
  refused: (applied) => (applied ? 412 : 404),
  '503': () => 503,
  'applied, 500': () => 500,
  down: () => new RunError('CrmUnavailable', 'No connection.'),
};

class Killed extends Error {
  override name = 'Killed';
}

let requests = 0;

/** A chunk, its CRM and its bucket. Each operation waits for `next`. */
function world(records: number, fates: Fate[], next: () => Promise<unknown>, stopsAt: number) {
  const { store, state } = wholeBatch(records);
  const applied = new Set<number>();
  const seen = new Set<number>();
  let calls = 0;
  const replyTo = (line: number, fate: Fate): Reply => {
    calls += 1;
    if (calls === stopsAt) store.put(KEYS.stop, '');
    if (fate !== 'down') seen.add(line);
    if (fate === 'ok' || fate.startsWith('applied')) applied.add(line);
    return REPLIES[fate]?.(applied.has(line)) ?? 'lost';
  };
  /** One invocation, which can die independently of the others. */
  const invoke = (from: BatchState): Promise<BatchState> => {
    let dead = false;
    const alive = async () => {
      await next();
      if (dead) throw new Killed();
    };
    const { crm } = fakeExchange((line) => {
      const fate = fates.shift() ?? 'ok';
      dead = fate.endsWith('dies');
      return replyTo(line, fate);
    });
    const clients = {
      crm: { exchange: async (call: Parameters<typeof crm.exchange>[0]) => between(alive, () => crm.exchange(call)) },
      store: {
        ...store,
        putOnce: (key: string, body: string) => between(alive, () => store.putOnce(key, body)),
        read: (key: string) => between(alive, () => store.read(key)),
      },
    };
    requests += 1;
    const context = lambdaContext({ awsRequestId: `overlapping-${requests}` });
    return applyStep(clients)(from, context);
  };
  return { store, state, applied, seen, invoke };
}

async function between<T>(alive: () => Promise<void>, act: () => Promise<T>): Promise<T> {
  await alive();
  const answer = await act();
  await alive();
  return answer;
}

/** Runs the chunk as the machine does. If a call is repeated, its first answer is lost. */
async function run({ state, invoke }: ReturnType<typeof world>, repeated: boolean[]): Promise<void> {
  const unheard: Promise<BatchState>[] = [];
  const heard = (answer: Promise<BatchState>, before: BatchState) =>
    answer.catch((error: Error) => {
      expect(error.name).toBe('Killed');
      return before;
    });
  let answer = state;
  for (let times = 0; times < 20 && (answer.outcome ?? 'CONTINUE') === 'CONTINUE'; times += 1) {
    if (repeated.shift()) unheard.push(heard(invoke(answer), answer));
    answer = await heard(invoke(answer), answer);
  }
  await Promise.all(unheard);
}

test('however many are at work, and die, every line is reported once, and none otherwise than it was', async () => {
  const fates = fc.array(fc.constantFrom(...CALLS), { maxLength: 40 });
  const repeated = fc.array(fc.boolean(), { maxLength: 6 });
  const records = fc.oneof({ weight: 9, arbitrary: fc.integer({ min: 1, max: 8 }) }, fc.constant(120));
  await fc.assert(
    fc.asyncProperty(
      fc.scheduler(),
      fates,
      repeated,
      records,
      fc.nat(30),
      async (order, sent, twice, most, stopsAt) => {
        const met = world(most, [...sent], () => order.schedule(Promise.resolve()), stopsAt);
        await order.waitFor(run(met, [...twice]));

        expectTruth(await told(met), most, met);
      },
    ),
    { numRuns: runs(200) },
  );
});

test('a chunk that was given up while its function is at work: no line is reported NOT_SENT that it sends', async () => {
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

  const results = await told({ store, state }, () => {
    held.resolve();
    return unheard;
  });
  held.resolve();
  await unheard;

  const applied = results.filter(({ outcome }) => outcome === 'APPLIED').map(({ line }) => line);
  expect(applied).toEqual(sent);
  expect(results.filter(({ outcome }) => outcome === 'NOT_SENT')).toHaveLength(300 - sent.length);
});
