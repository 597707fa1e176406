import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { StopExecutionCommand } from '@aws-sdk/client-sfn';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { once } from '../../core/step/step.ts';
import { waitUntil } from '../../local/processes/wait-until.ts';
import { idAt } from '../../sandbox/data/records.ts';
import { runCli } from '../cli/support/run-cli.ts';
import { batchTools, changes } from './support/batches.ts';
import { type Deployed, deployForTests } from './support/deployed.ts';
import { histories, logs, type NamedText, objects } from './support/everything.ts';
import {
  alwaysInTrouble,
  armFaults,
  expectCalls,
  expectFaults,
  neverAnswered,
  passing,
  refusedToken,
  refusedWith,
} from './support/line-faults.ts';
import { killWorkersOf } from './support/workers.ts';

const CANARY = 'canary-u4d71c';
let system: Deployed;
let batches: ReturnType<typeof batchTools>;

beforeAll(async () => {
  system = await deployForTests(
    'customer-updates',
    { customerUpdates: true, updates: { concurrency: 10, maxRate: 1000 } },
    { canary: CANARY, rows: { customers: 200 } },
  );
  batches = batchTools(system);
});

afterAll(() => system?.close());

beforeEach(() => system.sandbox.faults.clear());

const IMMEDIATE = [400, 404, 409, 412, 422, 404, 422].map((status) =>
  refusedWith(status, status === 422 ? { error: { fields: ['city', CANARY], message: CANARY } } : { message: CANARY }),
);
/** Faults that the function waits for, three to a chunk. */
const WAITED_FOR = [
  [passing({ reset: 'after' }), neverAnswered, passing({ answer: { status: 429, headers: { 'retry-after': '1' } } })],
  [passing({ reset: 'before' }), alwaysInTrouble(500), refusedToken],
];
const ALL_FAULTS = WAITED_FOR.flatMap((waitedFor) => [...IMMEDIATE, ...waitedFor]);

/** A batch of 200 lines, of which every tenth meets a fault. The first test that needs it makes it. */
const faulty = once(async () => {
  armFaults(system.sandbox, ALL_FAULTS, 200);
  const since = batches.lastCall();
  return { since, ended: await batches.apply('faults', changes(200, CANARY)) };
});

