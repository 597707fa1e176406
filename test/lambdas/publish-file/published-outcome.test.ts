import { expect, test } from 'vitest';
import { deployment } from '../../support/builders.ts';
import { failing } from '../../support/fake-bucket.ts';
import { putPublished } from '../../support/published.ts';
import { publish, storedRun } from '../../support/stored-run.ts';

const tables = { deployment: deployment({ entities: { leads: { tables: {} } } }) };

test('a published file whose entity has tables is due for one', async () => {
  const { bucket, state } = storedRun();

  expect(await publish(bucket, state, tables)).toMatchObject({ outcome: 'TABLE_DUE', rows: 2 });
});

test('a run that a later one of its date has passed gets no table: the later one writes it', async () => {
  const { bucket, state } = storedRun();
  putPublished(bucket, { date: '2026-11-20', rows: 2, pointer: { startedAt: '2026-11-20T05:00:00.000Z' } });

  expect(await publish(bucket, state, tables)).toMatchObject({ outcome: 'PUBLISHED' });
});

test('a step that is repeated behind the pointer of the date still says that a table is due', async () => {
  const { bucket, state } = storedRun(undefined, { before: failing('putOnce', 'latest', new Error('killed')) });
  await expect(publish(bucket, state, tables)).rejects.toThrow('killed');

  expect(await publish(bucket, state, tables)).toMatchObject({ outcome: 'TABLE_DUE' });
});
