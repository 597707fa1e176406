import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ResultLine } from '../../lambdas/shared/updates/result-line.ts';
import { waitUntil } from '../../local/wait-until.ts';
import type { FaultInput } from '../../sandbox/fault-schema.ts';
import { batchTools, changes } from './support/batches.ts';
import { type Deployed, deployForTests } from './support/deployed.ts';
import { histories, logs, objects, type Place } from './support/everything.ts';
import { killWorkersOf } from './support/workers.ts';

const CANARY = 'canary-u4d71c';
let system: Deployed;
let batches: ReturnType<typeof batchTools>;

beforeAll(async () => {
  system = await deployForTests(
    { customerUpdates: true, updates: { concurrency: 10, maxRate: 1000 } },
    { canary: CANARY, rows: { customers: 1000 } },
  );
  batches = batchTools(system);
});

afterAll(() => system?.close());

beforeEach(() => system.sandbox.faults.clear());

/** What becomes of every tenth call, kind after kind. */
const FAULTS: Omit<FaultInput, 'path' | 'calls'>[] = [
  { answer: { status: 500, body: { error: CANARY } } },
  { answer: { status: 503, headers: { 'retry-after': '1' } } },
  { answer: { status: 429, headers: { 'retry-after': '1' } } },
  { answer: { status: 502 } },
  { answer: { status: 400, body: CANARY } },
  { answer: { status: 404, body: { error: { code: 'not_found', message: CANARY } } } },
  { answer: { status: 409 } },
  { answer: { status: 412 } },
  { answer: { status: 422, body: { error: { fields: ['city', CANARY], message: CANARY } } } },
  { reset: 'before' },
  { reset: 'after' },
];

function armFaults(calls: number): void {
  FAULTS.forEach((fault, kind) => {
    const numbers = Array.from({ length: calls }, (_, index) => index + 1);
    const hit = numbers.filter((n) => n % 10 === 5 && Math.floor(n / 10) % FAULTS.length === kind);
    system.sandbox.faults.add({ path: 'update', calls: hit, ...fault } as FaultInput);
  });
  system.sandbox.faults.add({ path: 'update', calls: [303, 909], answer: { status: 401 } });
}

/** Every line of the input once, in order; and what the ledger of the service says about each. */
function expectTruth(results: ResultLine[], lines: number, calls: ReturnType<typeof batches.callsSince>): void {
  expect(results.map(({ line }) => line)).toEqual(Array.from({ length: lines }, (_, index) => index + 1));
  for (const { id, outcome, attempts, line } of results) {
    const sent = calls.get(id) ?? [];
    const applied = sent.some((call) => call.applied);
    if (outcome === 'APPLIED') expect(applied, `line ${line}`).toBe(true);
    if (outcome === 'REJECTED' || outcome === 'FAILED') expect(applied, `line ${line}`).toBe(false);
    if (outcome === 'NOT_SENT') expect(sent, `line ${line}`).toEqual([]);
    if (outcome !== 'UNKNOWN') expect(sent.length, `line ${line}`).toBeGreaterThanOrEqual(attempts);
  }
}

const countOf = (results: ResultLine[], outcome: string) =>
  results.filter((result) => result.outcome === outcome).length;

