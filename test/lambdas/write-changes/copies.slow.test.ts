import { expect, test } from 'vitest';
import { EngineError } from '../../../core/table/engine.ts';
import { writeChanges } from '../../../lambdas/write-changes/write-changes.ts';
import { failureOf } from '../../support/failures.ts';
import {
  beforePut,
  depsOn,
  feedKeyOf,
  feedsIn,
  firstNight,
  headOf,
  many,
  night,
  publish,
  rowsOf,
  stateOf,
} from './support.ts';

/** A function that pauses between making its feed and writing it. */
function holding(deps: ReturnType<typeof depsOn>) {
  const { promise: reached, resolve: reach } = Promise.withResolvers<void>();
  const { promise: mayGoOn, resolve: letGo } = Promise.withResolvers<void>();
  const held = beforePut(deps, async (key) => {
    if (!key.endsWith('changes.parquet')) return;
    reach();
    await mayGoOn;
  });
  return { held, reached, letGo };
}

test('a table rewritten before its feed was written gets a feed with its new content', async () => {
  const world = await firstNight('id,name\n1,a\n');
  const csv = 'id,name,_sequence\n1,b,7\n';
  const error = await failureOf(night(world, 'night-2', '2026-11-21', csv), 'ChangesNotWritten');
  expect(error.message).toContain('"_sequence"');

  const without = { tables: { except: ['_sequence'] } };
  const answer = await night(world, 'night-2', '2026-11-21', csv, without);

  expect(answer.feed).toMatchObject({ sequence: 2, kind: 'snapshot', inserts: 1 });
});

test("a table rewritten after its feed was written gets the next run's feed, with its new settings", async () => {
  const world = await firstNight('id,name\n1,a\n');
  const typed = { tables: { columns: { id: 'integer' } } };
  expect(await night(world, 'night-1', '2026-11-20', 'id,name\n1,a\n', typed)).toMatchObject({ feed: { sequence: 1 } });

  const { feed } = await night(world, 'night-2', '2026-11-21', 'id,name\n1,a\n2,b\n', typed);

  expect(feed).toMatchObject({ sequence: 2, kind: 'snapshot', inserts: 2 });
  expect(await rowsOf(world, feedKeyOf('night-2', '2026-11-21'))).toEqual(['insert 1 a', 'insert 2 b']);
});

test('a pair too large for one function stays open while one with more memory may write its feed', async () => {
  const world = await firstNight(many(4000));
  await publish(world, 'night-2', '2026-11-21', many(3999));
  const { held, reached, letGo } = holding(depsOn(world));
  const other = writeChanges(stateOf('night-2'), held);
  await reached;

  const { deployment } = depsOn(world);
  const tooSmall = { ...depsOn(world), deployment: { ...deployment, tableMemoryMB: 252 } };
  const small = await failureOf(writeChanges(stateOf('night-2'), tooSmall), 'ChangesNotWritten');
  expect(small.message).toContain('tableMemoryMB is 252');
  expect(headOf(world)).toMatchObject({ sequence: 1, pair: { to: { run: 'night-2' } } });
  await publish(world, 'night-3', '2026-11-22', many(3998));
  letGo();

  await other;
  expect(headOf(world)).toMatchObject({ sequence: 3, pair: null, end: { run: 'night-3' } });
  expect(feedsIn(world)).toHaveLength(3);
});

test('a pair that this function cannot compare does not block a newer table', async () => {
  const world = await firstNight('id,name\n1,a\n');
  await publish(world, 'night-2', '2026-11-21', 'id,name\n1,b\n');
  const small = beforePut(depsOn(world), (key) => {
    if (key === feedKeyOf('night-2', '2026-11-21')) throw new EngineError('memory');
  });
  await failureOf(writeChanges(stateOf('night-2'), small), 'ChangesNotWritten');
  expect(headOf(world)).toMatchObject({ sequence: 1, pair: { to: { run: 'night-2' } } });
  await publish(world, 'night-3', '2026-11-22', 'id,name\n1,c\n');

  expect((await writeChanges(stateOf('night-3'), small)).feed).toMatchObject({ sequence: 3, kind: 'snapshot' });
  expect(headOf(world)).toMatchObject({ sequence: 3, pair: null, end: { run: 'night-3' } });
});
