import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { expect } from 'vitest';
import { storeGrant } from '../../../cli/access/store-grant.ts';
import { TO_RESUME } from '../../../core/batch/failed-lines.ts';
import { createGrantStore } from '../../../core/oauth/grant.ts';
import { createLedger } from '../../../core/oauth/ledger.ts';
import type { Execution } from '../../lib/support/interpreter.ts';
import type { Scenario } from '../calls.ts';
import { type Fault, losesGrant, type Row } from '../predictions.ts';
import { isOfStore, type Request } from './call-names.ts';
import { expectNoCanary, expectReadable, expectSameFile, expectWrittenOnce, fedBy, resultsOf } from './checks.ts';
import type { Answer } from './front.ts';
import { batch, IDS, STORIES, type Story, worldOf } from './scenarios.ts';
import { CANARY, type Intercepted, type Meet, type World } from './world.ts';

/** Longer than any claim or pause of the grant. */
const LATER_MS = 6 * 3_600_000;
const TABLE = 'tables/entity=leads/date=2026-11-20/leads.parquet';
/** Faults that lose the answer of a create: the run requests a second export. */
const UNANSWERED: Fault[] = ['lost before', 'lost after', 'cut', 'garbage'];

/** Runs an execution in which a call meets its fault, and compares the result with the prediction and the promises. */
export async function runRow(row: Row): Promise<void> {
  const well = await fedWell(row.scenario);
  const world = await worldOf(row.scenario);
  try {
    world.meet = meeting(row);
    const ended = await STORIES[row.scenario].execute(world);
    expect(world.met).toContainEqual({ step: row.step, call: row.call });
    expect(endOf(ended), `${ended.cause} ${world.crashes.map(stackOf)}`).toBe(row.end);
    expectWrittenOnce(world);
    expectCreates(world, row);
    expectSpentOnce(world, row);
    world.meet = undefined;
    world.time.time += LATER_MS;
    await (row.scenario.endsWith('batch') ? expectAllApplied : expectPublished)(world, row, ended);
    expect(fedBy(world)).toEqual(well);
    expectNoCanary(world);
  } finally {
    await world.stop();
  }
}

function endOf({ status, error }: Execution): string {
  return status === 'SUCCEEDED' ? 'well' : String(error);
}

function stackOf(error: unknown): string {
  return error instanceof Error ? String(error.stack) : String(error);
}

const createsOf = (world: World) => world.sandbox.ledger.count({ kind: 'create' });

/** Expects at most one surplus export, and only if a create's result is unknown. */
function expectCreates(world: World, { kind, fault }: Row): void {
  expect(createsOf(world)).toBeLessThanOrEqual(kind === 'create' && UNANSWERED.includes(fault) ? 2 : 1);
}

/** Expects that a refresh token is sent again only after a lost answer. */
function expectSpentOnce({ sandbox }: World, row: Row): void {
  const reused = sandbox.ledger.calls({ kind: 'token' }).filter(({ reuse }) => reuse);
  if (!losesGrant(row)) expect(reused).toEqual([]);
  expect(sandbox.ledger.violations().length).toBe(reused.length);
}

/**
 * Expects that no file is lost: readers have the run or an earlier file, and a person's action after a failure
 * publishes the run.
 */
async function expectPublished(world: World, row: Row, ended: Execution): Promise<void> {
  const { again, publishes } = STORIES[row.scenario];
  const before = createsOf(world);
  let last = 'night-2';
  if (ended.status !== 'SUCCEEDED') {
    expectReadable(world);
    last = losesGrant(row) ? await authorized(world, again) : 'night-3';
    const ended = await again?.(world, last);
    expect(ended?.status, ended?.cause).toBe('SUCCEEDED');
  }
  expect(expectReadable(world)).toBe(publishes ?? last);
  // A recorded export is not requested again.
  if (row.step !== 'CreateExport') expect(createsOf(world)).toBe(before);
  if (row.scenario === 'table') expect(world.store.keys()).toContain(TABLE);
  if (!publishes) expectSameFile(world, last, 'night-0');
}

const fed = new Map<Scenario, ReturnType<typeof fedBy>>();

