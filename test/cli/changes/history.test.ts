import { expect, test } from 'vitest';
import { historySchema } from '../../../cli/changes/documents.ts';
import { aws } from '../support/cloud/cloud.ts';
import { dateOf, feedsOf, type Night } from './support.ts';

const OTHER = { changes: { ignore: ['note'] } };
const rowsOf = (...rows: string[]) => `id,name,note\n${rows.join('\n')}\n`;
/** A night whose feed is of all rows: other columns are ignored than before. */
const snapshot = (...rows: string[]): Night => ({ csv: rowsOf(...rows), settings: OTHER });

/** The history of a record as a document. */
async function documentOf({ history }: Awaited<ReturnType<typeof feedsOf>>, ...key: string[]) {
  const { code, stdout } = await history(...key, '--json');
  expect(code).toBe(0);
  return historySchema.parse(JSON.parse(stdout));
}

test('each version of a record stands with its dates and what has changed', async () => {
  const { history } = await feedsOf(
    rowsOf('1,Ann,x', '2,Ben,y'),
    rowsOf('1,Eve,x', '2,Ben,y'),
    rowsOf('2,Ben,y'),
    rowsOf('2,Ben,y'),
    rowsOf('1,Eve,z', '2,Ben,y'),
  );

  expect(await history('1')).toMatchObject({
    code: 0,
    stdout: [
      'leads, id 1: 3 versions',
      '  2026-11-20 to 2026-11-21  in a feed of all rows',
      '    name: Ann, note: x',
      '  2026-11-21 to 2026-11-22  updated  name: Ann -> Eve',
      '  2026-11-22                deleted',
      '  2026-11-24 on             inserted',
      '    name: Eve, note: z',
      'Known from 2026-11-20 to 2026-11-24, by the feeds 1 to 5.',
      '',
    ].join('\n'),
  });
  expect((await history('2')).stdout).toContain('leads, id 2: 1 version\n  2026-11-20 on ');
});

test('a snapshot goes on with the version that it has, updates another one, and ends one that it lacks', async () => {
  const world = await feedsOf(rowsOf('1,Ann,x', '2,Ben,x', '3,Cat,x'), snapshot('1,Ann,new', '2,Eve,x', '4,Dan,x'));

  const [same, other, gone, come] = await Promise.all(['1', '2', '3', '4'].map((id) => documentOf(world, id)));

  expect(same?.versions).toMatchObject([{ validFrom: dateOf(1), validTo: null, ended: null }]);
  expect(other?.versions).toMatchObject([
    { validFrom: dateOf(1), validTo: dateOf(2), began: 'snapshot', ended: 'update' },
    { validFrom: dateOf(2), began: 'snapshot', changed: [{ column: 'name', before: 'Ben', after: 'Eve' }] },
  ]);
  expect(gone?.versions).toMatchObject([{ validTo: dateOf(2), toSequence: 2, ended: 'snapshot' }]);
  expect(come?.versions).toMatchObject([{ validFrom: dateOf(2), fromSequence: 2, began: 'snapshot', changed: [] }]);
  expect((await world.history('3')).stdout).toContain(
    '  2026-11-21                gone: a feed of all rows lacks it\n',
  );
});

test.each([
  ['is gone', true],
  ['has lost its rows', false],
])('where a feed %s, the history says from which date on it is known', async (_, whole) => {
  const world = await feedsOf(rowsOf('1,Ann,x', '2,Ben,y'), rowsOf('1,Ann,x', '2,Cat,y'), rowsOf('1,Ann,x', '2,Dan,y'));
  world.lose(2, whole);

  expect(await documentOf(world, '2')).toMatchObject({
    ...{ knownFrom: dateOf(2), knownTo: dateOf(3), firstFeed: 3, lastFeed: 3 },
    versions: [
      { validFrom: null, validTo: dateOf(3), began: 'before', row: { name: 'Cat' } },
      { validFrom: dateOf(3), validTo: null, began: 'update' },
    ],
  });
  const { stdout } = await world.history('2');
  expect(stdout).toContain('  until 2026-11-22          as it was before the first feed that is known\n');
  expect(stdout).toMatch(/^Known from .*, by the feeds 3 to 3; earlier ones are gone, or had another key\.$/m);
  expect(await world.history('1')).toMatchObject({
    ...{ code: 1, stdout: '' },
    stderr: expect.stringMatching(
      /^No feed of leads from \S+ to \S+ has a row with id 1\. .* has not changed since\.$/m,
    ),
  });
});

