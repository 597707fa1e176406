import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { RunError } from '../../../core/errors.ts';
import { failureOf } from '../../support/failures.ts';
import { failing } from '../../support/fake-bucket.ts';
import { FILE_KEY, publish, SMALL_CSV, storedRun } from '../../support/stored-run.ts';
import { zipWith } from '../../support/zip.ts';

describe.each([
  ['gzip', gzipSync(SMALL_CSV)],
  ['zip', zipWith('leads.csv', SMALL_CSV)],
])('a file in %s', (_, bytes) => {
  test('is published with its row count', async () => {
    const { bucket, state } = storedRun(bytes, { chunkBytes: 7 });

    expect(await publish(bucket, state)).toMatchObject({ outcome: 'PUBLISHED', rows: 2 });
  });

  test('ends in StorageConflict if the stored bytes differ from the received ones', async () => {
    const { bucket, state } = storedRun(bytes);
    const others = Buffer.from(bytes);
    others[others.length - 30] = (others[others.length - 30] ?? 0) ^ 1;
    bucket.put(FILE_KEY, others);

    await failureOf(publish(bucket, state), 'StorageConflict');

    expect(bucket.keys()).toEqual([FILE_KEY]);
  });

  test('ends in CheckUnfinished if one invocation has too little time', async () => {
    const { bucket, state } = storedRun(bytes);

    const error = await failureOf(publish(bucket, state, { secondsLeft: () => 1 }), 'CheckUnfinished');

    expect(error.message).toContain(FILE_KEY);
  });

  test('is read again from the beginning after trouble of the bucket', async () => {
    const down = new RunError('StorageUnavailable', 'Down.');
    const { bucket, state } = storedRun(bytes, { before: failing('stream', 'leads.csv', down) });

    await failureOf(publish(bucket, state), 'StorageUnavailable');
    expect(await publish(bucket, state)).toMatchObject({ outcome: 'PUBLISHED', rows: 2 });
  });
});
