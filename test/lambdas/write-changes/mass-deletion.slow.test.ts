import { expect, test } from 'vitest';
import { headKey } from '../../../core/changes/feed-keys.ts';
import { writeChanges } from '../../../lambdas/write-changes/write-changes.ts';
import { failureOf } from '../../support/failures.ts';
import { depsOn, feedsIn, firstNight, headOf, many, night, publish, stateOf } from './support.ts';

test('stops a mass deletion, and compares the next whole night with the table before it', async () => {
  const world = await firstNight(many(40));

  const stopped = await failureOf(night(world, 'night-2', '2026-11-21', many(20)), 'ChangesStopped');

  expect(stopped).toMatchObject({ name: 'ChangesStopped', message: expect.stringContaining('20 of 40 keys of leads') });
  expect(headOf(world)).toMatchObject({
    sequence: 1,
    pair: null,
    stopped: { run: 'night-2', of: 'keys', keys: 40, gone: 20 },
  });
  expect(feedsIn(world)).toHaveLength(1);

  const whole = await night(world, 'night-3', '2026-11-22', many(39));

  expect(whole.feed).toMatchObject({ sequence: 2, kind: 'changes', deletes: 1 });
  expect(headOf(world)).toMatchObject({ stopped: null, end: { run: 'night-3' } });
});

test('only a release passes a stopped head, even if the next feed would be a snapshot', async () => {
  const world = await firstNight(many(40));
  await failureOf(night(world, 'night-2', '2026-11-21', many(20)), 'ChangesStopped');
  const another = { changes: { ignore: ['name'] } };
  expect(await failureOf(night(world, 'night-3', '2026-11-22', many(20), another), 'ChangesStopped')).toMatchObject({
    name: 'ChangesStopped',
  });

  await world.put(headKey('leads'), JSON.stringify({ ...headOf(world), release: 'They were test records.' }));
  const released = await night(world, 'night-4', '2026-11-23', many(18));

  expect(released.feed).toMatchObject({ sequence: 2, kind: 'changes', deletes: 22 });
  expect(headOf(world)).toMatchObject({ stopped: null, release: null });
});

test.each([
  ['the copy of the table before is gone', {}],
  ['its settings have changed', { tables: { columns: { id: 'integer' } } }],
  ['its key has changed', { changes: { key: 'name' } }],
])('stops a snapshot with too few rows until a release, if %s', async (_, settings) => {
  const world = await firstNight(many(40));
  await world.put('changes/entity=leads/base/run=night-1.parquet', 'another object');

  const stopped = await failureOf(night(world, 'night-2', '2026-11-21', many(20), settings), 'ChangesStopped');

  expect(stopped.message).toContain('20 of 40 rows');
  expect(headOf(world)).toMatchObject({
    sequence: 1,
    pair: null,
    stopped: { run: 'night-2', of: 'rows', keys: 40, gone: 20 },
  });
  expect(feedsIn(world)).toHaveLength(1);
  await world.put(headKey('leads'), JSON.stringify({ ...headOf(world), release: 'The filter is another one.' }));
  const released = await night(world, 'night-3', '2026-11-22', many(18), settings);
  expect(released.feed).toMatchObject({ sequence: 2, kind: 'snapshot', inserts: 18 });
});

test('writes a snapshot if no more than the limit are gone, and always below 20 rows', async () => {
  const another = { changes: { ignore: ['name'] } };
  const world = await firstNight(many(40));
  const fewer = await night(world, 'night-2', '2026-11-21', many(32), another);
  expect(fewer.feed).toMatchObject({ sequence: 2, kind: 'snapshot', inserts: 32 });

  const few = await firstNight(many(19));
  const none = await night(few, 'night-2', '2026-11-21', 'id,name\n', another);
  expect(none.feed).toMatchObject({ sequence: 2, kind: 'snapshot', inserts: 0 });
});

test('writes a stopped head again every night, so that it does not expire', async () => {
  const another = { changes: { ignore: ['name'] } };
  const world = await firstNight(many(40));
  await failureOf(night(world, 'night-2', '2026-11-21', many(20)), 'ChangesStopped');
  const before = headOf(world);
  await publish(world, 'night-3', '2026-11-22', many(20), another);
  const earlier = world.store.calls.length;

  await failureOf(writeChanges(stateOf('night-3'), depsOn(world, another)), 'ChangesStopped');

  const later = world.store.calls.slice(earlier);
  const written = later.filter(({ operation, key }) => operation === 'PutObject' && key === headKey('leads'));
  expect(written).toHaveLength(1);
  expect(headOf(world)).toEqual(before);
});
