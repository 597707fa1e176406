import { expect, test } from 'vitest';
import { RunError } from '../../../core/errors.ts';
import { pointerSchema } from '../../../core/export/pointer.ts';
import { failureOf } from '../../support/failures.ts';
import { failing } from '../../support/fake-bucket.ts';
import { putHundreds, putPublished } from '../../support/published.ts';
import { expectTexts } from '../../support/screen.ts';
import { BY_DATE, LATEST, MANIFEST_KEY, manifestIn, publish, storedRun } from '../../support/stored-run.ts';

const down = new RunError('StorageUnavailable', 'Down.');

const csvOf = (rows: number) => ['id,name', ...Array.from({ length: rows }, (_, id) => `${id},x`), ''].join('\n');

/** A run with the given number of rows, after nights with a hundred rows each. */
function shrunk(rows: number, options: Parameters<typeof storedRun>[1] = {}) {
  const stored = storedRun(csvOf(rows), options);
  putHundreds(stored.bucket);
  return stored;
}

test('quarantines a shrunken file, moves no pointer, and says why', async () => {
  const { bucket, state } = shrunk(30);
  const latest = bucket.text(LATEST);

  const { message } = await failureOf(publish(bucket, state), 'FileQuarantined');

  await expectTexts('file-quarantined', [['a file with too few rows', message]]);
  expect(manifestIn(bucket)).toMatchObject({
    state: 'quarantined',
    guards: {
      checks: expect.arrayContaining([{ guard: 'maxShrink', passed: false, measured: 0.7, bound: 0.5, detail: null }]),
      comparedWith: [
        { date: '2026-11-19', execution: 'of-2026-11-19', rows: 100 },
        { date: '2026-11-18', execution: 'of-2026-11-18', rows: 100 },
        { date: '2026-11-17', execution: 'of-2026-11-17', rows: 100 },
      ],
      medianRows: 100,
    },
    warnings: [],
  });
  expect([bucket.text(BY_DATE), bucket.text(LATEST)]).toEqual([undefined, latest]);
});

test('keeps its verdict when the step is repeated, even if other nights are published between', async () => {
  const stopped = shrunk(30);
  await failureOf(publish(stopped.bucket, stopped.state), 'FileQuarantined');
  const manifest = stopped.bucket.text(MANIFEST_KEY);
  for (const date of ['2026-11-19', '2026-11-18']) putPublished(stopped.bucket, { date, rows: 30 });
  const { message } = await failureOf(publish(stopped.bucket, stopped.state), 'FileQuarantined');
  expect(message).toContain('it has 30 rows, 100 are usual');
  expect([stopped.bucket.text(MANIFEST_KEY), stopped.bucket.text(BY_DATE)]).toEqual([manifest, undefined]);

  const begun = shrunk(60, { before: failing('putOnce', BY_DATE, down) });
  await failureOf(publish(begun.bucket, begun.state), 'StorageUnavailable');
  for (const date of ['2026-11-19', '2026-11-18']) putPublished(begun.bucket, { date, rows: 1000 });
  expect(await publish(begun.bucket, begun.state)).toMatchObject({ outcome: 'PUBLISHED' });
  expect(begun.bucket.text(BY_DATE)).toContain(MANIFEST_KEY);
});

test('keeps newNormal on the pointer of the date when a later run of that date is published', async () => {
  const { bucket, state } = shrunk(98);
  putPublished(bucket, {
    date: '2026-11-20',
    rows: 30,
    pointer: { startedAt: '2026-11-20T00:00:00.000Z', newNormal: true },
  });

  await publish(bucket, state);

  const pointers = [BY_DATE, LATEST].map((key) => pointerSchema.parse(JSON.parse(bucket.text(key) ?? '')));
  expect(pointers).toMatchObject([
    { execution: 'night-1', newNormal: true, released: false },
    { execution: 'night-1', newNormal: false, released: false },
  ]);
});
