import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { expect, test } from 'vitest';
import { headKey } from '../../../core/changes/chain/feed-keys.ts';
import { freeDisk } from '../../../core/content/free-disk.ts';
import { RunError } from '../../../core/errors.ts';
import { latestPointerKey } from '../../../core/export/pointer.ts';
import { feedObjects } from '../../../lambdas/write-changes/feed-objects.ts';
import { type WriteChangesDeps, writeChanges } from '../../../lambdas/write-changes/write-changes.ts';
import { writeTable } from '../../../lambdas/write-table/write-table.ts';
import { tree } from '../../lib/support/files.ts';
import { deployment, runState, STARTED_AT } from '../../support/builders.ts';
import { testDeps } from '../../support/deps.ts';
import { failureOf } from '../../support/failures.ts';
import { manifestKeyOf, manifestOf, pointerTo } from '../../support/manifests.ts';
import { publishedRuns } from '../../support/published-run.ts';

type World = Awaited<ReturnType<typeof publishedRuns>>;
interface Settings {
  tables?: object;
  changes?: object;
}

function depsOn(world: World, { tables = {}, changes = {} }: Settings = {}) {
  const leads = { tables, changes: { key: 'id', ...changes } };
  const own = { objects: feedObjects(world.client, 'exports', undefined, 1), softwareVersion: '1.2.3', freeDisk };
  const deps = { ...testDeps({ deployment: deployment({ entities: { leads } }) }), ...world.stored(1), ...own };
  return { ...deps, hashKey: async () => 'k'.repeat(64) };
}

const stateOf = (run: string) => runState({ manifestKey: manifestKeyOf(run), outcome: 'CHANGES_DUE' });

/** A night as it is when the table is written. */
async function publish(world: World, run: string, date: string, csv: string, settings?: Settings): Promise<void> {
  await world.publish(csv, run, {}, undefined, { date });
  const latest = pointerTo(manifestOf({ execution: run, date, startedAt: STARTED_AT }));
  await world.put(latestPointerKey('leads'), JSON.stringify(latest));
  await writeTable(runState({ manifestKey: manifestKeyOf(run), machineVersion: 4 }), depsOn(world, settings));
}

async function night(world: World, run: string, date: string, csv: string, settings?: Settings) {
  await publish(world, run, date, csv, settings);
  return writeChanges(stateOf(run), depsOn(world, settings));
}

const feedKeyOf = (run: string, date: string) => `changes/entity=leads/date=${date}/run=${run}/changes.parquet`;
const headOf = ({ store }: World) => JSON.parse(String(store.object(headKey('leads'))?.body));
const feedsIn = ({ store }: World) =>
  store
    .keys()
    .filter((key) => /^changes\/.*changes\.parquet$/.test(key))
    .sort();

/** Rows of a feed, by DuckDB: change, id, name. */
async function rowsOf({ store }: World, key: string): Promise<string[]> {
  const file = join(tree({}), 'changes.parquet');
  writeFileSync(file, store.object(key)?.body ?? '');
  const connection = await (await DuckDBInstance.create(':memory:')).connect();
  const sql = `SELECT _change_type, id, name FROM read_parquet('${file}', hive_partitioning = false) ORDER BY ALL`;
  const rows = (await connection.runAndReadAll(sql)).getRowsJson();
  connection.closeSync();
  return rows.map((row) => row.join(' '));
}

const many = (count: number, from = 0) =>
  `id,name\n${Array.from({ length: count }, (_, place) => `${from + place},n${from + place}\n`).join('')}`;

