import { expect, test } from 'vitest';
import { writeChanges } from '../../../lambdas/write-changes/write-changes.ts';
import { failureOf } from '../../support/failures.ts';
import { depsOn, feedKeyOf, feedsIn, firstNight, headOf, many, night, publish, rowsOf, stateOf } from './support.ts';

/** The rows of `many` with other first cells and one more column. */
const wider = (count: number, from = 0) =>
  many(count, from)
    .split('\n')
    .map((line, at) => (line === '' ? '' : `${line},${at === 0 ? 'city' : 'Haifa'}`))
    .join('\n');

test('another order of columns is not a change, but a changed row in that order is', async () => {
  const world = await firstNight('id,name,city\n1,a,x\n2,b,y\n');

  const same = await night(world, 'night-2', '2026-11-21', 'city,id,name\ny,2,b\nx,1,a\n');
  expect(same.feed).toMatchObject({ sequence: 2, kind: 'changes', inserts: 0, deletes: 0, updates: 0 });

  const other = await night(world, 'night-3', '2026-11-22', 'name,city,id\nb,y,2\na2,x,1\n');
  expect(other.feed).toMatchObject({ sequence: 3, kind: 'changes', updates: 1 });
  expect(await rowsOf(world, feedKeyOf('night-3', '2026-11-22'))).toEqual([
    'update_postimage 1 a2',
    'update_preimage 1 a',
  ]);
});

/** Rows with numbers as names. */
const numbered = (count: number, from = 0) => many(count, from).replace(/,n(?=\d)/g, ',');

test.each([
  ['an added column', wider(40), {}],
  ['a removed column', 'id\n'.concat(Array.from({ length: 40 }, (_, id) => `${id}\n`).join('')), {}],
  ['a retyped column', numbered(40), { tables: { columns: { name: { type: 'decimal', precision: 5, scale: 0 } } } }],
  ['a retyped key', many(40), { tables: { columns: { id: 'integer' } } }],
  ['another ignored column', many(40), { changes: { ignore: ['name'] } }],
])('writes a snapshot for %s, and compares the keys with the table before', async (_, csv, settings) => {
  const world = await firstNight(many(40));

  const { feed } = await night(world, 'night-2', '2026-11-21', csv, settings);

  expect(feed).toMatchObject({ sequence: 2, kind: 'snapshot', inserts: 40, deletes: 0 });
  const record = world.store.object('changes/entity=leads/date=2026-11-21/run=night-2/_feed.json')?.body;
  expect(JSON.parse(String(record))).toMatchObject({ keys: 40, gone: 0 });
});

test.each([
  ['an added column', wider(40, 1000), {}],
  ['a retyped key', many(40, 1000), { tables: { columns: { id: 'integer' } } }],
  ['another type of a column', numbered(40, 1000), { tables: { columns: { name: 'integer' } } }],
])('%s together with other keys only is stopped as a mass deletion', async (_, csv, settings) => {
  const world = await firstNight(many(40));

  const stopped = await failureOf(night(world, 'night-2', '2026-11-21', csv, settings), 'ChangesStopped');

  expect(stopped.message).toContain('40 of 40');
  expect(headOf(world)).toMatchObject({ sequence: 1, pair: null, stopped: { of: 'keys', keys: 40, gone: 40 } });
  expect(feedsIn(world)).toHaveLength(1);
});

test('compares the row count, not the keys, with a table whose keys were not hashed', async () => {
  const world = await firstNight(many(40));
  const hashed = { tables: { hash: ['id'] } };

  const { feed } = await night(world, 'night-2', '2026-11-21', many(40), hashed);
  expect(feed).toMatchObject({ sequence: 2, kind: 'snapshot', inserts: 40 });

  const stopped = await failureOf(night(world, 'night-3', '2026-11-22', wider(40, 1000), hashed), 'ChangesStopped');
  expect(stopped.message).toContain('40 of 40 keys');
});

test('makes no feed of a table with a column that is left out since, until the table is written again', async () => {
  const world = await firstNight('id,name\n1,a\n');
  await publish(world, 'night-2', '2026-11-21', 'id,name\n1,b\n');
  const today = { tables: { except: ['name'] } };

  expect(await writeChanges(stateOf('night-2'), depsOn(world, today))).toEqual({ outcome: 'UP_TO_DATE' });
  expect(world.store.keys().filter((key) => key.includes('night-2.parquet'))).toEqual([]);

  await publish(world, 'night-2', '2026-11-21', 'id,name\n1,b\n', today);
  const written = await writeChanges(stateOf('night-2'), depsOn(world, today));
  expect(written).toMatchObject({ feed: { sequence: 2, kind: 'snapshot' } });
});
