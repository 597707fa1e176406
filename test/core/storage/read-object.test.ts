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

/** A stored run in a bucket that breaks a connection after the chunks that `breaks` selects, counted from 1. */
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

test('continues in the same invocation after a broken connection', async () => {
  const { bucket, state, invoke, streams } = breaking((chunk) => [3, 30, 31, 32].includes(chunk));

  expect(await invoke(state)).toMatchObject({ outcome: 'PUBLISHED', rows: 200 });

  expect(bucket.text(MANIFEST_KEY)).toBe(await whole());
  expect(streams()).toBe(1 + 4);
});

test('the next invocation reads the file again if every connection breaks', async () => {
  const { bucket, state, invoke } = breaking((chunk) => chunk > 10 && chunk < 17);

  const broken = await invoke(state);

  const trouble = { error: 'StorageUnavailable', count: 1 };
  expect(broken).toMatchObject({ outcome: 'CONTINUE', waitSeconds: 30, lateTries: 1, trouble });
  let last = broken;
  for (let calls = 0; calls < 4 && last.outcome === 'CONTINUE'; calls += 1) last = await invoke(last);
  expect(last).toMatchObject({ outcome: 'PUBLISHED', rows: 200 });
  expect(bucket.text(MANIFEST_KEY)).toBe(await whole());
});

test('a file that is replaced between two connections is a conflict, and is not read on', async () => {
  const { bucket, state, invoke, streams } = breaking((chunk) => {
    if (chunk === 3) bucket.put(FILE_KEY, TEXT.toUpperCase());
    return chunk === 3;
  });

  const { outcome, failure } = await invoke(state);

  expect([outcome, failure?.error, failure?.cause]).toEqual([
    'FAILED',
    'StorageConflict',
    expect.stringContaining('is another'),
  ]);
  expect(streams()).toBe(2);
});
