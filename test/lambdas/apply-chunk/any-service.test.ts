import * as fc from 'fast-check';
import { test } from 'vitest';
import { RunError } from '../../../core/errors.ts';
import { applyStep, expectTruth, fakeExchange, KEYS, type Reply, told, wholeBatch } from '../../support/batches.ts';
import { lambdaContext } from '../../support/deps.ts';
import { runs } from '../../support/runs.ts';

/**
 * Tests any CRM that is truthful in two cases. A 200 with an object that does not contradict the change proves it. A
 * refusal (4xx, or only an error) of a line that was never changed proves that it was not made. Other answers prove
 * nothing.
 */

const TRUE_REFUSALS = [400, 401, 403, 404, 409, 410, 412, 422, 429, 451] as const;
const MEANINGLESS = [
  201, 202, 204, 301, 303, 307, 408, 425, 500, 501, 502, 503, 504, 507, 520, 521, 522, 524, 525, 599,
] as const;
/** Bodies of a 200 that do not confirm the change. */
const BODIES = ['', '<html>Maintenance</html>', '[]', 'null', '"ok"', 'true', '{"id":', '{} {}'] as const;

/** Objects that contradict the change. */
const CONTRADICTIONS = [
  { success: false },
  { id: '7c2f4f0e-6a51-4bb1-8d8e-1f7a4c3d2e99' },
  { data: { city: 'Eilat' } },
  { city: 'Haifa', errors: ['x'] },
] as const;

/** One call: its answer, and whether the change is made if the answer does not tell. */
const fate = fc.oneof(
  fc.constant({ kind: 'confirmed' } as const),
  fc.record({ kind: fc.constant('refused' as const), status: fc.constantFrom(...TRUE_REFUSALS) }),
  fc.record({ kind: fc.constant('status' as const), status: fc.constantFrom(...MEANINGLESS), applies: fc.boolean() }),
  fc.record({ kind: fc.constant('page' as const), body: fc.constantFrom(...BODIES), applies: fc.boolean() }),
  fc.record({
    kind: fc.constant('contradicted' as const),
    json: fc.constantFrom(...CONTRADICTIONS),
    applies: fc.boolean(),
  }),
  fc.record({ kind: fc.constant('refusedBody' as const), json: fc.constantFrom({ errors: ['x'] }, { error: 'x' }) }),
  fc.record({ kind: fc.constant('cut' as const), applies: fc.boolean() }),
  fc.record({ kind: fc.constant('lost' as const), applies: fc.boolean() }),
  fc.constant({ kind: 'down' } as const),
);
type Fate = typeof fate extends fc.Arbitrary<infer F> ? F : never;

function replyFor(what: Fate): Reply {
  if (what.kind === 'confirmed') return Response.json({});
  if (what.kind === 'contradicted' || what.kind === 'refusedBody') return Response.json(what.json);
  if (what.kind === 'page') return new Response(what.body);
  if (what.kind === 'cut') return new Response(brokenOff('{}'));
  if (what.kind === 'lost') return 'lost';
  if (what.kind === 'down') return new RunError('CrmUnavailable', 'No connection.');
  return new Response(null, { status: what.status });
}

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

/** Applies a chunk with as many invocations as are plausible. A person may stop it. */
async function sentTo(records: number, fates: Fate[], stopsAt: number) {
  const { store, state } = wholeBatch(records);
  const applied = new Set<number>();
  const seen = new Set<number>();
  const { crm } = fakeExchange((line) => {
    const what = fates.shift() ?? { kind: 'down' };
    if (what.kind !== 'down') seen.add(line);
    if (what.kind === 'confirmed' || ('applies' in what && what.applies)) applied.add(line);
    return replyFor(what);
  });
  const step = applyStep({ crm, store });
  let answer = await step(state, lambdaContext());
  for (let times = 1; answer.outcome === 'CONTINUE' && times < 15; times += 1) {
    if (times === stopsAt) store.put(KEYS.stop, '');
    answer = await step(answer, lambdaContext({ awsRequestId: `service-${times}` }));
  }
  return { results: await told({ store, state }), applied, seen };
}

test('whatever a CRM does, no line is reported otherwise than it is there', async () => {
  const fates = fc.array(fate, { minLength: 1, maxLength: 40 });
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 8 }), fates, fc.nat(15), async (records, happens, stopsAt) => {
      const { results, ...met } = await sentTo(records, [...happens], stopsAt);

      expectTruth(results, records, met);
    }),
    { numRuns: runs(200) },
  );
});
