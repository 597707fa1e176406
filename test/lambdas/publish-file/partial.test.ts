import { expect, test } from 'vitest';
import type { Run } from '../../../core/step/states.ts';
import { deployment, run } from '../../support/builders.ts';
import { type FakeBucket, failing } from '../../support/fake-bucket.ts';
import { exportIdOf, putPublished } from '../../support/published.ts';
import { BY_DATE, LATEST, manifestIn, publish, storedRun } from '../../support/stored-run.ts';

const PREFIX = 'runs/entity=leads/run=by-hand/';
const PARTIAL: Partial<Run> = {
  prefix: PREFIX,
  kind: 'partial',
  differs: ['filters'],
  plan: 'b'.repeat(64),
  exportId: exportIdOf('2026-11-01'),
} as const;

const tables = { deployment: deployment({ entities: { leads: { tables: {} } } }) };

/** A manual run with another plan, later on the same day. */
function byHand() {
  const { bucket, state } = storedRun();
  const later = { ...state, execution: 'by-hand', startedAt: '2026-11-20T12:00:00.000Z', run: run(PARTIAL) };
  return { bucket, state, later };
}

test('stores a partial export without publishing it if its date has a full one', async () => {
  const { bucket, state, later } = byHand();
  await publish(bucket, state);
  const before = [BY_DATE, LATEST].map(bucket.text);

  expect(await publish(bucket, later)).toMatchObject({ outcome: 'UNPUBLISHED' });

  expect([BY_DATE, LATEST].map(bucket.text)).toEqual(before);
  expect(manifestIn(bucket, `${PREFIX}_manifest.json`)).toMatchObject({ state: 'unpublished', guards: null });
});

test('publishes a partial export for its date alone, without a table, if the date has no other', async () => {
  const { bucket, later } = byHand();

  expect(await publish(bucket, later, tables)).toMatchObject({ outcome: 'PUBLISHED' });

  expect(bucket.text(BY_DATE)).toContain('"partial"');
  expect(bucket.text(LATEST)).toBeUndefined();
});

test('a partial export ends in UNPUBLISHED if a full run publishes the date meanwhile', async () => {
  const { bucket, state, later } = byHand();
  const meanwhile = storedRunOf(bucket, () => publish(bucket, state));

  expect(await publish(meanwhile, later)).toMatchObject({ outcome: 'UNPUBLISHED' });

  expect(bucket.text(BY_DATE)).not.toContain('partial');
});

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

/** The bucket with one action before it first writes the pointer of the date. */
function storedRunOf(bucket: FakeBucket, before: () => Promise<unknown>): FakeBucket {
  let happened = false;
  const putOnce: FakeBucket['putOnce'] = async (key, body) => {
    const isFirst = key === BY_DATE && !happened;
    happened ||= isFirst;
    if (isFirst) await before();
    return bucket.putOnce(key, body);
  };
  return { ...bucket, putOnce };
}