/** The feeds after the scenario without a fault. Virtual time allows one world: this one ends before the faulty one. */
async function fedWell(scenario: Scenario): Promise<ReturnType<typeof fedBy>> {
  if (scenario !== 'changes' && scenario !== 'large feed') return undefined;
  const known = fed.get(scenario);
  if (known) return known;
  const world = await worldOf(scenario);
  await STORIES[scenario].execute(world);
  const well = fedBy(world);
  await world.stop();
  fed.set(scenario, well);
  return well;
}

/** Repeats an execution that requires authorization, after a person has authorized. @returns the name of the next */
async function authorized(world: World, again: Story['again']): Promise<string> {
  expect(await again?.(world, 'night-3')).toMatchObject({ error: 'ReauthorizationRequired' });
  await authorize(world);
  return 'night-4';
}

/** Expects a true result for every line. The next batch applies the lines that were not applied. */
async function expectAllApplied(world: World, row: Row, ended: Execution): Promise<void> {
  const results = resultsOf(world, 'b1');
  if (ended.status === 'SUCCEEDED') expect(results?.get('APPLIED')).toEqual(IDS);
  const left = results ? TO_RESUME.flatMap((outcome) => results.get(String(outcome)) ?? []) : IDS;
  world.sandbox.faults.clear();
  if (losesGrant(row)) await authorize(world);
  if (left.length > 0) expect(endOf(await batch(world, 'b2', left))).toBe('well');
  const applied = new Set(
    world.sandbox.ledger.calls({ kind: 'update' }).flatMap(({ applied, customerId }) => (applied ? [customerId] : [])),
  );
  expect(applied.size).toBe(IDS.length - (results?.get('REJECTED')?.length ?? 0));
}

/** Authorizes again as a person does. */
async function authorize({ time, newTokens }: World): Promise<void> {
  const store = createGrantStore(new SecretsManagerClient(), 'tokens');
  const ledger = createLedger(new DynamoDBClient(), 'ledger', 'tokens');
  await time.run(storeGrant(newTokens(3600), { store, ledger }));
}

/** A delay that is shorter than every time limit of a client. */
const SLOW_MS = 2_000;

function meeting({ step, call, fault, span }: Row): Meet {
  return async (met, died) => {
    const hit = met.step === step && met.call === call && (span === 'always' || met.nth === 1);
    if (hit) await MEET[fault](met, died);
    else met.answer(await met.done());
  };
}

const MEET: Record<Fault, Meet> = {
  refused: async ({ answer, request, call }) => answer(refusal(request, call)),
  throttled: async ({ answer, request }) => answer(throttle(request)),
  'lost before': async () => undefined,
  'lost after': async ({ done }) => {
    await done();
  },
  cut: async ({ done, cut }) => cut(await done()),
  garbage: async ({ done, answer }) => {
    await done();
    answer({ status: 200, headers: { 'content-type': 'text/html' }, body: Buffer.from(`<html>${CANARY}</html>`) });
  },
  slow: async ({ wait, done, answer }) => {
    await wait(SLOW_MS);
    answer(await done());
  },
  'died before': async (_, died) => died(),
  'died after': async ({ done }, died) => {
    await done();
    died();
  },
};

function refusal(request: Request, call: Intercepted['call']): Answer {
  if (request.headers['x-amz-target']) return amazon('AccessDeniedException');
  if (isOfStore(request)) return xml(403, 'AccessDenied');
  if (call === 'refresh the grant') return json(401, { error: 'invalid_client', error_description: CANARY });
  return json(403, { error: { message: CANARY } });
}

function throttle(request: Request): Answer {
  if (request.headers['x-amz-target']) return amazon('ThrottlingException');
  return isOfStore(request) ? xml(503, 'SlowDown') : json(429, { error: CANARY }, { 'retry-after': '7' });
}

function amazon(type: string): Answer {
  const headers = { 'content-type': 'application/x-amz-json-1.1' };
  return { status: 400, headers, body: Buffer.from(JSON.stringify({ __type: type, message: CANARY })) };
}

function xml(status: number, code: string): Answer {
  const body = `<?xml version="1.0"?><Error><Code>${code}</Code><Message>${CANARY}</Message></Error>`;
  return { status, headers: { 'content-type': 'application/xml' }, body: Buffer.from(body) };
}

function json(status: number, value: object, headers = {}): Answer {
  return {
    status,
    headers: { 'content-type': 'application/json', ...headers },
    body: Buffer.from(JSON.stringify(value)),
  };
}
