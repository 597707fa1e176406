import { PutObjectCommand } from '@aws-sdk/client-s3';
import { expect, test } from 'vitest';
import { NO_FEEDS } from '../../../core/changes/chain/head.ts';
import { headKey } from '../../../core/changes/feed-keys.ts';
import { writeChanges } from '../../../lambdas/write-changes/write-changes.ts';
import { failureOf } from '../../support/failures.ts';
import { publishedRuns } from '../../support/published-run.ts';
import { expectTexts } from '../../support/screen.ts';
import { depsOn, feedsIn, firstNight, headOf, many, night, publish, stateOf } from './support.ts';

test('a file without the key ends in ChangesNotWritten, and the next file with it gets a feed', async () => {
  const world = await firstNight('id,name\n1,a\n');

  const error = await failureOf(night(world, 'night-2', '2026-11-21', 'name\na\n'), 'ChangesNotWritten');

  await expectTexts('feed-without-key', [['a table without the key', error.message]]);
  expect(headOf(world)).toMatchObject({ sequence: 1, pair: null, end: { run: 'night-1' } });
  const again = await night(world, 'night-3', '2026-11-22', 'id,name\n1,b\n');
  expect(again.feed).toMatchObject({ sequence: 2, kind: 'changes', updates: 1 });
});

test('an unreadable table ends in ChangesNotWritten, and gets a feed once it is written again', async () => {
  const world = await firstNight('id,name\n1,a\n');
  await publish(world, 'night-2', '2026-11-21', 'id,name\n1,b\n');
  const key = 'tables/entity=leads/date=2026-11-21/leads.parquet';
  expect(world.store.keys()).toContain(key);
  const settings = world.store.object(key)?.headers['x-amz-meta-settings'] ?? '';
  const garbage = { Bucket: 'exports', Key: key, Body: 'garbage', Metadata: { run: 'night-2', settings } };
  await world.client.send(new PutObjectCommand(garbage));

  const error = await failureOf(writeChanges(stateOf('night-2'), depsOn(world)), 'ChangesNotWritten');

  await expectTexts('feed-of-damaged-table', [['a table that cannot be read', error.message]]);
  expect(headOf(world)).toMatchObject({ sequence: 1, pair: null, end: { run: 'night-1' } });
  await publish(world, 'night-2', '2026-11-21', 'id,name\n1,b\n');
  const answer = await writeChanges(stateOf('night-2'), depsOn(world));
  expect(answer.feed).toMatchObject({ sequence: 2, kind: 'changes', updates: 1 });
});

test('a damaged head ends in ChangesNotWritten and is not changed', async () => {
  const world = await publishedRuns();
  await publish(world, 'night-1', '2026-11-20', 'id,name\n1,a\n');
  const whole = JSON.stringify({ ...NO_FEEDS, sequence: 1 });

  for (const text of [
    whole.slice(0, 60),
    whole.replace(/"schemaVersion":\d/, '"schemaVersion":1'),
    whole.replace(':1,', ':-1,'),
  ]) {
    await world.put(headKey('leads'), text);

    const error = await failureOf(writeChanges(stateOf('night-1'), depsOn(world)), 'ChangesNotWritten');

    await expectTexts('feed-of-damaged-head', [['a head of another shape', error.message]]);
    expect(String(world.store.object(headKey('leads'))?.body)).toBe(text);
  }
  expect(feedsIn(world)).toEqual([]);
});

test('ends in ChangesNotWritten if time runs out while tables are compared, and the next invocation writes the feed', async () => {
  const world = await firstNight(many(40));
  await publish(world, 'night-2', '2026-11-21', many(39));
  let looks = 0;
  const secondsLeft = () => {
    looks += 1;
    return looks < 12 ? 900 : 20;
  };

  const late = await failureOf(
    writeChanges(stateOf('night-2'), { ...depsOn(world), secondsLeft }),
    'ChangesNotWritten',
  );

  expect(late.message).toContain('tableMemoryMB');
  expect(headOf(world)).toMatchObject({ sequence: 1, pair: null, end: { run: 'night-1' } });
  const next = await writeChanges(stateOf('night-2'), depsOn(world));
  expect(next).toMatchObject({ feed: { run: 'night-2', sequence: 2, kind: 'changes', deletes: 1 } });
});
