import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { BatchState } from '../../../core/batch/batch-state.ts';
import type { CrmExchange } from '../../../core/crm/crm-client.ts';
import { RunError } from '../../../core/errors.ts';
import { chunkWorld, expectTruth, fakeExchange, KEYS, type Reply, summarised } from '../../support/batches.ts';
import { runs } from '../../support/runs.ts';

/**
 * Any number of invocations of one chunk, at once or one after the other, with any CRM and any bucket. Invocations die,
 * and a person stops the batch. The CRM is truthful in two cases only: a 200 with an object that does not contradict
 * the change proves it, and a refusal of a line that was never changed proves that it was not made.
 */

const REFUSALS = [400, 401, 403, 404, 409, 410, 412, 422, 423, 429, 451];
const MEANINGLESS = [201, 202, 204, 301, 303, 307, 408, 425, 500, 501, 502, 503, 504, 507, 520, 521, 522, 524, 599];
/** Bodies of a 200 that do not confirm the change. */
const BODIES = ['', '<html>Maintenance</html>', '[]', 'null', '"ok"', 'true', '{"id":', '{} {}'];
/** Objects that contradict the change. */
const CONTRADICTIONS = [
  { success: false },
  { id: '7c2f4f0e-6a51-4bb1-8d8e-1f7a4c3d2e99' },
  { data: { city: 'Eilat' } },
  { city: 'Haifa', errors: ['x'] },
];
const DOWN = new RunError('StorageUnavailable', 'Down.');
const NO_CONNECTION = new RunError('CrmUnavailable', 'No connection.');

/** One call: the answer, and whether the change is made. */
interface Call {
  reply: () => Reply;
  applies: boolean;
  /** The invocation dies after the call. */
  dies?: boolean;
}

const CONFIRMED: Call = { reply: () => Response.json({}), applies: true };
const THROTTLED = { status: 429, headers: { 'retry-after': '120' } };

/** An answer that proves nothing: the change may be made or not. */
const unclear = (reply: fc.Arbitrary<() => Reply>) => fc.record({ reply, applies: fc.boolean() });
const refusing = (reply: fc.Arbitrary<() => Reply>) => fc.record({ reply, applies: fc.constant(false) });
const answer: fc.Arbitrary<Call> = fc.oneof(
  { weight: 4, arbitrary: fc.constant(CONFIRMED) },
  refusing(fc.constantFrom(...REFUSALS).map((status) => () => new Response(null, { status }))),
  refusing(fc.constantFrom({ errors: ['x'] }, { error: 'x' }).map((json) => () => Response.json(json))),
  refusing(
    fc.constantFrom(
      () => NO_CONNECTION,
      () => new Response(null, THROTTLED),
    ),
  ),
  unclear(fc.constantFrom(...MEANINGLESS).map((status) => () => new Response(null, { status }))),
  unclear(fc.constantFrom(...BODIES).map((body) => () => new Response(body))),
  unclear(fc.constantFrom(...CONTRADICTIONS).map((json) => () => Response.json(json))),
  unclear(
    fc.constantFrom<() => Reply>(
      () => 'lost',
      () => new Response(brokenOff('{}')),
    ),
  ),
);
const deadly = fc.record({ reply: fc.constant(() => 'lost' as const), applies: fc.boolean(), dies: fc.constant(true) });
const call = fc.oneof({ weight: 9, arbitrary: answer }, deadly);

/** The end of one write. `repeated`: the answer was lost, and the repetition finds the first write. */
const write = fc.constantFrom('ok', 'ok', 'ok', 'ok', 'repeated', 'done, fails', 'fails', 'dies', 'done, dies');

/** An object followed by a broken connection: there may have been more. */
function brokenOff(text: string): ReadableStream<Uint8Array> {
  let sent = false;
  return new ReadableStream({
    pull: (controller) => {
      if (sent) controller.error(new Error('broken off'));
      else controller.enqueue(Buffer.from(text));
      sent = true;
    },
  });
}

class Killed extends Error {
  override name = 'Killed';
}

/** A chunk, its CRM and its bucket. Each operation of an invocation waits for `next`. */
function world(records: number, calls: Call[], writes: string[], stopsAt: number, next: () => Promise<unknown>) {
  const { store, state, step } = chunkWorld(records);
  const applied = new Set<number>();
  const seen = new Set<number>();
  let sent = 0;
  const invoke = (from: BatchState): Promise<BatchState> => {
    let dead = false;
    const alive = async () => {
      await next();
      if (dead) throw new Killed();
    };
    const { crm } = fakeExchange((line) => {
      const { reply, applies, dies = false } = calls.shift() ?? CONFIRMED;
      sent += 1;
      if (sent === stopsAt) store.put(KEYS.stop, '');
      const answered = reply();
      if (answered !== NO_CONNECTION) seen.add(line);
      if (applies) applied.add(line);
      dead ||= dies;
      return answered;
    });
    const exchange: CrmExchange['exchange'] = async (...of) => {
      await alive();
      const answered = await crm.exchange(...of);
      await alive();
      return answered;
    };
    const putOnce = async (key: string, body: string) => {
      await alive();
      const what = writes.shift() ?? 'ok';
      const isDone = what !== 'fails' && what !== 'dies' && (await store.putOnce(key, body));
      dead ||= what.endsWith('dies');
      await alive();
      if (what.endsWith('fails')) throw DOWN;
      return isDone && what !== 'repeated';
    };
    const read = (key: string) => alive().then(() => store.read(key));
    const list = (prefix: string, most?: number) => alive().then(() => store.list(prefix, most));
    return step(from, { crm: { exchange }, store: { ...store, putOnce, read, list } });
  };
  return { store, state, applied, seen, invoke };
}

/** Runs the chunk as the machine does. If a call is repeated, its first answer is lost. */
async function run({ state, invoke }: ReturnType<typeof world>, repeated: boolean[]): Promise<void> {
  const unheard: Promise<BatchState>[] = [];
  const heard = (answered: Promise<BatchState>, before: BatchState) =>
    answered.catch((error: Error) => {
      expect(error.name).toBe('Killed');
      return before;
    });
  let last = state;
  for (let times = 0; times < 30 && (last.outcome ?? 'CONTINUE') === 'CONTINUE'; times += 1) {
    if (repeated.shift()) unheard.push(heard(invoke(last), last));
    last = await heard(invoke(last), last);
  }
  await Promise.all(unheard);
}

test('reports every line once, with its true outcome, for random answers, kills and stops', async () => {
  const records = fc.oneof({ weight: 9, arbitrary: fc.integer({ min: 1, max: 10 }) }, fc.constant(120));
  const happens = fc.record({
    order: fc.scheduler(),
    records,
    calls: fc.array(call, { maxLength: 40 }),
    writes: fc.array(write, { maxLength: 25 }),
    repeated: fc.array(fc.boolean(), { maxLength: 6 }),
    stopsAt: fc.nat(40),
  });
  await fc.assert(
    fc.asyncProperty(happens, async ({ order, calls, writes, repeated, stopsAt, ...of }) => {
      const next = () => order.schedule(Promise.resolve());
      const met = world(of.records, [...calls], [...writes], stopsAt, next);
      await order.waitFor(run(met, [...repeated]));

      expectTruth(await summarised(met), of.records, ({ line }) =>
        met.seen.has(line) ? [{ applied: met.applied.has(line) }] : [],
      );
    }),
    { numRuns: runs(400) },
  );
});