test('where the chain has begun anew, the history is of that chain alone', async () => {
  const world = await feedsOf(rowsOf('1,Ann,x'), rowsOf('1,Ben,x'), rowsOf('1,Cat,x'), {
    csv: rowsOf('1,Dan,x'),
    anew: true,
  });

  expect(await documentOf(world, '1')).toMatchObject({
    ...{ knownFrom: dateOf(4), knownTo: dateOf(4), firstFeed: 1, lastFeed: 1 },
    versions: [{ validFrom: dateOf(4), validTo: null, row: { name: 'Dan' } }],
  });
});

test('with another key the history begins anew, and takes as many values as that has', async () => {
  const both = { changes: { key: ['name', 'id'] } };
  const world = await feedsOf(
    rowsOf('1,Ann,x'),
    { csv: rowsOf('1,Ann,x'), settings: both },
    { csv: rowsOf('1,Ann,y'), settings: both },
  );

  expect(await documentOf(world, 'Ann', '1')).toMatchObject({
    ...{ key: { name: 'Ann', id: '1' }, firstFeed: 2 },
    versions: [{ validFrom: dateOf(2) }, { validFrom: dateOf(3), changed: [{ column: 'note' }] }],
  });
  expect(await world.history('1')).toMatchObject({
    code: 2,
    stderr: 'A row of leads is known by name, id in the feed 3: give 2 values in this order, not 1.\n',
  });
});

test('a key that no feed has, and an entity without feeds, are one sentence each', async () => {
  const { history } = await feedsOf(rowsOf('1,Ann,x'));
  expect(await history('9')).toMatchObject({
    ...{ code: 1, stdout: '' },
    stderr: 'No feed of leads from 2026-11-20 to 2026-11-20 has a row with id 9.\n',
  });

  const { cli } = await aws();
  const { code, stdout, stderr } = await cli('history', 'leads', '9', '--json');
  expect(code).toBe(1);
  expect(stderr).toMatch(/^No feed of changes of leads stands here/);
  expect(JSON.parse(stdout)).toEqual({ ok: false, error: stderr.trimEnd() });
});

test('a key that identifies no row has several versions at a time, and one of too many rows is refused', async () => {
  const world = await feedsOf(rowsOf('1,Ann,x', '1,Ben,x'), rowsOf('1,Ann,x', '1,Eve,x'));
  expect((await documentOf(world, '1')).versions).toMatchObject([
    { row: { name: 'Ann' }, validTo: null },
    { row: { name: 'Ben' }, validTo: dateOf(2), ended: 'delete' },
    { row: { name: 'Eve' }, validFrom: dateOf(2), began: 'insert' },
  ]);

  const many = await feedsOf(rowsOf(...Array.from({ length: 1001 }, (_, place) => `1,n${place},x`)));
  expect(await many.history('1')).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^More than 1000 rows of the feed 1 have this key, so it identifies none\./),
  });
});

/** Numbers that look drawn, the same in every run. */
function drawn(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

test('on every date the versions that are valid are the rows of that night, whatever came, went, changed or was told anew', async () => {
  const draw = drawn(27);
  const ids = ['1', '2', '3', '4'];
  const nights = Array.from({ length: 20 }, () => {
    const rows = ids.flatMap((id) => Array.from({ length: [0, 1, 1, 1, 2][draw(5)] ?? 1 }, () => `${id},n${draw(3)},`));
    return { rows: rows.toSorted(), settings: draw(4) === 0 ? OTHER : {} };
  });
  const world = await feedsOf(...nights.map(({ rows, settings }) => ({ csv: rowsOf(...rows), settings })));
  const histories = await Promise.all(ids.map((id) => documentOf(world, id)));

  expect(histories.some(({ versions }) => versions.some(({ ended }) => ended === 'snapshot'))).toBe(true);
  for (const [place, { rows }] of nights.entries()) {
    const date = dateOf(place + 1);
    const valid = histories.flatMap(({ versions }) =>
      versions.filter(({ validFrom, validTo }) => (validFrom ?? '') <= date && (validTo === null || date < validTo)),
    );
    expect(valid.map(({ row }) => `${row.id},${row.name},`).toSorted(), date).toEqual(rows);
  }
});
