import { expect, test } from 'vitest';
import { RunError } from '../../../core/errors.ts';
import { asStep } from '../../../core/step/export-run.ts';
import type { RunState } from '../../../core/step/states.ts';
import { publishFile } from '../../../lambdas/publish-file/publish-file.ts';
import { at, composed, lambdaContext, testDeps } from '../../support/deps.ts';
import { FILE_KEY, MANIFEST_KEY, storedRun } from '../../support/stored-run.ts';

const BROKEN = new RunError('StorageUnavailable', 'The connection broke.');
const ROWS = Array.from({ length: 200 }, (_, row) => `${row},"a\nb"\n`);
const TEXT = `id,name\n${ROWS.join('')}`;
const AFTER_THE_DEADLINE = at('2026-11-20T02:00:01Z');

/** A stored run whose bucket breaks a connection behind the chunks that `breaks` names, counted from 1. */
function breaking(breaks: (chunk: number) => boolean) {
  let chunks = 0;
  const { bucket, state } = storedRun(TEXT, {
    chunkBytes: 50,
    streamed: () => {
      chunks += 1;
      if (breaks(chunks)) throw BROKEN;
    },
  });
  const handler = asStep('PublishFile', publishFile, ...composed({ ...testDeps({ now: AFTER_THE_DEADLINE }), bucket }));
  const invoke = (from: RunState) => handler(JSON.parse(JSON.stringify(from)), lambdaContext());
  return { bucket, state, invoke, streams: () => bucket.calls.filter((call) => call === `stream ${FILE_KEY}`).length };
}

const whole = async () => {
  const { bucket, state, invoke } = breaking(() => false);
  await invoke(state);
  return bucket.text(MANIFEST_KEY);
};

test('a connection that breaks is opened again at the byte, in the same invocation', async () => {
  const { bucket, state, invoke, streams } = breaking((chunk) => [3, 50, 60, 61].includes(chunk));

  expect(await invoke(state)).toMatchObject({ outcome: 'PUBLISHED', rows: 200, scan: null });

  expect(bucket.text(MANIFEST_KEY)).toBe(await whole());
  expect(streams()).toBe(2 + 4);
});

test('a bucket that breaks every connection is gone on with by the next invocations, past the deadline too', async () => {
  const { bucket, state: begun, invoke } = breaking((chunk) => chunk > 43 && chunk % 2 === 0);

  const states = [await invoke(begun)];
  for (let calls = 0; calls < 20 && states[0]?.outcome === 'CONTINUE'; calls += 1)
    states.unshift(await invoke(states[0]));

  expect(states[0]).toMatchObject({ outcome: 'PUBLISHED', rows: 200 });
  expect(states.length).toBeGreaterThan(1);
  expect(states.at(-1)).toMatchObject({ outcome: 'CONTINUE', waitSeconds: 30, scan: { handedOn: 1 } });
  expect(bucket.text(MANIFEST_KEY)).toBe(await whole());
});

test('a bucket that breaks off, then gives nothing for an invocation, is gone on with where it broke', async () => {
  let breaks = true;
  let down = false;
  const { bucket, state } = storedRun(TEXT, {
    chunkBytes: 50,
    before: (operation) => {
      if (down && operation === 'stream') throw BROKEN;
    },
    streamed: () => {
      if (breaks && bucket.calls.length > 1) throw BROKEN;
    },
  });
  const handler = asStep('PublishFile', publishFile, ...composed({ ...testDeps({ now: AFTER_THE_DEADLINE }), bucket }));

  const broken = await handler(state, lambdaContext());
  down = true;
  const later = await handler(broken, lambdaContext());
  breaks = false;
  down = false;

  const trouble = { error: 'StorageUnavailable', count: 1 };
  expect(broken).toMatchObject({ outcome: 'CONTINUE', lateTries: 0, scan: { handedOn: 1 }, trouble });
  expect(broken.scan?.offset).toBeGreaterThan(0);
  expect(later).toMatchObject({ outcome: 'CONTINUE', waitSeconds: 30, lateTries: 1, scan: broken.scan });
  expect(await handler(later, lambdaContext())).toMatchObject({ outcome: 'PUBLISHED', rows: 200 });
  expect(bucket.text(MANIFEST_KEY)).toBe(await whole());
});

test('a bucket that breaks off in invocation after invocation is given up some time', async () => {
  const { state, invoke } = breaking((chunk) => chunk > 43);
  const stopped = await invoke(state);

  const scan = stopped.scan && { ...stopped.scan, handedOn: 50 };
  const last = await invoke({ ...stopped, scan, lateTries: 5 });

  expect(last).toMatchObject({ outcome: 'FAILED', failure: { error: 'StorageUnavailable' } });
  expect(last.failure?.cause).toContain('in 50 invocations');
});

test('another object in its place is a conflict, and is not gone on with', async () => {
  const { bucket, state, invoke } = breaking((chunk) => chunk > 43);
  const stopped = await invoke(state);
  bucket.put(FILE_KEY, TEXT.replace('199', '991'));

  expect(await invoke(stopped)).toMatchObject({ outcome: 'FAILED', failure: { error: 'StorageConflict' } });
});

test('the pass of another release, which counts otherwise, is started over', async () => {
  const { bucket, state, invoke } = breaking(() => false);
  const place = { records: 7, irregular: 0, width: 2, fields: 1, quoted: false, opens: true, blank: true };

  expect(await invoke({ ...state, scan: { version: 3, offset: 40, crc32: 1, ...place } as never })).toMatchObject({
    rows: 200,
  });

  expect(bucket.text(MANIFEST_KEY)).toBe(await whole());
});