describe('a batch', () => {
  it('is applied line by line, from nothing but the key of its file', async () => {
    const since = batches.lastCall();

    const ended = await batches.apply('all-well', changes(250, CANARY));

    expect(ended).toEqual({ status: 'SUCCEEDED', error: '', cause: '' });
    expectTruth(await batches.results('all-well'), 250, batches.callsSince(since));
    expect(await batches.manifest('all-well')).toMatchObject({
      chunks: 3,
      counts: { APPLIED: 250, REJECTED: 0, FAILED: 0, UNKNOWN: 0, NOT_SENT: 0 },
      stoppedBy: null,
      input: { records: 250, lines: 250 },
    });
  });

  it('of 1,000 lines tells the truth about each when a tenth of the calls goes wrong in every way', async () => {
    armFaults(1300);
    const since = batches.lastCall();

    const ended = await batches.apply('faults', changes(1000, CANARY));

    const results = await batches.results('faults');
    expectTruth(results, 1000, batches.callsSince(since));
    const { counts } = await batches.manifest('faults');
    expect(ended).toMatchObject({ status: 'FAILED', error: 'UpdatesIncomplete' });
    expect(ended.cause).toContain(`Of 1000 lines ${counts.APPLIED} were applied`);
    expect(ended.cause).toContain('updates/faults/result.jsonl');
    expect(counts.APPLIED).toBe(countOf(results, 'APPLIED'));
    expect(counts.APPLIED).toBeGreaterThan(900);
    // Others are there by chance: three faults in a row.
    const statuses = new Set(results.map(({ status }) => status));
    expect([...statuses]).toEqual(expect.arrayContaining([200, 400, 404, 409, 412, 422]));
    const named = results.filter(({ status }) => status === 422);
    expect(named.length).toBeGreaterThan(5);
    for (const { fields } of named) expect(fields).toEqual(['city']);
    // A lost answer was asked for again.
    expect(results.filter(({ attempts, outcome }) => attempts > 1 && outcome === 'APPLIED').length).toBeGreaterThan(30);
  });

  it('whose answers are all lost is UNKNOWN, though it was applied', async () => {
    system.sandbox.faults.add({ path: 'update', reset: 'after' });

    await batches.apply('lost', changes(1, CANARY));

    const results = await batches.results('lost');
    expect(results.map(({ outcome, attempts, status }) => [outcome, attempts, status])).toEqual([['UNKNOWN', 3, null]]);
  });

  it('that is started twice at once is applied once', async () => {
    const since = batches.lastCall();
    const key = await batches.upload('twice', changes(200, CANARY));

    const both = await Promise.all(
      [batches.start(key), batches.start(key)].map(async (arn) => batches.ended(await arn)),
    );

    expect(both.map(({ status, error }) => `${status} ${error}`).sort()).toEqual([
      'FAILED UpdateAlreadyStarted',
      'SUCCEEDED ',
    ]);
    for (const sent of batches.callsSince(since).values()) expect(sent).toHaveLength(1);
  });

  it('stops at its threshold, and says of the rest that it was not sent', async () => {
    system.sandbox.faults.add({ path: 'update', answer: { status: 404 } });
    const since = batches.lastCall();

    const ended = await batches.apply('threshold', changes(400, CANARY), { stopAfterFailures: 5 });

    const results = await batches.results('threshold');
    expectTruth(results, 400, batches.callsSince(since));
    // Four chunks send at the same time: each may have had one line under way.
    expect(countOf(results, 'REJECTED')).toBeGreaterThanOrEqual(5);
    expect(countOf(results, 'REJECTED')).toBeLessThanOrEqual(5 + 4);
    expect(countOf(results, 'NOT_SENT')).toBe(400 - countOf(results, 'REJECTED'));
    expect(ended.cause).toContain('It was stopped by UpdateStopped: 5 lines were not applied');
  });

  it('without the scope stops at once and names it', async () => {
    system.sandbox.faults.add({ path: 'update', answer: { status: 403 } });

    const ended = await batches.apply('forbidden', changes(300, CANARY));

    const results = await batches.results('forbidden');
    expect(countOf(results, 'FAILED')).toBeLessThanOrEqual(3);
    expect(countOf(results, 'FAILED') + countOf(results, 'NOT_SENT')).toBe(300);
    expect(ended.cause).toContain('AuthRefused');
    expect(ended.cause).toContain('"customers:update"');
  });

  it('is told in full when functions are killed in the middle', async () => {
    const since = batches.lastCall();
    system.sandbox.faults.add({ path: 'update', delaySeconds: 0.02 });
    const arn = await batches.start(await batches.upload('killed', changes(400, CANARY)));
    await waitUntil(async () => [...batches.callsSince(since)].length > 60, { withinMs: 30_000, everyMs: 20 });

    expect(await killWorkersOf(system.cloud, 'ApplyChunk')).toBeGreaterThan(0);

    const ended = await batches.ended(arn);
    const results = await batches.results('killed');
    expectTruth(results, 400, batches.callsSince(since));
    expect(ended).toMatchObject({ status: 'FAILED', error: 'UpdatesIncomplete' });
    expect(countOf(results, 'UNKNOWN')).toBeGreaterThan(0);
  });
});

describe('nothing is sent', () => {
  it('of a file with one wrong line', async () => {
    const since = batches.lastCall();
    const wrong = changes(200, CANARY).replace('"smoker":true', `"smoker":"${CANARY}"`);

    const ended = await batches.apply('wrong-line', wrong);

    expect(ended).toMatchObject({ status: 'FAILED', error: 'UpdateFileInvalid' });
    expect(ended.cause).toContain(
      'has one problem in 200 lines. The first is on line 1: "smoker" must be true or false',
    );
    expect(batches.callsSince(since).size).toBe(0);
  });

  it.each([
    [{}],
    [[1]],
    ['updates/x/input.jsonl'],
    [{ file: 'updates/../secret' }],
    [{ file: 'updates/absent/input.jsonl' }],
  ])('for the input %j, and the cause has an example to paste', async (input) => {
    const ended = await batches.ended(await batches.startRaw(input));

    expect(ended).toMatchObject({ status: 'FAILED', error: 'InvalidInput' });
    expect(ended.cause).toContain('{"file":"updates/BATCH/input.jsonl"}');
  });
});

describe('what stays out of sight', () => {
  it('finds no value of a customer in any history, log, error or metadata', async () => {
    const target = { ...system.target, StateMachineArn: system.target.UpdatesStateMachineArn ?? '' };
    const { metadata, files } = await objects(target);
    const children = await batches.childHistories();
    const seen: Place[] = [...(await histories(target)), ...children, ...(await logs(system)), ...metadata];
    const results = files.filter(({ name }) => !name.endsWith('/input.jsonl'));

    expect([...seen, ...results].filter(({ text }) => text.includes(CANARY)).map(({ name }) => name)).toEqual([]);
    // The same search finds them where they belong.
    expect(
      files.filter(({ name, text }) => name.endsWith('/input.jsonl') && text.includes(CANARY)).length,
    ).toBeGreaterThan(6);
    expect(children.length).toBeGreaterThan(20);
    expect(results.length).toBeGreaterThan(20);
  });
});
