import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { LineOutcome } from '../../core/batch/batch-results.ts';
import { once } from '../../core/step/step.ts';
import type { AnyStepName } from '../../core/step/steps.ts';
import { idAt } from '../../sandbox/data/records.ts';
import type { FaultInput } from '../../sandbox/faults.ts';
import { expectTruth } from '../support/batches.ts';
import { eventually } from '../support/project.ts';
import { batchTools, changes } from './support/batches.ts';
import { type Deployed, deployForTests } from './support/deployed.ts';
import { histories, logs, type NamedText, objects } from './support/everything.ts';

const CANARY = 'canary-u4d71c';
/** One chunk and a part of another. */
const LINES = 120;
/** Longer than the test: a call with this delay waits until its fault is cleared. */
const LONG = 1000;
let system: Deployed;
let batches: ReturnType<typeof batchTools>;

beforeAll(async () => {
  system = await deployForTests(
    'customer-updates',
    { customerUpdates: true, updates: { concurrency: 10, maxRate: 1000 } },
    { canary: CANARY, rows: { customers: LINES } },
  );
  batches = batchTools(system);
});

afterAll(() => system?.close());

beforeEach(() => system.sandbox.faults.clear());

type Fault = [outcome: LineOutcome, effect: Omit<FaultInput, 'path' | 'customers'>];

const error = { fields: ['city', CANARY], message: CANARY };
const REFUSALS = [400, 404, 409, 412, 422].map((status): Fault => {
  return ['REJECTED', { answer: { status, body: status === 422 ? { error } : { message: CANARY } } }];
});
/** A fault for every tenth line, in order, and the outcome of the line. */
const FAULTS: Fault[] = [
  ...REFUSALS,
  ['APPLIED', { calls: [1], reset: 'after' }],
  ['APPLIED', { calls: [1], answer: { status: 429, headers: { 'retry-after': '1' } } }],
  ['APPLIED', { calls: [1], answer: { status: 401 } }],
];
const isFaulty = ({ line }: { line: number }) => line % 10 === 5 && line < 10 * FAULTS.length;

/** A batch of two chunks, whose first lines meet faults. The first test that needs it makes it. */
const faulty = once(async () => {
  for (const [index, [, effect]] of FAULTS.entries())
    system.sandbox.faults.add({ path: 'update', customers: [idAt('customers', 10 * index + 4)], ...effect });
  const since = batches.lastCall();
  return { since, ended: await batches.apply('faults', changes(LINES, CANARY)) };
});

describe('a batch', () => {
  it('reports the true result of each line if some lines meet a fault', async () => {
    const { since, ended } = await faulty();

    const results = await batches.results('faults');
    const calls = batches.callsSince(since);
    expectTruth(results, LINES, ({ id }) => calls.get(id) ?? []);
    expect(results.filter(isFaulty).map(({ outcome }) => outcome)).toEqual(FAULTS.map(([outcome]) => outcome));
    const others = results.filter((result) => !isFaulty(result));
    expect(others.filter(({ id, outcome }) => outcome !== 'APPLIED' || calls.get(id)?.length !== 1)).toEqual([]);
    const { counts } = await batches.manifest('faults');
    expect(counts).toEqual({ APPLIED: LINES - 5, REJECTED: 5, FAILED: 0, UNKNOWN: 0, NOT_SENT: 0 });
    expect(ended).toMatchObject({ status: 'FAILED', error: 'UpdatesIncomplete' });
    expect(ended.cause).toContain(`Lines applied: ${LINES - 5} of ${LINES}`);
    expect(ended.cause).toContain('updates/faults/result.jsonl');
    for (const { fields, status } of results) expect(fields).toEqual(status === 422 ? ['city'] : undefined);
  });

  it('stops at its threshold of refused lines, and reports the others as not sent', async () => {
    system.sandbox.faults.add({ path: 'update', answer: { status: 404 } });

    const ended = await batches.apply('threshold', changes(LINES, CANARY), { stopAfterFailures: 5 });

    expect(ended).toMatchObject({ status: 'FAILED', error: 'UpdatesIncomplete' });
    const { counts } = await batches.manifest('threshold');
    expect(counts.REJECTED).toBeGreaterThanOrEqual(5);
    expect(counts.NOT_SENT).toBeGreaterThan(20);
  });

  it('is reported in full if functions are killed in the middle', async () => {
    const since = batches.lastCall();
    // A line in the middle of each chunk.
    const middle: [string, string] = [idAt('customers', 50), idAt('customers', 110)];
    system.sandbox.faults.add({ path: 'update', customers: middle, delaySeconds: LONG });
    const arn = await batches.start(await batches.upload('killed', changes(LINES, CANARY)));
    await eventually(() => middle.every((id) => batches.callsSince(since).has(id)));

    expect(await killWorkersOf(system, 'ApplyChunk')).toBeGreaterThan(0);
    system.sandbox.faults.clear();

    const ended = await batches.ended(arn);
    const results = await batches.results('killed');
    const calls = batches.callsSince(since);
    expectTruth(results, LINES, ({ id }) => calls.get(id) ?? []);
    expect(ended).toMatchObject({ status: 'FAILED', error: 'UpdatesIncomplete' });
    expect(results.map(({ outcome }) => outcome)).toContain('UNKNOWN');
  });
});

// The right to list the bucket tells a missing file from a forbidden one.
it('a batch without a stored file sends nothing, and its error has an example to paste', async () => {
  const ended = await batches.ended(await batches.start('updates/absent/input.jsonl'));

  expect(ended).toMatchObject({ status: 'FAILED', error: 'InvalidInput' });
  expect(ended.cause).toContain('{"file":"updates/BATCH/input.jsonl"}');
});

it('values of customers appear in no history, log, error or metadata', async () => {
  await faulty();
  const { metadata, files } = await objects(system.target);
  const seen: NamedText[] = [...(await histories(system.target)), ...(await logs(system.target)), ...metadata];
  const results = files.filter(({ name }) => !name.endsWith('/input.jsonl'));

  expect([...seen, ...results].filter(({ text }) => text.includes(CANARY)).map(({ name }) => name)).toEqual([]);
  // The same search finds them in the places for them.
  expect(files.filter(({ name, text }) => name.endsWith('/input.jsonl') && text.includes(CANARY))).not.toEqual([]);
  // Each of both chunks has results and the claim of a part.
  expect(seen.filter(({ name }) => name.includes('/ApplyChunks:')).length).toBeGreaterThanOrEqual(2);
  expect(results.length).toBeGreaterThanOrEqual(4);
});

/** Kills the processes in which the local cloud runs a function of a deployment. Returns their number. Linux only. */
async function killWorkersOf({ cloud, target }: Deployed, step: AnyStepName): Promise<number> {
  const processes = readdirSync('/proc').map(Number).filter(Number.isInteger);
  const workers = processes.filter(
    (pid) => parentOf(pid) === cloud.pid && runsFunction(pid, `${target.stack}-${step}`),
  );
  for (const pid of workers) process.kill(pid, 'SIGKILL');
  return workers.length;
}

function parentOf(pid: number): number {
  return Number(/^PPid:\s+(\d+)$/m.exec(textOf(`/proc/${pid}/status`))?.[1]);
}

function runsFunction(pid: number, name: string): boolean {
  return textOf(`/proc/${pid}/environ`).split('\0').includes(`AWS_LAMBDA_FUNCTION_NAME=${name}`);
}

/** A process may end while its file is read. */
function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
