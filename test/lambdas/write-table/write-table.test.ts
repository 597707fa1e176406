import { describe, expect, test } from 'vitest';
import type { RunState } from '../../../core/step/states.ts';
import type { Invocation } from '../../../core/step/step.ts';
import { type WriteTableDeps, writeTable } from '../../../lambdas/write-table/write-table.ts';
import { rowsOfStored } from '../../core/table/support.ts';
import { CANARY, deployment, newState, runState } from '../../support/builders.ts';
import { testDeps } from '../../support/deps.ts';
import { failureOf } from '../../support/failures.ts';
import { manifestKeyOf } from '../../support/manifests.ts';
import { DATE, publishedRuns } from '../../support/published-run.ts';
import { expectMessages, expectTexts } from '../../support/screen.ts';
import { smallWorkbook, workbookFile } from '../../support/workbook.ts';

const KEY = `tables/entity=leads/date=${DATE}/leads.parquet`;
const CSV = 'id,name,age\n1,"line\nbreak",40\n2,ש,\n3,c,41\n';
const TABLES = { columns: { age: 'integer' } };
const HASH_KEY = 'k'.repeat(64);

type World = Awaited<ReturnType<typeof publishedRuns>>;

/** The state after PublishFile, or after BeginRun if a person asked for the table. */
const published = (overrides: Partial<RunState> = {}) =>
  runState({ manifestKey: manifestKeyOf('night-1'), ...overrides });
const asked = (run = 'night-1', execution = 'table-1') => newState({ entity: 'leads', table: { run } }, { execution });

type Overrides = Partial<WriteTableDeps> & { partBytes?: number | undefined };

function depsOn(world: World, tables: object = TABLES, { partBytes, ...overrides }: Overrides = {}) {
  const deps = testDeps({ deployment: deployment({ entities: { leads: { tables } } }) });
  const { log } = deps;
  const own = { hashKey: async () => HASH_KEY, softwareVersion: '1.2.3' };
  return { ...deps, ...world.stored(partBytes), ...own, ...overrides, log };
}
const write = (world: World, state = published(), tables: object = TABLES, overrides: Overrides = {}) =>
  writeTable(state, depsOn(world, tables, overrides));

/** A bucket with the published file of night-1. */
async function worldOf(csv = CSV, options: Parameters<typeof publishedRuns>[0] = {}): Promise<World> {
  const world = await publishedRuns(options);
  await world.publish(csv);
  return world;
}

const rowsOf = ({ store }: World, key = KEY) => rowsOfStored(store.object(key)?.body);

const ROWS = [
  { id: '1', name: 'line\nbreak', age: '40' },
  { id: '2', name: 'ש', age: null },
  { id: '3', name: 'c', age: '41' },
];

