import { crc32 } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import {
  batchManifestSchema,
  type ResultLine,
  resultLineSchema,
  resultLineText,
} from '../../../core/batch/batch-results.ts';
import { chunksText } from '../../../core/batch/validate-updates.ts';
import { RunError } from '../../../core/errors.ts';
import { summarizeBatch } from '../../../lambdas/summarize-batch/summarize-batch.ts';
import { crc32Text } from '../../../transfer/base/crc32.ts';
import { batch, batchState, chunkWorld, idOf, inputOf, KEYS } from '../../support/batches.ts';
import { CANARY } from '../../support/builders.ts';
import { NOW, testDeps } from '../../support/deps.ts';
import { failureOf } from '../../support/failures.ts';
import { fakeBucket } from '../../support/fake-bucket.ts';
import { expectTexts } from '../../support/screen.ts';

const applied = (line: number, more: Partial<ResultLine> = {}): string =>
  resultLineText({
    line,
    id: idOf(line),
    outcome: 'APPLIED',
    error: null,
    status: 200,
    attempts: 1,
    at: `2026-11-20T01:1${line % 10}:00.000Z`,
    ...more,
  });

/** Six lines in two chunks of three. */
function world(parts: Record<string, string>, options: { writtenAt?: Date | undefined } = {}) {
  const input = inputOf(6);
  const half = input.length / 2;
  const chunks = [
    { chunk: 1, from: 0, to: half, firstLine: 1, lastLine: 3, records: 3 },
    { chunk: 2, from: half, to: input.length, firstLine: 4, lastLine: 6, records: 3 },
  ];
  const objects = { [KEYS.input]: input, [KEYS.chunks]: chunksText(chunks), ...parts };
  const store = fakeBucket({ objects, ...options });
  const state = batchState({ batch: batch(input, { chunks: 2 }) });
  const results = () =>
    (store.text(KEYS.result) ?? '')
      .trimEnd()
      .split('\n')
      .map((line) => resultLineSchema.parse(JSON.parse(line)));
  const manifest = () => batchManifestSchema.parse(JSON.parse(store.text(KEYS.manifest) ?? ''));
  const summarize = (more: object = {}) => summarizeBatch({ ...state, ...more }, { ...testDeps(), store });
  return { store, results, manifest, summarize };
}

const ALL = {
  [KEYS.part(2, 1)]: applied(4) + applied(5) + applied(6),
  [KEYS.part(1, 2)]: applied(3),
  [KEYS.part(1, 1)]: applied(1) + applied(2),
  [KEYS.claim(1, 1)]: '{"doubt":{"firstLine":1,"records":100}}',
};

test('SUMMARIZED with result and manifest if every line was applied', async () => {
  const { store, results, manifest, summarize } = world(ALL);

  const answer = await summarize();

  expect(answer).toMatchObject({ outcome: 'SUMMARIZED', resultKey: KEYS.result, manifestKey: KEYS.manifest });
  expect(results().map(({ line }) => line)).toEqual([1, 2, 3, 4, 5, 6]);
  const text = store.text(KEYS.result) ?? '';
  expect(manifest()).toMatchObject({
    execution: 'b1-abc',
    input: { key: KEYS.input, records: 6 },
    result: { key: KEYS.result, bytes: text.length, crc32: crc32Text(crc32(text)) },
    counts: { APPLIED: 6, REJECTED: 0, FAILED: 0, UNKNOWN: 0, NOT_SENT: 0 },
    stoppedBy: null,
    finishedAt: '2026-11-20T01:16:00.000Z',
  });
  expect(text + store.text(KEYS.manifest)).not.toContain(CANARY);
});

test('writes the same bytes and answers the same when it is repeated', async () => {
  const { store, summarize } = world(ALL);
  const first = await summarize();
  const before = [store.text(KEYS.result), store.text(KEYS.manifest)];

  expect(await summarize()).toEqual(first);
  expect([store.text(KEYS.result), store.text(KEYS.manifest)]).toEqual(before);
});

test('reports lines without a result as NOT_SENT, or UNKNOWN if a function died in them', async () => {
  const { results, manifest, summarize } = world({
    [KEYS.part(1, 1)]: applied(1, { outcome: 'REJECTED', error: 'CrmRejectedRequest', status: 404 }),
    [KEYS.claim(1, 1)]: '{"doubt":{"firstLine":1,"records":100}}',
    // Line 2 was never started: line 3 of the index has no claim. A dead function held two lines of chunk 2.
    [KEYS.claim(2, 1)]: '{"doubt":{"firstLine":4,"records":2}}',
  });

  const error = await failureOf(summarize({ awaited: true }), 'UpdatesIncomplete');

  expect(results().map(({ outcome, error: name }) => [outcome, name])).toEqual([
    ['REJECTED', 'CrmRejectedRequest'],
    ['NOT_SENT', 'UpdateStopped'],
    ['NOT_SENT', 'UpdateStopped'],
    ['UNKNOWN', 'StepCrashed'],
    ['UNKNOWN', 'StepCrashed'],
    ['NOT_SENT', 'UpdateStopped'],
  ]);
  expect(manifest().counts).toEqual({ APPLIED: 0, REJECTED: 1, FAILED: 0, UNKNOWN: 2, NOT_SENT: 3 });
  expect(error.message).toBe('Lines applied: 0 of 6; 1 REJECTED, 2 UNKNOWN, 3 NOT_SENT. See updates/b1/result.jsonl.');
});

