import { createHash } from 'node:crypto';
import { expect } from 'vitest';
import {
  type BatchManifest,
  noCounts,
  parsePart,
  type ResultLine,
  resultLineSchema,
} from '../../core/batch/batch-results.ts';
import {
  asBatchStep,
  type Batch,
  type BatchState,
  batchStateSchema,
  type Chunk,
} from '../../core/batch/batch-state.ts';
import { keysOf } from '../../core/batch/batch-store.ts';
import { chunksText } from '../../core/batch/validate-updates.ts';
import { meaningOf, readAnswer } from '../../core/crm/answers.ts';
import type { CrmCall } from '../../core/crm/call.ts';
import type { CrmExchange } from '../../core/crm/crm-client.ts';
import { RunError } from '../../core/errors.ts';
import { wholeAnswer } from '../../core/http/whole-answer.ts';
import { MACHINE_VERSION } from '../../core/step/steps.ts';
import type { UploadBucket } from '../../core/storage/upload.ts';
import { applyChunk } from '../../lambdas/apply-chunk/apply-chunk.ts';
import { summarizeBatch } from '../../lambdas/summarize-batch/summarize-batch.ts';
import { CANARY, STARTED_AT } from './builders.ts';
import { composed, lambdaContext, NOW, testDeps } from './deps.ts';
import { type FakeBucket, fakeBucket } from './fake-bucket.ts';

export const KEYS = keysOf('b1');

export const idOf = (line: number) => `00000000-0000-4000-8000-${String(line).padStart(12, '0')}`;

/** An input with the given number of records. Each record contains the canary as a name. */
export function inputOf(records: number): string {
  const lines = Array.from({ length: records }, (_, index) => ({
    id: idOf(index + 1),
    firstName: CANARY,
    city: 'Haifa',
  }));
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('');
}

type FakeBucketOptions = NonNullable<Parameters<typeof fakeBucket>[0]>;

export function etagOf(bytes: string | Buffer): string {
  return `"${createHash('md5').update(bytes).digest('hex')}"`;
}

export function batch(input: string, overrides: Partial<Batch> = {}): Batch {
  const records = input.split('\n').filter((line) => line.trim() !== '').length;
  return {
    schemaVersion: 1,
    batch: 'b1',
    inputKey: KEYS.input,
    etag: etagOf(input),
    bytes: Buffer.byteLength(input),
    crc32: 'AAAAAA==',
    lines: records,
    records,
    chunks: 1,
    chunksKey: KEYS.chunks,
    maxRate: 1000,
    chunkRate: 1000,
    stopAfterFailures: null,
    keptUntil: '2026-12-20',
    softwareVersion: '0.1.0',
    warnings: [],
    ...overrides,
  };
}

export function wholeChunk(input: string): Chunk {
  const { bytes, records } = batch(input);
  return { chunk: 1, from: 0, to: bytes, firstLine: 1, lastLine: records, records };
}

export const batchManifest = (overrides: object = {}): BatchManifest => ({
  schemaVersion: 1,
  batch: 'b1',
  execution: 'b1-abc',
  input: { key: KEYS.input, bytes: 1, crc32: 'AAAAAA==', lines: 1, records: 1 },
  result: { key: KEYS.result, bytes: 1, crc32: 'AAAAAA==' },
  chunks: 1,
  counts: { ...noCounts(), APPLIED: 1 },
  stoppedBy: null,
  maxRate: 20,
  stopAfterFailures: null,
  startedAt: '2026-11-20T02:00:00.000Z',
  finishedAt: '2026-11-20T02:00:10.000Z',
  keptUntil: '2026-12-20',
  softwareVersion: '0.1.0',
  warnings: [],
  ...overrides,
});

export function batchState(overrides: Partial<BatchState> = {}): BatchState {
  return batchStateSchema.parse({
    ...{ machineVersion: MACHINE_VERSION, input: {}, execution: 'b1-abc', startedAt: STARTED_AT },
    ...overrides,
  });
}

let invocations = 0;

/** A batch with one chunk that covers its whole input, the CRM and the bucket. */
export function chunkWorld(
  records: number,
  reply?: Parameters<typeof fakeExchange>[0],
  { change = {}, before, scope }: { change?: Partial<Batch>; scope?: string } & Pick<FakeBucketOptions, 'before'> = {},
) {
  const input = inputOf(records);
  const chunk = wholeChunk(input);
  const objects = { [KEYS.input]: input, [KEYS.chunks]: chunksText([chunk]) };
  const store = fakeBucket({ objects, ...(before && { before }) });
  const { crm, sent } = fakeExchange(reply, scope);
  const stateWith = (more: Partial<Batch> = {}, others: Partial<BatchState> = {}) =>
    batchState({ batch: batch(input, { ...change, ...more }), chunk, ...others });
  /** Invokes the deployed function, with these clients in place of its own. */
  const step = (state = stateWith(), clients: Partial<{ crm: CrmExchange; store: UploadBucket }> = {}) => {
    invocations += 1;
    const deps = { ...sleepingDeps(), crm, store, ...clients };
    const handler = asBatchStep('ApplyChunk', applyChunk, ...composed(deps));
    return handler(state, lambdaContext({ awsRequestId: `request-${invocations}` }));
  };
  return {
    ...{ store, crm, sent, stateWith, state: stateWith(), step },
    invoke: (state = stateWith(), deps = sleepingDeps()) => applyChunk(state, { ...deps, crm, store }),
    /** Invokes the function as the machine does. */
    run: async (state = stateWith(), clients: Parameters<typeof step>[1] = {}) => {
      let answer = await step(state, clients);
      for (let times = 1; answer.outcome === 'CONTINUE' && times < 200; times += 1)
        answer = await step(answer, clients);
      return answer;
    },
  };
}