describe.each([
  ['in one request', undefined],
  ['in parts', 500],
])('a table that is stored %s', (_, partBytes) => {
  test('has the typed rows of the published file, and names its run', async () => {
    const world = await worldOf();

    const answer = await write(world, published(), TABLES, { partBytes });

    const table = { run: 'night-1', date: DATE, key: KEY, rows: 3, warnings: [] };
    const bytes = world.store.object(KEY)?.body.length;
    expect(answer).toEqual({ outcome: 'WRITTEN', table: { ...table, bytes } });
    expect(await rowsOf(world)).toEqual(ROWS);
    expect(world.store.object(KEY)?.headers).toMatchObject({
      'content-type': 'application/vnd.apache.parquet',
      'x-amz-meta-run': 'night-1',
      'x-amz-meta-misfits': '0',
    });
    expect(world.store.uploads()).toEqual([]);
  });

  test('is the same if the step was killed before or after any write and is repeated', async () => {
    const whole = await publishedRuns();
    await whole.publish(CSV);
    const before = whole.store.calls.length;
    await write(whole, published(), TABLES, { partBytes });
    const requests = whole.store.calls.slice(before).map(({ operation }) => operation);
    const last = whole.store.calls.findLast(({ key }) => key === KEY);
    expect(last?.operation).toBe(partBytes ? 'CompleteMultipartUpload' : 'PutObject');

    // A request that only reads leaves nothing behind.
    const writes = [...requests.entries()].filter(([, operation]) => !/^(Get|Head)/.test(operation));
    for (const [place] of writes)
      for (const fault of ['reset', 'lostAnswer'] as const) {
        let left = Number.POSITIVE_INFINITY;
        const world = await worldOf(CSV, { faults: () => (--left === 0 ? fault : undefined) });
        left = place + 1;
        await write(world, published(), TABLES, { partBytes }).catch((error: unknown) => error);
        left = Number.POSITIVE_INFINITY;

        expect(await write(world, published(), TABLES, { partBytes })).toMatchObject({ outcome: 'WRITTEN' });
        expect(world.store.object(KEY)?.body).toEqual(whole.store.object(KEY)?.body);
      }
  });

  test('is not written if the pointer moves to another run meanwhile', async () => {
    const world = await worldOf();
    const deps = depsOn(world, TABLES, { partBytes });
    const bucket = {
      ...deps.bucket,
      stream: async (...args: Parameters<typeof deps.bucket.stream>) => {
        await world.publish('id,name,age\n9,z,9\n', 'later');
        return deps.bucket.stream(...args);
      },
    };

    expect(await writeTable(published(), { ...deps, bucket })).toEqual({ outcome: 'SUPERSEDED' });

    expect(world.store.object(KEY)).toBeUndefined();
    expect(world.store.uploads()).toEqual([]);
  });

  test('does not replace the table that another run wrote meanwhile', async () => {
    const world = await worldOf();
    const deps = depsOn(world, TABLES, { partBytes });
    const later = published({ execution: 'later', manifestKey: manifestKeyOf('later') });
    let named = 0;
    const bucket = {
      ...deps.bucket,
      read: async (key: string) => {
        const object = await deps.bucket.read(key);
        // Another run becomes the newest after the last read of the pointer.
        if (key.startsWith('published/') && ++named === 2) {
          await world.publish('id,name,age\n9,z,9\n', 'later');
          await write(world, later);
        }
        return object;
      },
    };

    expect(await writeTable(published(), { ...deps, bucket })).toEqual({ outcome: 'SUPERSEDED' });

    expect(await rowsOf(world)).toEqual([{ id: '9', name: 'z', age: '9' }]);
    expect(world.store.object(KEY)?.headers['x-amz-meta-run']).toBe('later');
    expect(world.store.uploads()).toEqual([]);
  });

  test('is not written if a value does not fit and misfit is stop', async () => {
    const world = await worldOf(`id,name,age\n1,a,40\n2,b,${CANARY}\n`);

    const stop = { ...TABLES, misfit: 'stop' };
    const error = await failureOf(write(world, published(), stop, { partBytes }), 'TableNotWritten');

    await expectTexts('table-misfit', [['a value that does not fit its type', error.message]]);
    expect(world.store.object(KEY)).toBeUndefined();
    expect(world.store.uploads()).toEqual([]);
  });
});

test('two executions that write a requested table at once both find it written, and it names the run of its file', async () => {
  const world = await worldOf();

  const answers = await Promise.all([write(world, asked('night-1', 'a')), write(world, asked('night-1', 'b'))]);

  const written = { outcome: 'WRITTEN', table: { run: 'night-1', rows: 3 } };
  expect(answers).toMatchObject([written, written]);
  expect(await rowsOf(world)).toEqual(ROWS);
  expect(world.store.object(KEY)?.headers).toMatchObject({ 'x-amz-meta-run': 'night-1' });
});

test('a table that an execution with other types wrote meanwhile is written again', async () => {
  const world = await worldOf();
  const deps = depsOn(world);
  const putParquet: typeof deps.bucket.putParquet = async (...args) => {
    await write(world, published(), {});
    return deps.bucket.putParquet(...args);
  };

  await failureOf(writeTable(published(), { ...deps, bucket: { ...deps.bucket, putParquet } }), 'StorageUnavailable');

  expect(await write(world)).toMatchObject({ outcome: 'WRITTEN' });
  expect(await rowsOf(world)).toEqual(ROWS);
});