test('the first feed is all rows, the second what has changed, and each says where it lies in the chain', async () => {
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

test('a run that is told already, an older date and a table that another run wrote are told by nobody twice', async () => {
  const world = await publishedRuns();
  await night(world, 'night-2', '2026-11-21', 'id,name\n1,a\n');

  expect(await writeChanges(stateOf('night-2'), depsOn(world))).toEqual({ outcome: 'UP_TO_DATE' });
  await world.publish('id,name\n9,z\n', 'night-1', {}, undefined, { date: '2026-11-20' });
  await writeTable(runState({ manifestKey: manifestKeyOf('night-1') }), depsOn(world));
  expect(await writeChanges(stateOf('night-1'), depsOn(world))).toEqual({ outcome: 'UP_TO_DATE' });
  expect(feedsIn(world)).toHaveLength(1);
});

test('a run of the same date is compared with the one before, though its table stands where that one stood', async () => {
  const world = await publishedRuns();
  await night(world, 'night-1', '2026-11-20', 'id,name\n1,a\n');

  await night(world, 'night-2', '2026-11-20', 'id,name\n1,b\n');

  expect(await rowsOf(world, feedKeyOf('night-2', '2026-11-20'))).toEqual([
    'update_postimage 1 b',
    'update_preimage 1 a',
  ]);
});

test.each([
  ['another type of a column', { tables: { columns: { name: 'date' } } }],
  ['another key', { changes: { key: ['id', 'name'] } }],
  ['another ignored column', { changes: { ignore: ['name'] } }],
])('%s makes a feed of all rows', async (_, settings) => {
  const world = await publishedRuns();
  await night(world, 'night-1', '2026-11-20', 'id,name\n1,a\n2,b\n');

  const answer = await night(world, 'night-2', '2026-11-21', 'id,name\n1,a\n2,b\n', settings);

  expect(answer.feed).toMatchObject({ sequence: 2, kind: 'snapshot', inserts: 2, deletes: 0 });
});

test('without the copy of the table before, the feed is of all rows', async () => {
  const world = await publishedRuns();
  await night(world, 'night-1', '2026-11-20', 'id,name\n1,a\n');
  await world.put('changes/entity=leads/base/run=night-1.parquet', 'another object');

  const answer = await night(world, 'night-2', '2026-11-21', 'id,name\n1,b\n');

  expect(answer.feed).toMatchObject({ sequence: 2, kind: 'snapshot', inserts: 1 });
});

test('a mass deletion is stopped, and a whole night after it is compared with the table before', async () => {
  const world = await publishedRuns();
  await night(world, 'night-1', '2026-11-20', many(40));

  const stopped = await failureOf(night(world, 'night-2', '2026-11-21', many(20)), 'ChangesStopped');

  expect(stopped).toMatchObject({ name: 'ChangesStopped', message: expect.stringContaining('20 of 40 keys of leads') });
  expect(headOf(world)).toMatchObject({ sequence: 1, pair: null, stopped: { run: 'night-2', keys: 40, gone: 20 } });
  expect(feedsIn(world)).toHaveLength(1);

  const whole = await night(world, 'night-3', '2026-11-22', many(39));

  expect(whole.feed).toMatchObject({ sequence: 2, kind: 'changes', deletes: 1 });
  expect(headOf(world)).toMatchObject({ stopped: null, end: { run: 'night-3' } });
});

test('nothing but a release passes a stopped head, also where all rows would be told', async () => {
  const world = await publishedRuns();
  await night(world, 'night-1', '2026-11-20', many(40));
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
  ['a key that the table does not have', 'id,name\n1,a\n', { changes: { key: 'number' } }, 'no column "number"'],
  ['a column of a name of the feed itself', 'id,name,_sequence\n1,a,7\n', {}, '"_sequence"'],
])('%s is an error by its name, with the head where it was', async (_, csv, settings, why) => {
  const world = await publishedRuns();

  const error = await failureOf(night(world, 'night-1', '2026-11-20', csv, settings), 'ChangesNotWritten');

  expect(error).toMatchObject({ name: 'ChangesNotWritten', message: expect.stringContaining(why) });
  expect(headOf(world)).toMatchObject({ sequence: 0, end: null, pair: null });
  expect(feedsIn(world)).toEqual([]);
});

test('time that runs out anywhere is an error by its name, with the head where it was; the next invocation tells what this one did not', async () => {
  const pairs: unknown[] = [];
  for (let looks = 0; ; looks += 2) {
    const world = await publishedRuns();
    await night(world, 'night-1', '2026-11-20', many(40));
    await publish(world, 'night-2', '2026-11-21', many(39));
    let left = looks;
    const secondsLeft = () => {
      left -= 1;
      return left >= 0 ? 900 : 20;
    };

    const first = writeChanges(stateOf('night-2'), { ...depsOn(world), secondsLeft });
    if (await first.catch(() => undefined)) break;

    const late = await failureOf(first, 'ChangesNotWritten');
    expect(late.message).toContain('tableMemoryMB');
    expect(headOf(world)).toMatchObject({ sequence: 1, end: { run: 'night-1' } });
    expect(feedsIn(world)).toHaveLength(1);
    pairs.push(headOf(world).pair);
    const next = await writeChanges(stateOf('night-2'), depsOn(world));
    expect(next).toMatchObject({ feed: { run: 'night-2', sequence: 2, kind: 'changes', deletes: 1 } });
  }
  // Some were in the midst of the comparison.
  expect(pairs.filter(Boolean).length).toBeGreaterThan(1);
});

test('a disk without room for the rows of both tables is an error by its name, with the head where it was', async () => {
  const world = await publishedRuns();
  await night(world, 'night-1', '2026-11-20', many(4000));
  await publish(world, 'night-2', '2026-11-21', many(3999));
  const freeDisk = async () => 200_000;

  const full = await failureOf(writeChanges(stateOf('night-2'), { ...depsOn(world), freeDisk }), 'ChangesNotWritten');

  expect(full.message).toContain("more than the 0 MB that are left for them on the function's disk");
  expect(headOf(world)).toMatchObject({ sequence: 1, end: { run: 'night-1' }, pair: null });
  expect(feedsIn(world)).toHaveLength(1);
  expect(await writeChanges(stateOf('night-2'), depsOn(world))).toMatchObject({ feed: { sequence: 2, deletes: 1 } });
});

/** A function that dies at its nth request, before or behind it. */
function mortal(deps: WriteChangesDeps, dies: number, behind: boolean): WriteChangesDeps & { lived: () => boolean } {
  let calls = 0;
  const wrapped = <T extends object>(target: T): T =>
    new Proxy(target, {
      get:
        (of, name) =>
        async (...args: unknown[]) => {
          calls += 1;
          const call = () => (Reflect.get(of, name) as (...given: unknown[]) => Promise<unknown>)(...args);
          if (calls !== dies) return call();
          if (behind) await call();
          throw new Error('killed');
        },
    });
  return { ...deps, bucket: wrapped(deps.bucket), objects: wrapped(deps.objects), lived: () => calls < dies };
}

test.each([
  ['before', false],
  ['behind', true],
])('a kill %s any of its requests leaves a chain that the next invocation finishes', async (_, behind) => {
  for (let dies = 1; ; dies += 1) {
    const world = await publishedRuns();
    await night(world, 'night-1', '2026-11-20', 'id,name\n1,a\n2,b\n');
    await publish(world, 'night-2', '2026-11-21', 'id,name\n1,a\n2,c\n');
    const deps = mortal(depsOn(world), dies, behind);
    await writeChanges(stateOf('night-2'), deps).catch(() => undefined);
    if (deps.lived()) {
      expect(dies).toBeGreaterThan(10);
      break;
    }

    await writeChanges(stateOf('night-2'), depsOn(world));

    expect(headOf(world)).toMatchObject({ sequence: 2, pair: null, end: { run: 'night-2' } });
    expect(feedsIn(world)).toEqual([feedKeyOf('night-1', '2026-11-20'), feedKeyOf('night-2', '2026-11-21')]);
    expect(await rowsOf(world, feedKeyOf('night-2', '2026-11-21'))).toEqual([
      'update_postimage 2 c',
      'update_preimage 2 b',
    ]);
  }
});

test('a feed takes 26 requests to the bucket, six of them writes', async () => {
  const world = await publishedRuns();
  await night(world, 'night-1', '2026-11-20', 'id,name\n1,a\n');
  await publish(world, 'night-2', '2026-11-21', 'id,name\n1,b\n');
  const before = world.store.calls.length;

  await writeChanges(stateOf('night-2'), { ...depsOn(world), objects: feedObjects(world.client, 'exports') });

  const asked = world.store.calls.slice(before).map(({ operation }) => operation);
  expect([asked.length, asked.filter((operation) => operation === 'PutObject').length]).toEqual([26, 6]);
});

test('two invocations at once write one feed', async () => {
  const world = await publishedRuns();
  await night(world, 'night-1', '2026-11-20', many(30));
  await publish(world, 'night-2', '2026-11-21', many(29));

  await Promise.all([writeChanges(stateOf('night-2'), depsOn(world)), writeChanges(stateOf('night-2'), depsOn(world))]);

  expect(headOf(world)).toMatchObject({ sequence: 2, pair: null, end: { run: 'night-2' } });
  expect(feedsIn(world)).toHaveLength(2);
});

test('a pair that died twice is given back only when nobody can still write its feed', async () => {
  const world = await publishedRuns();
  await night(world, 'night-1', '2026-11-20', 'id,name\n1,a\n');
  await publish(world, 'night-2', '2026-11-21', 'id,name\n1,b\n');
  const dying = () => {
    const deps = depsOn(world);
    const put: typeof deps.objects.put = (key, ...rest) =>
      key.endsWith('changes.parquet')
        ? Promise.reject(new RunError('StorageDenied', 'No.'))
        : deps.objects.put(key, ...rest);
    return { ...deps, objects: { ...deps.objects, put } };
  };
  for (let times = 0; times < 2; times += 1)
    await failureOf(writeChanges(stateOf('night-2'), dying()), 'ChangesNotWritten');
  expect(headOf(world).pair).toMatchObject({ attempts: 2, to: { run: 'night-2' } });
  await publish(world, 'night-3', '2026-11-22', 'id,name\n1,c\n');
  const base = depsOn(world);
  const later = { ...base, now: () => new Date(base.now().getTime() + 21 * 60_000) };

  const answer = await writeChanges(stateOf('night-3'), later);

  expect(answer.feed).toMatchObject({ sequence: 2, run: 'night-3', updates: 1 });
  expect(feedsIn(world)).toEqual([feedKeyOf('night-1', '2026-11-20'), feedKeyOf('night-3', '2026-11-22')]);
});