describe('a batch', () => {
  it('of 200 lines reports the true result of each if every tenth line meets a fault', async () => {
    const { since, ended } = await faulty();

    const results = await batches.results('faults');
    const calls = batches.callsSince(since);
    expectCalls(results, 200, calls);
    expectFaults(results, ALL_FAULTS, calls);
    const { counts } = await batches.manifest('faults');
    expect(counts).toEqual({ APPLIED: 184, REJECTED: 14, FAILED: 0, UNKNOWN: 2, NOT_SENT: 0 });
    expect(ended).toMatchObject({ status: 'FAILED', error: 'UpdatesIncomplete' });
    expect(ended.cause).toContain('Of 200 lines 184 were applied');
    expect(ended.cause).toContain('updates/faults/result.jsonl');
    for (const { fields, status } of results) expect(fields).toEqual(status === 422 ? ['city'] : undefined);
  });

  it('is applied once if it is started twice at the same time', async () => {
    const since = batches.lastCall();
    const key = await batches.upload('twice', changes(20, CANARY));

    const both = await Promise.all(
      [batches.start(key), batches.start(key)].map(async (arn) => batches.ended(await arn)),
    );

    expect(both.map(({ status, error }) => `${status} ${error}`).sort()).toEqual([
      'FAILED UpdateAlreadyStarted',
      'SUCCEEDED ',
    ]);
    for (const sent of batches.callsSince(since).values()) expect(sent).toHaveLength(1);
  });

  it('is reported in full if functions are killed in the middle', async () => {
    const since = batches.lastCall();
    system.sandbox.faults.add({ path: 'update', delaySeconds: 0.02 });
    const arn = await batches.start(await batches.upload('killed', changes(200, CANARY)));
    await waitUntil(async () => [...batches.callsSince(since)].length > 60, { withinMs: 30_000, everyMs: 20 });

    expect(await killWorkersOf(system, 'ApplyChunk')).toBeGreaterThan(0);

    const ended = await batches.ended(arn);
    const results = await batches.results('killed');
    expectCalls(results, 200, batches.callsSince(since));
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

describe('the command update', () => {
  let dir: string;

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'update-command-'));
  });

  afterAll(() => rm(dir, { recursive: true, force: true }));

  const cli = (...args: string[]) => runCli(...args, ...system.place);

  const csvOf = async (name: string, records: number) => {
    const lines = Array.from({ length: records }, (_, n) => `${idAt('customers', n)},${CANARY} ${n},"one\ntwo",\n`);
    await writeFile(join(dir, name), `id,city,notes,email\n${lines.join('')}`);
    return join(dir, name);
  };

  /** How often the CRM applied a change to each customer. */
  const appliedSince = (since: number) =>
    [...batches.callsSince(since).values()]
      .map((calls) => calls.filter(({ applied }) => applied).length)
      .filter((times) => times > 0);

  it('stops at its threshold, resumes the unsent lines, and writes a file of the refused ones', async () => {
    const refused = [1, 2, 3, 4, ...Array.from({ length: 10 }, (_, n) => 10 * n + 25)];
    system.sandbox.faults.add({ path: 'update', calls: refused, answer: { status: 404 } });
    const since = batches.lastCall();
    const stopped = await cli('update', await csvOf('part.csv', 200), '--yes', '--json', '--stop-after-failures', '5');
    const first = JSON.parse(stopped.stdout);
    expect(stopped.code).toBe(1);
    expect(stopped.stderr).toMatch(/UpdatesIncomplete: Of 200 lines \d+ were applied; .*stopped by UpdateStopped/);
    expect(first.ok).toBe(false);
    expect(first.counts.REJECTED).toBeGreaterThanOrEqual(5);
    expect(first.counts.NOT_SENT).toBeGreaterThan(20);

    system.sandbox.faults.clear();
    const resumed = await cli('update', '--resume', first.batch, '--yes', '--json');
    expect(resumed.code, resumed.stderr).toBe(0);
    const second = JSON.parse(resumed.stdout);
    expect(second.counts.APPLIED).toBe(first.counts.NOT_SENT);
    expect(appliedSince(since)).toEqual(Array.from({ length: 200 - first.counts.REJECTED }, () => 1));

    const file = join(dir, 'failed.jsonl');
    const [shown, listed] = await Promise.all([
      cli('update-status', first.batch, '--failed-to', file),
      cli('update-status', '--json'),
    ]);
    expect(shown.code, shown.stderr).toBe(0);
    expect(shown.stdout).toMatch(/UpdatesIncomplete: .*\n {2}\d+ REJECTED: /s);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const text = await readFile(file, 'utf8');
    // The resuming batch has applied the unsent lines.
    expect(text.trimEnd().split('\n')).toHaveLength(first.counts.REJECTED);
    expect(JSON.parse(listed.stdout).batches.slice(0, 2)).toMatchObject([
      { batch: second.batch, status: 'SUCCEEDED', error: null, records: first.counts.NOT_SENT, counts: second.counts },
      { batch: first.batch, status: 'FAILED', error: 'UpdatesIncomplete', records: 200, counts: first.counts },
    ]);
  });

  it('resumes a stopped batch without sending a line that a running function still sends', async () => {
    const since = batches.lastCall();
    system.sandbox.faults.add({ path: 'update', delaySeconds: 0.1 });
    const arn = await batches.start(await batches.upload('stopped', changes(40, CANARY)));
    await waitUntil(async () => batches.callsSince(since).size > 10, { withinMs: 30_000, everyMs: 20 });
    await system.target.sfn.send(new StopExecutionCommand({ executionArn: arn }));

    const resumed = await cli('update', '--resume', 'stopped', '--yes', '--json');

    expect(resumed.code, resumed.stderr).toBe(0);
    expect(JSON.parse(resumed.stdout).batch).toBe('stopped-r2');
    expect(appliedSince(since)).toEqual(Array.from({ length: 40 }, () => 1));
  });
});

describe('values of customers', () => {
  it('appear in no history, log, error or metadata', async () => {
    await faulty();
    const target = { ...system.target, StateMachineArn: system.target.UpdatesStateMachineArn ?? '' };
    const { metadata, files } = await objects(target);
    const children = await batches.childHistories();
    const seen: NamedText[] = [...(await histories(target)), ...children, ...(await logs(system)), ...metadata];
    const results = files.filter(({ name }) => !name.endsWith('/input.jsonl'));

    expect([...seen, ...results].filter(({ text }) => text.includes(CANARY)).map(({ name }) => name)).toEqual([]);
    // The same search finds them in the places for them.
    expect(files.filter(({ name, text }) => name.endsWith('/input.jsonl') && text.includes(CANARY))).not.toEqual([]);
    // Each of both chunks has results and the claim of a part.
    expect(children.length).toBeGreaterThanOrEqual(2);
    expect(results.length).toBeGreaterThanOrEqual(4);
  });
});
