import { expect, test } from 'vitest';
import { EngineError } from '../../../core/table/engine.ts';
import { writeChanges } from '../../../lambdas/write-changes/write-changes.ts';
import { failureOf } from '../../support/failures.ts';
import { publishedRuns } from '../../support/published-run.ts';
import { depsOn, feedKeyOf, feedsIn, headOf, many, night, publish, rowsOf, stateOf, withMemory } from './support.ts';

/** A function that pauses between making its feed and writing it. */
function holding(deps: ReturnType<typeof depsOn>) {
  const { promise: reached, resolve: reach } = Promise.withResolvers<void>();
  const { promise: mayGoOn, resolve: letGo } = Promise.withResolvers<void>();
  const putParquet: typeof deps.bucket.putParquet = async (key, ...rest) => {
    if (key.endsWith('changes.parquet')) {
      reach();
      await mayGoOn;
    }
    return deps.bucket.putParquet(key, ...rest);
  };
  return { held: { ...deps, bucket: { ...deps.bucket, putParquet } }, reached, letGo };
}

test('a table rewritten before its feed was written gets a feed with its new content', async () => {
  const world = await publishedRuns();
  await night(world, 'night-1', '2026-11-20', 'id,name\n1,a\n');
  const csv = 'id,name,_sequence\n1,b,7\n';
  await failureOf(night(world, 'night-2', '2026-11-21', csv), 'ChangesNotWritten');

  const without = { tables: { except: ['_sequence'] } };
  const answer = await night(world, 'night-2', '2026-11-21', csv, without);

  expect(answer.feed).toMatchObject({ sequence: 2, kind: 'snapshot', inserts: 1 });
});

test("a table rewritten after its feed was written gets the next run's feed, with its new settings", async () => {
  const world = await publishedRuns();
  await night(world, 'night-1', '2026-11-20', 'id,name\n1,a\n');
  const typed = { tables: { columns: { id: 'integer' } } };
  expect(await night(world, 'night-1', '2026-11-20', 'id,name\n1,a\n', typed)).toMatchObject({ feed: { sequence: 1 } });

  const { feed } = await night(world, 'night-2', '2026-11-21', 'id,name\n1,a\n2,b\n', typed);

  expect(feed).toMatchObject({ sequence: 2, kind: 'snapshot', inserts: 2 });
  expect(await rowsOf(world, feedKeyOf('night-2', '2026-11-21'))).toEqual(['insert 1 a', 'insert 2 b']);
});

test('a pair whose copy disappears stays open while another invocation may still write its feed', async () => {
  const world = await publishedRuns();
  await night(world, 'night-1', '2026-11-20', 'id,name\n1,a\n');
  await publish(world, 'night-2', '2026-11-21', 'id,name\n1,b\n');
  const { held, reached, letGo } = holding(depsOn(world));
  const first = writeChanges(stateOf('night-2'), held);
  await reached;
  await world.put('changes/entity=leads/base/run=night-1.parquet', 'another object');

  expect(await writeChanges(stateOf('night-2'), depsOn(world))).toEqual({ outcome: 'UP_TO_DATE' });
  expect(headOf(world)).toMatchObject({ sequence: 1, pair: { to: { run: 'night-2' } } });
  letGo();

  expect((await first).feed).toMatchObject({ sequence: 2, kind: 'changes', updates: 1 });
  expect(headOf(world)).toMatchObject({ sequence: 2, pair: null });
});

test('a function that stores the feed of a replaced pair late changes neither the chain nor the snapshot', async () => {
  const world = await publishedRuns();
  await night(world, 'night-1', '2026-11-20', 'id,name\n1,a\n');
  await publish(world, 'night-2', '2026-11-21', 'id,name\n1,b\n');
  const { held, reached, letGo } = holding(depsOn(world));
  const first = writeChanges(stateOf('night-2'), held);
  await reached;
  await world.put('changes/entity=leads/base/run=night-2.parquet', 'another object');

  const { feed } = await night(world, 'night-3', '2026-11-22', 'id,name\n1,c\n');
  expect(feed).toMatchObject({ sequence: 3, kind: 'snapshot', inserts: 1 });
  const before = headOf(world);
  letGo();

  expect(await first).toEqual({ outcome: 'UP_TO_DATE' });
  expect(headOf(world)).toEqual(before);
  expect(await rowsOf(world, feedKeyOf('night-3', '2026-11-22'))).toEqual(['insert 1 c']);
});

test('a pair too large for one function stays open while one with more memory may write its feed', async () => {
  const world = await publishedRuns();
  await night(world, 'night-1', '2026-11-20', many(4000));
  await publish(world, 'night-2', '2026-11-21', many(3999));
  const { held, reached, letGo } = holding(depsOn(world));
  const other = writeChanges(stateOf('night-2'), held);
  await reached;

  const small = await failureOf(writeChanges(stateOf('night-2'), withMemory(depsOn(world), 252)), 'ChangesNotWritten');
  expect(small.message).toContain("do not fit in the function's memory: tableMemoryMB is 252");
  expect(headOf(world)).toMatchObject({ sequence: 1, pair: { to: { run: 'night-2' } } });
  await publish(world, 'night-3', '2026-11-22', many(3998));
  letGo();

  await other;
  expect(headOf(world)).toMatchObject({ sequence: 3, pair: null, end: { run: 'night-3' } });
  expect(feedsIn(world)).toHaveLength(3);
});

test('a pair that this function cannot compare does not block a newer table', async () => {
  const world = await publishedRuns();
  await night(world, 'night-1', '2026-11-20', 'id,name\n1,a\n');
  await publish(world, 'night-2', '2026-11-21', 'id,name\n1,b\n');
  const deps = depsOn(world);
  const putParquet: typeof deps.bucket.putParquet = async (key, ...rest) => {
    if (key === feedKeyOf('night-2', '2026-11-21')) throw new EngineError('memory');
    return deps.bucket.putParquet(key, ...rest);
  };
  const small = { ...deps, bucket: { ...deps.bucket, putParquet } };
  await failureOf(writeChanges(stateOf('night-2'), small), 'ChangesNotWritten');
  expect(headOf(world)).toMatchObject({ sequence: 1, pair: { to: { run: 'night-2' } } });
  await publish(world, 'night-3', '2026-11-22', 'id,name\n1,c\n');

  expect((await writeChanges(stateOf('night-3'), small)).feed).toMatchObject({ sequence: 3, kind: 'snapshot' });
  expect(headOf(world)).toMatchObject({ sequence: 3, pair: null, end: { run: 'night-3' } });
});

test('compares a second run of the same date with the first one, whose table it replaced', async () => {
  const world = await publishedRuns();
  await night(world, 'night-1', '2026-11-20', 'id,name\n1,a\n');

  await night(world, 'night-2', '2026-11-20', 'id,name\n1,b\n');

  expect(await rowsOf(world, feedKeyOf('night-2', '2026-11-20'))).toEqual([
    'update_postimage 1 b',
    'update_preimage 1 a',
  ]);
});

test('two invocations at once write only one feed', async () => {
  const world = await publishedRuns();
  await night(world, 'night-1', '2026-11-20', many(30));
  await publish(world, 'night-2', '2026-11-21', many(29));

  await Promise.all([writeChanges(stateOf('night-2'), depsOn(world)), writeChanges(stateOf('night-2'), depsOn(world))]);

  expect(headOf(world)).toMatchObject({ sequence: 2, pair: null, end: { run: 'night-2' } });
  expect(feedsIn(world)).toHaveLength(2);
});