test('names the reason that stopped the batch', async () => {
  const stop = JSON.stringify({ reason: 'AuthRefused', sentence: 'PATCH was answered 403.' });
  const writtenAt = new Date('2026-11-20T01:11:00Z');
  const { results, manifest, summarize } = world({ [KEYS.part(1, 1)]: applied(1), [KEYS.stop]: stop }, { writtenAt });

  const error = await failureOf(summarize(), 'UpdatesIncomplete');

  await expectTexts('batch-incomplete', [['a batch that a 403 stopped', error.message]]);
  expect(manifest().stoppedBy).toEqual({ reason: 'AuthRefused: PATCH was answered 403.', at: writtenAt.toISOString() });
  expect(
    results()
      .slice(1)
      .map(({ error: name }) => name),
  ).toEqual(Array(5).fill('AuthRefused'));
});

test('reports lines in doubt by the last known answer', async () => {
  const doubt = { firstLine: 2, records: 2, tries: { attempts: 2, lost: false, status: 403, error: 'RateLimited' } };
  const lost = { firstLine: 4, records: 1, tries: { attempts: 1, lost: true, status: null } };
  const { results, summarize } = world({
    [KEYS.part(1, 1)]: `${applied(1)}{"doubt":${JSON.stringify(doubt)}}\n`,
    [KEYS.part(2, 1)]: `{"doubt":${JSON.stringify(lost)}}\n`,
    [KEYS.stop]: JSON.stringify({ reason: 'CrmUnavailable', sentence: 'Down.', at: '2026-11-20T01:11:00.000Z' }),
  });

  await failureOf(summarize(), 'UpdatesIncomplete');

  expect(results().map(({ outcome, error, status, attempts }) => [outcome, error, status, attempts])).toEqual([
    ['APPLIED', null, 200, 1],
    ['FAILED', 'RateLimited', 403, 2],
    ['UNKNOWN', 'StepCrashed', null, 0],
    ['UNKNOWN', 'CrmUnavailable', null, 1],
    ['NOT_SENT', 'CrmUnavailable', null, 0],
    ['NOT_SENT', 'CrmUnavailable', null, 0],
  ]);
});

test('reports a line that an earlier release left waiting without blaming a right', async () => {
  const doubt = { firstLine: 2, records: 1, tries: { attempts: 2, lost: false, status: 429 } };
  const { results, summarize } = world({ [KEYS.part(1, 1)]: `${applied(1)}{"doubt":${JSON.stringify(doubt)}}\n` });

  await failureOf(summarize(), 'UpdatesIncomplete');

  expect(results()[1]).toMatchObject({ outcome: 'FAILED', error: 'CrmUnavailable', status: 429, attempts: 2 });
});

const AT_WORK = { outcome: 'CONTINUE', awaited: true, waits: 0, waitSeconds: 900 };

test('if the map failed, stops and awaits the running functions, and names its error but not its cause', async () => {
  const { store, results, manifest, summarize } = world({ [KEYS.part(1, 1)]: applied(1) });
  const crash = { Error: 'States.ItemReaderFailed', Cause: CANARY };

  expect(await summarize({ crash })).toEqual(AT_WORK);
  expect(JSON.parse(store.text(KEYS.stop) ?? '')).toMatchObject({ reason: 'StepCrashed' });
  expect(store.keys()).not.toContain(KEYS.result);
  const error = await failureOf(summarize({ crash, awaited: true }), 'UpdatesIncomplete');

  const sentence = 'StepCrashed: The state ApplyChunks ended with States.ItemReaderFailed.';
  expect(error.message).toContain(sentence);
  expect(manifest().stoppedBy?.reason).toBe(sentence);
  expect(results()[5]).toMatchObject({ outcome: 'NOT_SENT', error: 'StepCrashed' });
  expect(error.message + JSON.stringify(manifest())).not.toContain(CANARY);
});

