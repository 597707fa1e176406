import { expect, it } from 'vitest';
import { type Batch, type BatchState, type Chunk, chunkSchema } from '../../core/batch/batch-state.ts';
import { applyChunk } from '../../lambdas/apply-chunk/apply-chunk.ts';
import { summarizeBatch } from '../../lambdas/summarize-batch/summarize-batch.ts';
import { validateBatch } from '../../lambdas/validate-batch/validate-batch.ts';
import { batchState, fakeExchange, inputOf, KEYS, sleepingDeps } from '../support/batches.ts';
import { deployment } from '../support/builders.ts';
import { testDeps } from '../support/deps.ts';
import { fakeBucket } from '../support/fake-bucket.ts';

/** CI uses fewer lines. */
const LINES = process.env.CI ? 20_000 : 100_000;
/** The largest number of parallel children in a configuration. */
const AT_ONCE = 40;
/** The size limit in bytes of a state, and of the answers of a Map's children before they are discarded. */
const STATE_BYTES = 262_144;

const bytesOf = (value: unknown) => Buffer.byteLength(JSON.stringify(value));

it(`${LINES} lines in ${AT_ONCE} chunks at once are each sent once and reported, with small states`, async () => {
  const store = fakeBucket({ objects: { [KEYS.input]: inputOf(LINES) } });
  const service = fakeExchange();
  const common = {
    ...testDeps({ deployment: deployment({ customerUpdates: true }) }),
    store,
    softwareVersion: '1.2.3',
  };

  const validated = await validateBatch(batchState({ input: { file: KEYS.input } }), common);
  const batch = validated.batch as Batch;
  const chunks = (store.text(KEYS.chunks) ?? '')
    .trimEnd()
    .split('\n')
    .map((line) => chunkSchema.parse(JSON.parse(line)));
  const states: number[] = [bytesOf(validated)];
  const waiting = [...chunks];
  const child = async (chunk: Chunk) => {
    let state: BatchState = batchState({ batch, chunk });
    for (;;) {
      const answer = await applyChunk(state, { ...sleepingDeps(), crm: service.crm, store });
      state = { ...state, ...answer };
      states.push(bytesOf(state));
      if (answer.outcome === 'FINISHED') return;
    }
  };
  const worker = async () => {
    for (let chunk = waiting.shift(); chunk; chunk = waiting.shift()) await child(chunk);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  const summarized = await summarizeBatch(batchState({ batch }), common);

  expect(chunks.length).toBeLessThanOrEqual(1000);
  expect(bytesOf(chunks.map(({ chunk }) => ({ chunk })))).toBeLessThan(STATE_BYTES);
  expect(Math.max(...states)).toBeLessThan(4096);
  expect(new Set(service.sent).size).toBe(LINES);
  expect(service.sent).toHaveLength(LINES);
  const results = (store.text(KEYS.result) ?? '').trimEnd().split('\n');
  expect(results.map((line) => JSON.parse(line).line)).toEqual(Array.from({ length: LINES }, (_, at) => at + 1));
  expect(summarized).toMatchObject({ outcome: 'SUMMARIZED' });
  expect(JSON.parse(store.text(KEYS.manifest) ?? '{}').counts).toMatchObject({ APPLIED: LINES, NOT_SENT: 0 });
});