/** Expects one result per line, in order, and a true one by the calls for the line that the CRM received. */
export function expectTruth(
  results: ResultLine[],
  records: number,
  callsFor: (result: ResultLine) => { applied?: boolean }[],
): void {
  expect(results.map(({ line }) => line)).toEqual(Array.from({ length: records }, (_, index) => index + 1));
  for (const result of results) {
    const { line, outcome } = result;
    const calls = callsFor(result);
    const applied = calls.some((call) => call.applied);
    if (outcome === 'APPLIED') expect(applied, `line ${line}`).toBe(true);
    if (outcome === 'REJECTED' || outcome === 'FAILED') expect(applied, `line ${line}`).toBe(false);
    if (outcome === 'NOT_SENT') expect(calls, `line ${line}`).toEqual([]);
  }
}

/** The CRM's reaction to a call: a status, a response, a response that rules out a retry, or no answer. */
export type Reply = number | Response | { response: Response; trouble: RunError } | 'lost' | Error;

/** A CRM with the given answer to each update; `sent` lists the lines in the order of arrival. */
export function fakeExchange(
  reply: (line: number, nth: number, call: CrmCall) => Reply = () => 200,
  scope = 'openid customers:update',
) {
  const sent: number[] = [];
  const times = new Map<number, number>();
  const crm: CrmExchange = {
    exchange: async (call) => {
      if (call.secondsLeft && call.secondsLeft() < 35) throw new RunError('TokenRefreshInProgress', 'No time.');
      const line = Number(call.id?.slice(-12));
      sent.push(line);
      times.set(line, (times.get(line) ?? 0) + 1);
      const answer = reply(line, times.get(line) ?? 0, call);
      if (answer instanceof Error) {
        sent.pop();
        times.set(line, (times.get(line) ?? 1) - 1);
        throw answer;
      }
      const token = { accessToken: CANARY, scope };
      if (answer === 'lost') {
        const error = new RunError('CrmUnavailable', 'PATCH /customers/{id} got no answer.');
        return { answer: undefined, outcome: 'unknown', error, token };
      }
      const { response, trouble } = repliedBy(answer, call);
      const whole = await wholeAnswer(async () => response, { milliseconds: 60_000, bytes: 1_000_000 });
      const read = readAnswer(whole, { call, accessToken: CANARY }, `/customers/${call.id}`);
      const { outcome, error } = meaningOf({ call, answer: read, scope }, new Date(NOW));
      return { answer: read, outcome, error: trouble ?? error, token };
    },
  };
  return { crm, sent };
}

/** The response to an update. A 200 with the record confirms a change. */
function repliedBy(
  answer: Exclude<Reply, 'lost' | Error>,
  { id }: CrmCall,
): { response: Response; trouble?: RunError } {
  if (answer instanceof Response) return { response: answer };
  if (typeof answer !== 'number') return answer;
  const done = answer === 200;
  return { response: done ? Response.json({ id }) : new Response(null, { status: answer }) };
}

/** Dependencies with a clock that advances only during sleeps. `seconds` are left to the invocation at its start. */
export function sleepingDeps(seconds = 900) {
  const begin = Date.parse(NOW);
  let time = begin;
  invocations += 1;
  return {
    ...testDeps(),
    requestId: `request-of-${invocations}`,
    now: () => new Date(time),
    random: () => 0,
    secondsLeft: () => seconds - (time - begin) / 1000,
    sleep: async (milliseconds: number) => {
      time += milliseconds;
    },
    slept: () => (time - begin) / 1000,
  };
}

export function resultsIn(store: FakeBucket, chunk = 1): ResultLine[] {
  const parts = store.keys().filter((key) => key.startsWith(KEYS.chunkOf(chunk)) && key.endsWith('.jsonl'));
  return parts.flatMap((key) => parsePart(store.text(key) ?? '').results);
}

export async function summarised({ store, state }: { store: FakeBucket; state: BatchState }): Promise<ResultLine[]> {
  const summary = asBatchStep('SummarizeBatch', summarizeBatch, ...composed({ ...sleepingDeps(), store }));
  let { awaited, failure } = await summary({ ...state, chunk: null }, lambdaContext());
  // The summary waits for the longest duration of a function.
  if (awaited) ({ failure } = await summary({ ...state, chunk: null, awaited }, lambdaContext()));
  const result = store.text(KEYS.result);
  if (result === undefined) throw new Error(`no result: ${failure?.cause}`);
  const lines = result.trimEnd().split('\n');
  return lines.map((line) => resultLineSchema.parse(JSON.parse(line)));
}
