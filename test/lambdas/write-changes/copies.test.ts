import { expect, test } from 'vitest';
import { writeChanges } from '../../../lambdas/write-changes/write-changes.ts';
import { failureOf } from '../../support/failures.ts';
import { publishedRuns } from '../../support/published-run.ts';
import { depsOn, feedKeyOf, headOf, night, publish, rowsOf, stateOf } from './support.ts';

test('without the copy of the table before, the feed is of all rows', async () => {
  const world = await publishedRuns();
  await night(world, 'night-1', '2026-11-20', 'id,name\n1,a\n');
  await world.put('changes/entity=leads/base/run=night-1.parquet', 'another object');

  const answer = await night(world, 'night-2', '2026-11-21', 'id,name\n1,b\n');

  expect(answer.feed).toMatchObject({ sequence: 2, kind: 'snapshot', inserts: 1 });
});

test('a table that is written again before it is told is told as it is now', async () => {
  const world = await publishedRuns();
  await night(world, 'night-1', '2026-11-20', 'id,name\n1,a\n');
  const csv = 'id,name,_sequence\n1,b,7\n';
  await failureOf(night(world, 'night-2', '2026-11-21', csv), 'ChangesNotWritten');

  const without = { tables: { except: ['_sequence'] } };
  const answer = await night(world, 'night-2', '2026-11-21', csv, without);

  expect(answer.feed).toMatchObject({ sequence: 2, kind: 'snapshot', inserts: 1 });
});

test('a table that is written again after it was told is told with the next run, whatever its settings are', async () => {
  const world = await publishedRuns();
  await night(world, 'night-1', '2026-11-20', 'id,name\n1,a\n');
  const typed = { tables: { columns: { id: 'integer' } } };
  expect(await night(world, 'night-1', '2026-11-20', 'id,name\n1,a\n', typed)).toEqual({ outcome: 'UP_TO_DATE' });

  const { feed } = await night(world, 'night-2', '2026-11-21', 'id,name\n1,a\n2,b\n', typed);

  expect(feed).toMatchObject({ sequence: 2, kind: 'snapshot', inserts: 2 });
  expect(await rowsOf(world, feedKeyOf('night-2', '2026-11-21'))).toEqual(['insert 1 a', 'insert 2 b']);
});

test('a pair whose copy goes while another compares stays open until nobody can write its feed any more', async () => {
  const world = await publishedRuns();
  await night(world, 'night-1', '2026-11-20', 'id,name\n1,a\n');
  await publish(world, 'night-2', '2026-11-21', 'id,name\n1,b\n');
  const slow = depsOn(world);
  let goOn: () => void = () => undefined;
  const mayGoOn = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  let reached: () => void = () => undefined;
  const isThere = new Promise<void>((resolve) => {
    reached = resolve;
  });
  const put: typeof slow.objects.put = async (key, ...rest) => {
    if (key.endsWith('changes.parquet')) {
      reached();
      await mayGoOn;
    }
    return slow.objects.put(key, ...rest);
  };
  const first = writeChanges(stateOf('night-2'), { ...slow, objects: { ...slow.objects, put } });
  await isThere;
  await world.put('changes/entity=leads/base/run=night-1.parquet', 'another object');

  await expect(writeChanges(stateOf('night-2'), depsOn(world))).rejects.toMatchObject({ name: 'StorageUnavailable' });
  expect(headOf(world)).toMatchObject({ sequence: 1, pair: { to: { run: 'night-2' } } });
  goOn();

  expect((await first).feed).toMatchObject({ sequence: 2, kind: 'changes', updates: 1 });
  expect(headOf(world)).toMatchObject({ sequence: 2, pair: null });
});