test('a table whose answers are all lost is written', async () => {
  let isPublished = false;
  const world = await publishedRuns({
    faults: ({ operation }) => (isPublished && operation === 'PutObject' ? 'lostAnswer' : undefined),
  });
  await world.publish(CSV);
  isPublished = true;

  expect(await write(world)).toMatchObject({ outcome: 'WRITTEN', table: { run: 'night-1', rows: 3 } });
});

test('a later run replaces the table, and a run that is no longer published writes none', async () => {
  const world = await worldOf();
  await write(world);
  await world.publish('id,name,age\n9,z,9\n', 'later');

  expect(await write(world)).toEqual({ outcome: 'SUPERSEDED' });
  expect(await rowsOf(world)).toEqual(ROWS);
  const later = published({ execution: 'later', manifestKey: manifestKeyOf('later') });
  expect(await write(world, later)).toMatchObject({ outcome: 'WRITTEN', table: { run: 'later' } });
  expect(await rowsOf(world)).toEqual([{ id: '9', name: 'z', age: '9' }]);
});

test('a released file gets a table that names the run that stored it', async () => {
  const world = await worldOf();
  const released = { run: 'night-1', date: DATE, kind: 'full' as const, latest: true };
  const state = newState({ entity: 'leads', release: 'night-1' }, { execution: 'release-1', released });

  const answer = await write(world, { ...state, manifestKey: manifestKeyOf('night-1') });

  expect(answer).toMatchObject({ outcome: 'WRITTEN', table: { run: 'night-1' } });
});

test('a table version has its own folder, and left-out or hashed columns show no value', async () => {
  const world = await worldOf(`id,name,age\n1,${CANARY}-left,${CANARY}-hashed\n2,b,\n`);

  await write(world, published(), { except: ['name'], hash: ['age'], version: 2 });

  const key = `tables/v2/entity=leads/date=${DATE}/leads.parquet`;
  expect(await rowsOf(world, key)).toEqual([
    { id: '1', age: expect.stringMatching(/^[0-9a-f]{64}$/) },
    { id: '2', age: '' },
  ]);
  expect(world.store.object(key)?.body.includes(CANARY)).toBe(false);
});

test('writes the table without a warning if a column is left out of both tables and requests', async () => {
  const world = await publishedRuns();
  await world.publish(CSV, 'night-1', {}, undefined, { excepted: [{ entry: 'phone', name: 'phone', label: null }] });
  const leads = { columns: { except: ['phone'] }, tables: { except: ['phone'] } };

  const answer = await write(world, published(), {}, { deployment: deployment({ entities: { leads } }) });

  expect(answer).toMatchObject({ outcome: 'WRITTEN', table: { warnings: [] } });
});

test('a table of an entity with feeds is followed by its feed', async () => {
  const world = await worldOf();
  const leads = { tables: TABLES, changes: { key: 'id' } };

  const answer = await write(world, published(), {}, { deployment: deployment({ entities: { leads } }) });

  expect(answer).toMatchObject({ outcome: 'CHANGES_DUE', table: { rows: 3 } });
});

test('an empty file becomes a table without rows, also with left-out and hashed columns', async () => {
  const world = await publishedRuns();
  await world.publish(Buffer.alloc(0), 'night-1', { format: null, header: [], rows: 0 }, ['id', 'name', 'age']);

  const answer = await write(world, published(), { except: ['name'], hash: ['id'] });

  expect(answer).toMatchObject({ outcome: 'WRITTEN', table: { rows: 0, warnings: [] } });
  expect(await rowsOf(world)).toEqual([]);
});

