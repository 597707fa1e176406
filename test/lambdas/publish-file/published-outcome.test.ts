import { expect, test } from 'vitest';
import { deployment } from '../../support/builders.ts';
import { failing } from '../../support/fake-bucket.ts';
import { putPublished } from '../../support/published.ts';
import { publish, storedRun } from '../../support/stored-run.ts';

const tables = { deployment: deployment({ entities: { leads: { tables: {} } } }) };

test('answers PUBLISHED, without a table, if a later run of the date is published', async () => {
  const { bucket, state } = storedRun();
  putPublished(bucket, { date: '2026-11-20', rows: 2, pointer: { startedAt: '2026-11-20T05:00:00.000Z' } });

  expect(await publish(bucket, state, tables)).toMatchObject({ outcome: 'PUBLISHED' });
});

test('answers TABLE_DUE again if the step is repeated after it moved the pointer of the date', async () => {
  const { bucket, state } = storedRun(undefined, { before: failing('putOnce', 'latest', new Error('killed')) });
  await expect(publish(bucket, state, tables)).rejects.toThrow('killed');

  expect(await publish(bucket, state, tables)).toMatchObject({ outcome: 'TABLE_DUE' });
});
