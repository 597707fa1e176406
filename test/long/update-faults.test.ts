import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { waitUntil } from '../../local/processes/wait-until.ts';
import { batchTools, changes, type Ended } from '../e2e/support/batches.ts';
import { type Deployed, deployForTests } from '../e2e/support/deployed.ts';
import {
  alwaysInTrouble,
  armFaults,
  countOf,
  expectCalls,
  expectFaults,
  faultOf,
  type LineFault,
  neverAnswered,
  once,
  refusedToken,
  refusedWith,
} from '../e2e/support/line-faults.ts';
import { killWorkersOf } from '../e2e/support/workers.ts';

/** Tests each kind of fault alone, at a tenth of the lines of a batch. CI uses fewer lines. */
const LINES = process.env.CI ? 200 : 1000;
const FAULTY = LINES / 10;
const CANARY = 'canary-u8f20b';

let system: Deployed;
let batches: ReturnType<typeof batchTools>;

beforeAll(async () => {
  const updates = { concurrency: 10, maxRate: 1000 };
  system = await deployForTests(
    'update-faults',
    { customerUpdates: true, updates },
    { canary: CANARY, rows: { customers: LINES } },
  );
  batches = batchTools(system);
}, 180_000);

afterAll(() => system?.close(), 60_000);

beforeEach(() => system.sandbox.faults.clear());

/** Applies a batch in which a tenth of the lines meet the faults, and compares its result with the CRM's ledger. */
async function apply(batch: string, faults: LineFault[], drive: (file: string) => Promise<Ended> = toItsEnd) {
  armFaults(system.sandbox, faults, LINES);
  const since = batches.lastCall();
  const ended = await drive(await batches.upload(batch, changes(LINES, CANARY)));
  const results = await batches.results(batch);
  const calls = batches.callsSince(since);
  expectCalls(results, LINES, calls);
  const { counts } = await batches.manifest(batch);
  for (const outcome of ['APPLIED', 'REJECTED', 'FAILED', 'UNKNOWN', 'NOT_SENT'] as const)
    expect(counts[outcome]).toBe(countOf(results, outcome));
  expect(JSON.stringify(results)).not.toContain(CANARY);
  expect(ended.cause).not.toContain(CANARY);
  return { ended, results, calls, counts };
}

async function toItsEnd(file: string): Promise<Ended> {
  return batches.ended(await batches.start(file));
}

const nine = (fault: LineFault) => Array.from({ length: 9 }, () => fault);
/** The change is made, but the answer does not confirm it. */
const unclear = (status: number) => ({ done: true as const, answer: { status, body: `<html>${CANARY}</html>` } });
const asked = (status: number) => once({ answer: { status, headers: { 'retry-after': '1' } } });
const notFound = [refusedWith(404, { error: { message: CANARY } })];

const told: [what: string, batch: string, faults: LineFault[]][] = [
  [
    'lost answers, for one line in ten on every try',
    'answers-lost',
    [...nine(once({ reset: 'after' })), neverAnswered],
  ],
  [
    'unclear answers after the change was made, for one line in ten on every try',
    'pages',
    [500, 502, 504, 200, 204, 503, 520, 500, 200]
      .map((status) => once(unclear(status)))
      .concat({
        effect: unclear(200),
        outcome: 'UNKNOWN',
        status: 200,
        attempts: 3,
      }),
  ],
  ['connections that break before the change is made', 'requests-lost', [once({ reset: 'before' })]],
  [
    '5xx, for one line in ten on every try',
    '5xx',
    [500, 502, 503, 504, 500, 502, 503, 504, 500]
      .map((status) => once({ answer: { status, body: CANARY } }))
      .concat(alwaysInTrouble(500)),
  ],
  ['429 with a Retry-After', '429', [asked(429)]],
  // This fault comes before any refresh: with a new token, a line that is refused with 403 would be sent once more.
  ['single 403', '403', [{ ...refusedWith(403), outcome: 'FAILED' }]],
  ['401, solved by a fresh token', '401', [refusedToken]],
  ['404', '404', notFound],
  ['409 and 412', '409-412', [refusedWith(409), refusedWith(412)]],
  ['422', '422', [refusedWith(422, { error: { fields: ['city', CANARY], message: CANARY } })]],
];

it.each(told)(`${LINES} lines, a tenth of them with %s, get their true results`, async (_, batch, faults) => {
  const { results, calls, ended } = await apply(batch, faults);

  expectFaults(results, faults, calls);
  for (const { fields, status } of results) expect(fields).toEqual(status === 422 ? ['city'] : undefined);
  const failed = results.some(({ outcome }) => outcome !== 'APPLIED');
  expect(ended).toMatchObject(
    failed ? { status: 'FAILED', error: 'UpdatesIncomplete' } : { status: 'SUCCEEDED', error: '' },
  );
});

it(`a batch of ${LINES} lines stops at the first 401 to a fresh token`, async () => {
  const faults: LineFault[] = [{ effect: { answer: { status: 401 } }, outcome: 'FAILED', status: 401, attempts: 1 }];

  const { results, counts, ended } = await apply('401-always', faults);

  // Each of ten chunks may have had one line in progress.
  expect(counts.FAILED).toBeGreaterThanOrEqual(1);
  expect(counts.FAILED).toBeLessThanOrEqual(10);
  expect(counts.NOT_SENT).toBe(LINES - counts.FAILED - (counts.APPLIED ?? 0));
  expect(counts.NOT_SENT).toBeGreaterThan(LINES / 2);
  for (const { outcome, line } of results) if (outcome === 'FAILED') expect(faultOf(line, faults)).toBeDefined();
  expect(ended).toMatchObject({ status: 'FAILED', error: 'UpdatesIncomplete' });
  expect(ended.cause).toContain('AuthRefused');
  expect(ended.cause).toContain('the second time with a fresh token');
});

it(`${LINES} lines, a tenth of them with 404, are sent once if the batch is started twice at once`, async () => {
  const { results, calls } = await apply('twice', notFound, async (file) => {
    const both = await Promise.all([toItsEnd(file), toItsEnd(file)]);
    expect(both.map(({ error }) => error).sort()).toEqual(['UpdateAlreadyStarted', 'UpdatesIncomplete']);
    return both[0].error === 'UpdatesIncomplete' ? both[0] : both[1];
  });

  expectFaults(results, notFound, calls);
});

it(`${LINES} lines, a tenth of them with 404, are all reported if functions are killed in the middle`, async () => {
  system.sandbox.faults.add({ path: 'update', delaySeconds: 0.02 });
  const since = batches.lastCall();

  const { ended, counts } = await apply('killed', notFound, async (file) => {
    const arn = await batches.start(file);
    const many = () => Promise.resolve(batches.callsSince(since).size > FAULTY);
    await waitUntil(many, { withinMs: 30_000, everyMs: 20 });
    expect(await killWorkersOf(system, 'ApplyChunk')).toBeGreaterThan(0);
    return batches.ended(arn);
  });

  expect(ended).toMatchObject({ status: 'FAILED', error: 'UpdatesIncomplete' });
  expect(counts.UNKNOWN).toBeGreaterThan(0);
});
