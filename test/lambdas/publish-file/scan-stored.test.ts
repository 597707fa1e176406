import fc from 'fast-check';
import { expect, test } from 'vitest';
import { asStep } from '../../../core/step/export-run.ts';
import type { RunState } from '../../../core/step/states.ts';
import { publishFile } from '../../../lambdas/publish-file/publish-file.ts';
import { composed, lambdaContext, testDeps } from '../../support/deps.ts';
import { failureOf } from '../../support/failures.ts';
import { fakeBucket } from '../../support/fake-bucket.ts';
import { anyWidth, FILE_KEY, MANIFEST_KEY, publish, SMALL_CSV, storedRun } from '../../support/stored-run.ts';

test('a pass that runs out of time answers CONTINUE, at least one piece further', async () => {
  const { bucket, state } = storedRun(SMALL_CSV, { chunkBytes: 10 });

  const answer = await publish(bucket, state, { secondsLeft: () => 1 });

  expect(answer).toMatchObject({ outcome: 'CONTINUE', waitSeconds: 1, scan: { offset: 10 } });
  expect(bucket.keys()).toEqual([FILE_KEY]);
});

test('every pass says how many bytes it has read, how fast, and what bound it', async () => {
  const { bucket, state } = storedRun(SMALL_CSV, { chunkBytes: 10 });
  let seconds = 0;
  const now = () => {
    seconds += 1;
    return new Date(Date.parse('2026-11-20T01:10:00Z') + seconds * 1000);
  };
  const deps = testDeps({ deployment: anyWidth(), now, secondsLeft: () => 1 });

  await publishFile(state, { ...deps, bucket });

  const read = deps.log.lines.find(({ message }) => message === 'read')?.fields;
  expect(read).toMatchObject({ key: FILE_KEY, bytes: 10, cpuUsed: 0, boundBy: 'network', memoryMB: 512 });
});

test('a pass in pieces ends in the same manifest as one in one go, wherever it was interrupted', async () => {
  const text = 'id,name\n1,"a ""quoted""\r\nline"\n2,"ש,ת"\n3\n';
  const whole = storedRun(text);
  const deps = testDeps({ deployment: anyWidth() });
  await publish(whole.bucket, whole.state, deps);

  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 50 }), fc.infiniteStream(fc.boolean()), async (chunkBytes, hurried) => {
      const { bucket, state: begun } = storedRun(text, { chunkBytes });
      const secondsLeft = () => (hurried.next().value ? 1 : 900);
      const handler = asStep('PublishFile', publishFile, ...composed({ ...deps, bucket }));

      let state = begun;
      for (let calls = 0; calls < 100 && state.outcome !== 'PUBLISHED'; calls += 1) {
        const carried = JSON.parse(JSON.stringify(state)) as RunState;
        state = await handler(carried, lambdaContext({ getRemainingTimeInMillis: () => secondsLeft() * 1000 }));
      }

      expect(state).toMatchObject({ outcome: 'PUBLISHED', scan: null, rows: 3 });
      expect(bucket.text(MANIFEST_KEY)).toBe(whole.bucket.text(MANIFEST_KEY));
    }),
    { numRuns: 60 },
  );
});

test.each([
  ['another content of the same size', SMALL_CSV.replace('1', '9')],
  ['less than was received', SMALL_CSV.slice(0, -1)],
  ['more than was received', `${SMALL_CSV}3,x\n`],
  ['nothing', ''],
])('an object that has %s is a conflict, and nothing is published', async (_, standing) => {
  const { bucket, state } = storedRun();
  bucket.put(FILE_KEY, standing);

  await failureOf(publish(bucket, state), 'StorageConflict');

  expect(bucket.keys()).toEqual([FILE_KEY]);
});

test('an object that is gone is a conflict', async () => {
  const error = await failureOf(publish(fakeBucket(), storedRun().state), 'StorageConflict');

  expect(error.message).toContain('is gone');
});