test('reads a spreadsheet in ranges, and writes no table from a damaged one', async () => {
  const world = await publishedRuns();
  const workbook = smallWorkbook([
    ['id', 'name', 'age'],
    ...ROWS.map(({ id, name, age }) => [id, name, Number(age ?? 7)]),
  ]);
  const { file } = await world.publish(workbook, 'night-1', await workbookFile(workbook, ['id', 'name', 'age']), [
    'id',
  ]);

  expect(await write(world)).toMatchObject({ outcome: 'WRITTEN', table: { rows: 3, warnings: [] } });
  expect(await rowsOf(world)).toEqual(ROWS.map((row) => ({ ...row, age: row.age ?? '7' })));
  const reads = world.store.calls.filter(({ operation, key }) => operation === 'GetObject' && key === file.key);
  expect(reads.length).toBeGreaterThan(1);

  await world.put(file.key, Buffer.concat([workbook.subarray(0, -1), Buffer.from('x')]));
  const error = await failureOf(write(world), 'TableNotWritten');
  await expectTexts('table-of-corrupt-file', [['a file that differs from its manifest', error.message]]);
});

test('warns of values that do not fit their type, and of a configured column that the file lacks', async () => {
  const world = await publishedRuns();
  await world.publish('id,name,age\n1,a,forty\n2,b,\n3,c,old\n4,d,40\n');

  const answer = await write(world, published(), { columns: { age: 'integer', sum: 'double' } });

  await expectTexts('table-warnings', [
    ['values and a column that the table does not have', answer.table?.warnings.join('\n') ?? ''],
  ]);
  expect(world.store.object(KEY)?.headers['x-amz-meta-misfits']).toBe('2');
});

test('writes no table if one invocation is too short, and names tableMemoryMB', async () => {
  const world = await worldOf();

  const error = await failureOf(write(world, published(), TABLES, { secondsLeft: () => 44 }), 'TableNotWritten');

  await expectTexts('table-out-of-time', [
    ['an invocation that is too short', error.message.replace(/\d+ bytes/, '99 bytes')],
  ]);
  expect(world.store.keys()).not.toContain(KEY);
});

describe('a requested table that cannot be written', () => {
  test('is refused for another run than the published one, an entity without tables, and an invalid input', async () => {
    const world = await worldOf();
    await world.publish(CSV, 'later');
    const refused = async (ended: ReturnType<typeof write>) => (await failureOf(ended, 'InvalidInput')).message;

    await expectMessages('requested-table-refused', [
      ['an unknown run', await refused(write(world, asked('night-7')))],
      ['a run that is not the published one of its date', await refused(write(world, asked('night-1')))],
      ['an entity without tables', await refused(write(await worldOf(), asked(), {}, { deployment: deployment() }))],
    ]);
    for (const table of [{}, { run: '' }, { run: 'a/b' }, 'night-1'])
      await failureOf(write(world, newState({ entity: 'leads', table })), 'InvalidInput');
  });
});

describe('trouble of the bucket', () => {
  const down = { status: 503, code: 'SlowDown' };
  const at = (time: string): Partial<Invocation> => ({ now: () => new Date(time) });

  test('is waited out until the deadline and a few tries more, then ends in TableNotWritten', async () => {
    const world = await publishedRuns({
      faults: ({ operation, key }) => (operation === 'PutObject' && key === KEY ? down : undefined),
    });
    await world.publish(CSV);

    await failureOf(write(world), 'StorageUnavailable');
    const late = at('2026-11-20T02:00:01.000Z');
    const again = await write(world, published(), TABLES, late);
    expect(again).toMatchObject({ outcome: 'CONTINUE', lateTries: 1, waitSeconds: 30 });
    const last = published({ lateTries: 5 });
    expect((await failureOf(write(world, last, TABLES, late), 'TableNotWritten')).message).toMatch(/SlowDown/);
  });

  test('because of a missing right ends in TableNotWritten', async () => {
    const world = await publishedRuns({
      faults: ({ operation }) => (operation === 'HeadObject' ? { status: 403, code: 'AccessDenied' } : undefined),
    });
    await world.publish(CSV);

    await failureOf(write(world), 'TableNotWritten');
  });
});

test('rethrows a bug', async () => {
  const world = await worldOf();
  const hashKey = async () => Promise.reject(new RangeError('x'));

  await expect(write(world, published(), { hash: ['name'] }, { hashKey })).rejects.toThrow(RangeError);
});