describe('a chunk whose function may still be running', () => {
  const claimed = { [KEYS.part(1, 1)]: applied(1), [KEYS.claim(1, 2)]: '{"doubt":{"firstLine":2,"records":100}}' };

  test.each<[what: string, parts: Record<string, string>, writtenAt?: Date]>([
    ['a claim without its results', claimed],
    ['a claim as old as a function can be', claimed, new Date(Date.parse(NOW) - 960_000)],
    [
      'a claim that another function has closed',
      { ...ALL, ...claimed, [KEYS.part(1, 2)]: '{"doubt":{"firstLine":2,"records":100,"tries":null}}\n' },
    ],
  ])('%s: raises the stop flag and waits once before it reports', async (_, parts, writtenAt) => {
    const { store, summarize } = world(parts, { writtenAt });

    expect(await summarize()).toEqual(AT_WORK);

    expect(JSON.parse(store.text(KEYS.stop) ?? '')).toMatchObject({ reason: 'UpdateStopped' });
    expect(store.keys()).not.toContain(KEYS.result);
    await failureOf(summarize({ awaited: true }), 'UpdatesIncomplete');
  });

  test('reports no stop if all lines were applied in the meantime', async () => {
    const { store, manifest, summarize } = world({
      ...ALL,
      [KEYS.claim(1, 3)]: '{"doubt":{"firstLine":4,"records":100}}',
    });

    expect(await summarize()).toEqual(AT_WORK);

    expect(await summarize({ awaited: true })).toMatchObject({ outcome: 'SUMMARIZED' });
    expect(store.keys()).toContain(KEYS.stop);
    expect(manifest().stoppedBy).toBeNull();
  });

  test('does not wait for a function that inherited doubtful lines and sent none', async () => {
    const { store, state, invoke } = chunkWorld(3, () => new RunError('CrmUnavailable', 'Down.'));
    store.put(KEYS.claim(1, 1), '{"doubt":{"firstLine":1,"records":100},"by":"dead"}');
    const longAgo = new Date(Date.parse(NOW) - 961_000);
    const list: typeof store.list = async (prefix) =>
      (await store.list(prefix)).map((object) =>
        object.key === KEYS.claim(1, 1) ? { ...object, at: longAgo } : object,
      );
    await failureOf(invoke(), 'CrmUnavailable');

    const summarizing = summarizeBatch(state, { ...testDeps(), store: { ...store, list } });
    await failureOf(summarizing, 'UpdatesIncomplete');
  });

  test.each<[what: string, parts: Record<string, string>, writtenAt?: Date]>([
    ['the claim is older than a function lives', claimed, new Date(Date.parse(NOW) - 961_000)],
    [
      'its function handed on its own line',
      {
        ...claimed,
        [KEYS.part(1, 2)]: '{"doubt":{"firstLine":2,"records":1,"tries":{"attempts":1,"lost":true,"status":500}}}\n',
      },
    ],
    ['its function sent nothing and recorded that', { ...claimed, [KEYS.part(1, 2)]: '' }],
  ])('does not wait if %s', async (_, parts, writtenAt) => {
    const { store, summarize } = world(parts, { writtenAt });

    await failureOf(summarize(), 'UpdatesIncomplete');

    expect(store.keys()).not.toContain(KEYS.stop);
  });
});

test('keeps the result that an earlier attempt wrote, and describes it in the manifest', async () => {
  const { store, results, manifest, summarize } = world({ [KEYS.part(1, 1)]: applied(1) });
  const { putOnce } = store;
  store.putOnce = async (key, body) => {
    if (key === KEYS.manifest) throw new RunError('StorageUnavailable', 'Down.');
    return putOnce(key, body);
  };
  await failureOf(summarize(), 'StorageUnavailable');
  store.putOnce = putOnce;
  store.put(KEYS.part(1, 2), applied(2) + applied(3));
  store.put(KEYS.stop, '');

  const error = await failureOf(summarize(), 'UpdatesIncomplete');

  expect(error.message).toContain('Lines applied: 1 of 6; 5 NOT_SENT');
  expect(results().map(({ outcome }) => outcome)).toEqual(['APPLIED', ...Array(5).fill('NOT_SENT')]);
  const text = store.text(KEYS.result) ?? '';
  expect(manifest()).toMatchObject({
    result: { bytes: text.length, crc32: crc32Text(crc32(text)) },
    counts: { APPLIED: 1, NOT_SENT: 5 },
  });
});

test('keeps the manifest that an earlier attempt wrote, even if the stop flag was raised since', async () => {
  const { store, summarize } = world({ [KEYS.part(1, 1)]: applied(1) });
  await failureOf(summarize(), 'UpdatesIncomplete');
  store.put(KEYS.stop, '');

  await failureOf(summarize(), 'UpdatesIncomplete');
});

test.each<[what: string, change: Record<string, string>]>([
  ['an input that was changed', { [KEYS.input]: inputOf(7) }],
  ['a result of another customer', { [KEYS.part(1, 2)]: applied(3, { id: idOf(9) }) }],
  ['a part that is not valid results', { [KEYS.part(1, 2)]: `{"x":"${CANARY}"}\n` }],
  ['another result in its place', { [KEYS.result]: 'other' }],
  ['a text of one long line in its place', { [KEYS.result]: 'x'.repeat(2_000_000) }],
  ['a result of fewer lines in its place', { [KEYS.result]: applied(1) }],
  ['another manifest in its place', { [KEYS.manifest]: 'other' }],
])('%s ends in StorageConflict', async (_, change) => {
  await failureOf(world({ ...ALL, ...change }).summarize(), 'StorageConflict');
});
