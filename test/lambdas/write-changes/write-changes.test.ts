import { expect, test } from 'vitest';
import { headKey } from '../../../core/changes/feed-keys.ts';
import { settingsDigest } from '../../../core/config/settings-digest.ts';
import { RunError } from '../../../core/errors.ts';
import { tableValue } from '../../../core/readers/reader-access.ts';
import { createUploadBucket } from '../../../core/storage/upload.ts';
import { writeChanges } from '../../../lambdas/write-changes/write-changes.ts';
import { writeTable } from '../../../lambdas/write-table/write-table.ts';
import { runState } from '../../support/builders.ts';
import { failureOf } from '../../support/failures.ts';
import type { FeedSettings } from '../../support/feed-runs.ts';
import { manifestKeyOf } from '../../support/manifests.ts';
import { publishedRuns } from '../../support/published-run.ts';
import {
  beforePut,
  depsOn,
  expire,
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

const isFeed = (key: string) => key.endsWith('changes.parquet');
const COPY = 'changes/entity=leads/base/run=night-2.parquet';

test('the first feed has all rows, the second the changes, and each its place in the chain', async () => {
  const world = await publishedRuns();

  const first = await night(world, 'night-1', '2026-11-20', 'id,name\n1,a\n2,b\n3,c\n');
  const second = await night(world, 'night-2', '2026-11-21', 'id,name\n4,d\n2,B\n1,a\n');

  expect(first).toMatchObject({ outcome: 'CHANGES_WRITTEN', feed: { sequence: 1, kind: 'snapshot', inserts: 3 } });
  expect(second).toMatchObject({
    outcome: 'CHANGES_WRITTEN',
    feed: { run: 'night-2', date: '2026-11-21', sequence: 2, kind: 'changes', inserts: 1, deletes: 1, updates: 1 },
  });
  expect(await rowsOf(world, feedKeyOf('night-1', '2026-11-20'))).toEqual(['insert 1 a', 'insert 2 b', 'insert 3 c']);
  expect(await rowsOf(world, feedKeyOf('night-2', '2026-11-21'))).toEqual([
    'delete 3 c',
    'insert 4 d',
    'update_postimage 2 B',
    'update_preimage 2 b',
  ]);
  const record = world.store.object('changes/entity=leads/date=2026-11-21/run=night-2/_feed.json')?.body;
  expect(JSON.parse(String(record))).toMatchObject({
    sequence: 2,
    kind: 'changes',
    from: { run: 'night-1', date: '2026-11-20' },
    to: { run: 'night-2', date: '2026-11-21' },
    key: ['id'],
    rows: 3,
    keys: 3,
    gone: 1,
  });
});

test('a change of an ignored column is part of a feed only beside another change of its row', async () => {
  const ignoring = { changes: { ignore: ['at'] } };
  const world = await firstNight('id,name,at\n1,a,1\n2,b,1\n', ignoring);

  const { feed } = await night(world, 'night-2', '2026-11-21', 'id,name,at\n1,a,2\n2,c,2\n', ignoring);

  expect(feed).toMatchObject({ kind: 'changes', inserts: 0, deletes: 0, updates: 1 });
});

test('writes a feed if exactly as many keys as allowed are gone', async () => {
  const settings = { changes: { maxRemoved: 0.29 } };
  const world = await firstNight(many(100), settings);

  const { feed } = await night(world, 'night-2', '2026-11-21', many(71), settings);

  expect(feed).toMatchObject({ sequence: 2, kind: 'changes', deletes: 29 });
  const stopped = await failureOf(night(world, 'night-3', '2026-11-22', many(50), settings), 'ChangesStopped');
  expect(stopped.message).toContain('21 of 71 keys');
});

test('writes no second feed for a run that has one, nor one for an older date', async () => {
  const world = await publishedRuns();
  const first = await night(world, 'night-2', '2026-11-21', 'id,name\n1,a\n');

  expect(await writeChanges(stateOf('night-2'), depsOn(world))).toEqual(first);
  await world.publish('id,name\n9,z\n', 'night-1', {}, undefined, { date: '2026-11-20' });
  await writeTable(runState({ manifestKey: manifestKeyOf('night-1') }), depsOn(world));
  expect(await writeChanges(stateOf('night-1'), depsOn(world))).toEqual({ outcome: 'UP_TO_DATE' });
  expect(feedsIn(world)).toHaveLength(1);
});

test('writes a feed with 21 requests to the bucket, five of them writes', async () => {
  const world = await firstNight('id,name\n1,a\n');
  await publish(world, 'night-2', '2026-11-21', 'id,name\n1,b\n');
  const before = world.store.calls.length;

  await writeChanges(stateOf('night-2'), { ...depsOn(world), bucket: createUploadBucket(world.client, 'exports') });

  const asked = world.store.calls.slice(before).map(({ operation }) => operation);
  expect([asked.length, asked.filter((operation) => operation === 'PutObject').length]).toEqual([21, 5]);
});

test("feed, record and copied table have the digest of the table's column settings, and all but the copy its tag", async () => {
  const world = await publishedRuns();
  const settings = { tables: { hash: ['name'] } };
  await night(world, 'night-1', '2026-11-20', many(30), settings);
  const digest = settingsDigest(depsOn(world, settings).deployment.entities.leads);

  const { bucket } = world.stored();
  const record = world.store.object('changes/entity=leads/date=2026-11-20/run=night-1/_feed.json');
  for (const key of [feedKeyOf('night-1', '2026-11-20'), 'changes/entity=leads/base/run=night-1.parquet'])
    expect(await bucket.head(key)).toMatchObject({ metadata: { settings: digest } });
  expect(JSON.parse(String(record?.body))).toMatchObject({ settings: digest });
  const tags = world.store
    .keys()
    .sort()
    .map((key) => [key, world.store.object(key)?.headers['x-amz-tagging']]);
  const tag = `published=${encodeURIComponent(tableValue('leads', digest))}`;
  expect(tags.filter(([, given]) => given !== undefined)).toEqual([
    [feedKeyOf('night-1', '2026-11-20').replace('changes.parquet', '_feed.json'), tag],
    [feedKeyOf('night-1', '2026-11-20'), tag],
    ['tables/entity=leads/date=2026-11-20/leads.parquet', tag],
  ]);
});

/** A function that cannot store its feed. */
const dying = (world: Parameters<typeof depsOn>[0]) =>
  beforePut(depsOn(world), (key) => {
    if (isFeed(key)) throw new RunError('StorageDenied', 'No.');
  });

async function leftOpen() {
  const world = await firstNight('id,name\n1,a\n');
  await publish(world, 'night-2', '2026-11-21', 'id,name\n1,b\n');
  for (let times = 0; times < 2; times += 1)
    await failureOf(writeChanges(stateOf('night-2'), dying(world)), 'ChangesNotWritten');
  expect(headOf(world).pair).toMatchObject({ to: { run: 'night-2' } });
  await publish(world, 'night-3', '2026-11-22', 'id,name\n1,c\n');
  return world;
}

test('completes an open pair in the next run, even if storing its feed failed twice', async () => {
  const world = await leftOpen();

  const answer = await writeChanges(stateOf('night-3'), depsOn(world));

  expect(answer.feed).toMatchObject({ sequence: 3, run: 'night-3', updates: 1 });
  expect(feedsIn(world)).toHaveLength(3);
});

test('does not take the feed of another pair that a function has stored meanwhile', async () => {
  const world = await firstNight('id,name\n1,a\n');
  await publish(world, 'night-2', '2026-11-21', 'id,name\n1,b\n');
  const deps = beforePut(depsOn(world), (key) => isFeed(key) && world.put(key, 'the feed of another pair'));

  await failureOf(writeChanges(stateOf('night-2'), deps), 'StorageUnavailable');

  expect(headOf(world)).toMatchObject({ sequence: 1, pair: { to: { run: 'night-2' } } });
  const { feed } = await writeChanges(stateOf('night-2'), depsOn(world));
  expect(feed).toMatchObject({ sequence: 2, kind: 'changes', updates: 1 });
});

test('replaces the copy of another table of the run that a function has stored meanwhile', async () => {
  const world = await firstNight('id,name\n1,a\n');
  await publish(world, 'night-2', '2026-11-21', 'id,name\n1,b\n');
  const deps = beforePut(depsOn(world), (key) => key === COPY && world.put(key, 'another table of the run'));

  await writeChanges(stateOf('night-2'), deps);

  const { feed } = await night(world, 'night-3', '2026-11-22', 'id,name\n1,c\n');
  expect(feed).toMatchObject({ sequence: 3, kind: 'changes', updates: 1 });
});

const HASHED = { tables: { hash: ['name'] } };
const whereFeeds = /base|date=.*changes|_feed/;

test.each<[string, (key: string) => boolean, FeedSettings]>([
  ['its copy is gone', (key) => key === COPY, {}],
  ['feeds and copied tables are removed', (key) => whereFeeds.test(key), HASHED],
  ['the settings of columns change', () => false, HASHED],
])('replaces an open pair at once by a snapshot with the next number if %s', async (_, isGone, settings) => {
  const world = await leftOpen();
  await publish(world, 'night-3', '2026-11-22', 'id,name\n1,c\n', settings);
  for (const key of world.store.keys().filter(isGone)) await expire(world, key);

  const { feed } = await writeChanges(stateOf('night-3'), depsOn(world, settings));

  expect(feed).toMatchObject({ sequence: 3, kind: 'snapshot', inserts: 1 });
  expect(headOf(world)).toMatchObject({ sequence: 3, pair: null, end: { run: 'night-3' } });
  expect(feedsIn(world)).not.toContain(feedKeyOf('night-2', '2026-11-21'));
});

test('begins a new chain after the head was lost, and its record replaces that of the former chain', async () => {
  const world = await firstNight('id,name\n1,a\n');
  await night(world, 'night-2', '2026-11-21', 'id,name\n1,b\n');
  await expire(world, headKey('leads'));

  const { feed } = await writeChanges(stateOf('night-2'), depsOn(world));

  expect(feed).toMatchObject({ sequence: 1, kind: 'snapshot', inserts: 1, run: 'night-2' });
});

test('counts the keys that are gone also for the snapshot that replaces an open pair', async () => {
  const world = await firstNight(many(30));
  await publish(world, 'night-2', '2026-11-21', many(30));
  await failureOf(writeChanges(stateOf('night-2'), dying(world)), 'ChangesNotWritten');
  await expire(world, COPY);
  await publish(world, 'night-3', '2026-11-22', many(30, 30));

  await failureOf(writeChanges(stateOf('night-3'), depsOn(world)), 'ChangesStopped');

  expect(headOf(world).stopped).toMatchObject({ run: 'night-3', of: 'keys', keys: 30, gone: 30 });
});
