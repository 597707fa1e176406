import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { ColumnType, TableSettings } from '../../../core/config/table-settings.ts';
import { expectMessages } from '../../support/screen.ts';
import { placeForTables, putTable } from '../table/support.ts';
import { judged, putFeed } from './support.ts';

const { dir, duckDb } = await placeForTables();
const paths = { before: join(dir, 'before.parquet'), after: join(dir, 'after.parquet') };
const feedPath = join(dir, 'changes.parquet');

interface Case {
  before: string;
  after: string;
  key?: string[];
  settings?: Partial<TableSettings>;
  hashKey?: string;
}

async function feedOf({ before, after, key = ['id'], settings = {}, hashKey }: Case) {
  const more = { settings, ...(hashKey && { hashKey }) };
  await putTable(paths.before, { content: before, ...more });
  await putTable(paths.after, { content: after, ...more });
  return putFeed(feedPath, { ...paths, key });
}

const counts = (inserts: number, deletes: number, updates = 0, more: object = {}) => ({
  ...{ kind: 'changes', inserts, deletes, updates, ...more },
});

const MONEY = { type: 'decimal', precision: 18, scale: 2 } as const;
const LONG = 'שלום '.repeat(40_000);

const typed = (...[type, name = 'n']: [ColumnType, string?]): Partial<Case> => ({
  settings: { columns: { [name]: type } },
});
const AB: Partial<Case> = { key: ['a', 'b'] };
const HASHED: Partial<Case> = { settings: { hash: ['id'] }, hashKey: 'k' };
const INTEGERS: Partial<Case> = { settings: { columns: { id: 'integer', n: 'integer' } } };
const TIMES = typed('timestamp');
const KEYLESS = counts(1, 1, 0, { gone: 0, unmatched: 2 });
/** A table of one row, with the id 1 and this value. */
const one = (value: string) => `id,n\n1,${value}\n`;

const whole = (digit: string) => one(`900719925474099${digit}`);
const sixteen = (digit: string) => one(`9999999999999999.9${digit}`);
const instant = (time: string) => one(`1969-12-31T${time}`);

test.each<[what: string, before: string, after: string, expected: object, more?: Partial<Case>]>([
  ['a composite key partly empty', 'a,b,c\nx,,1\n', 'a,b,c\nx,,2\n', KEYLESS, AB],
  ['keys that differ by letter case or a trailing blank', 'id\na\nb\n', 'id\nA\nb \n', counts(2, 2)],
  ['numbers stored as texts, with a leading zero', one('1'), one('01'), counts(0, 0, 1)],
  ['texts equal as integers', 'id,n\n1,1\n01,2\n', 'id,n\n+1,01\n1,2\n', counts(0, 0, 0, { unmatched: 4 }), INTEGERS],
  ['zero and negative zero', one('0'), one('-0'), counts(0, 0), typed('double')],
  ['NaN and an empty value', 'id,n\n1,NaN\n2,1\n', 'id,n\n1,\n2,1\n', counts(0, 0), typed('double')],
  ['an integer too large for a double', whole('2'), whole('3'), counts(0, 0, 1), typed('integer')],
  ['a decimal with a trailing zero', one('1.5'), one('1.50'), counts(0, 0), typed(MONEY)],
  ['a decimal too long for a double', sixteen('8'), sixteen('9'), counts(0, 0, 1), typed(MONEY)],
  ['an instant in another time zone', instant('08:00:00Z'), instant('10:00:00+02:00'), counts(0, 0), TIMES],
  ['times a millisecond apart', instant('08:00:00.999Z'), instant('08:00:00.998Z'), counts(0, 0, 1), TIMES],
  ['a boolean that becomes empty', one('false'), one(''), counts(0, 0, 1), typed('boolean')],
  ['boolean keys', 'id,n\ntrue,1\nfalse,1\n', 'id,n\n0,1\n1,2\n', counts(0, 0, 1), typed('boolean', 'id')],
  ['a value that a short row does not have, then an empty text', 'id,n,o\n1,a\n', 'id,n,o\n1,a,\n', counts(0, 0, 1)],
  ['a hashed key', 'id,n\na,1\nb,1\n', 'id,n\nb,2\nc,1\n', counts(1, 1, 1), HASHED],
  ['a hashed key that is empty', 'id,n\n,1\n', 'id,n\n,2\n', counts(1, 1, 0, { unmatched: 2 }), HASHED],
  ['a typed key that is empty', 'id,n\n,1\n', 'id,n\n,2\n', KEYLESS, typed(MONEY, 'id')],
  ['a text of 200,000 characters', one(LONG), one(`${LONG}!`), counts(0, 0, 1)],
  ['a key of 200,000 characters', `id\n${LONG}a\n`, `id\n${LONG}b\n`, counts(1, 1)],
  ['a table that had no rows before', 'id,n\n', one('a'), counts(1, 0, 0, { keys: 0 })],
  ['a table that loses all its rows', one('a'), 'id,n\n', counts(0, 1, 0, { keys: 1, gone: 1 })],
  ['two tables without rows', 'id,n\n', 'id,n\n', counts(0, 0, 0, { keys: 0 })],
  ['texts with the bytes of a length prefix', 'a,b\nx\0\0\0,y\n', 'a,b\nx,\0\0\0y\n', counts(1, 1), AB],
])('writes exactly the changes of %s', async (_, before, after, expected, more) => {
  expect(await feedOf({ before, after, ...more })).toMatchObject(expected);
  const { taken, gone, added, come } = await judged({ ...paths, feed: feedPath });
  expect([taken, added]).toEqual([gone, come]);
});

test('counts rows, not keys, if the hashes of the key are by another secret, however the settings name its column', async () => {
  const hashed = { content: 'id,n\na,1\nb,1\n', settings: { hash: ['id'] } };
  await putTable(paths.before, { ...hashed, hashKey: 'k', identity: 'one' });
  await putTable(paths.after, { ...hashed, hashKey: 'q', identity: 'two' });

  expect(await putFeed(feedPath, paths)).toMatchObject({ kind: 'snapshot', of: 'rows', rows: 2, gone: 0 });
});

test('compares keys that are hashed by the same secret under other settings', async () => {
  const hashed = { settings: { hash: ['id'] }, hashKey: 'k' };
  await putTable(paths.before, { ...hashed, content: 'id,n\na,1\nb,1\n', identity: 'one' });
  await putTable(paths.after, { ...hashed, content: 'id,n\na,1\nc,1\n', identity: 'two' });

  expect(await putFeed(feedPath, paths)).toMatchObject({ kind: 'snapshot', of: 'keys', keys: 2, gone: 1 });
});

test('compares the keys of a column named "undefined" that is not hashed', async () => {
  await putTable(paths.before, { content: 'undefined,n\na,1\nb,1\n', identity: 'one' });
  await putTable(paths.after, { content: 'undefined,n\na,1\n', identity: 'two' });

  expect(await putFeed(feedPath, { ...paths, key: ['undefined'] })).toMatchObject({ kind: 'snapshot', gone: 1 });
});

test('each row of a feed contains its change type, sequence number, kind, runs and dates', async () => {
  const feed = await feedOf({ before: 'id,name\n1,a\n2,b\n', after: 'id,name\n2,c\n3,d\n' });

  expect(await duckDb.rows(`select * from read_parquet('${feedPath}') order by id, _change_type desc`)).toEqual(
    [
      ['delete', '7', 'changes', 'leads-1', 'leads-2', '2026-11-21', '2026-11-22', '1', 'a'],
      ['update_preimage', '7', 'changes', 'leads-1', 'leads-2', '2026-11-21', '2026-11-22', '2', 'b'],
      ['update_postimage', '7', 'changes', 'leads-1', 'leads-2', '2026-11-21', '2026-11-22', '2', 'c'],
      ['insert', '7', 'changes', 'leads-1', 'leads-2', '2026-11-21', '2026-11-22', '3', 'd'],
    ].sort((a, b) => `${a[7]}${b[0]}`.localeCompare(`${b[7]}${a[0]}`)),
  );
  expect(feed).toMatchObject({ rows: 2, keys: 2, gone: 1, unmatched: 0 });
});

test('writes a feed without rows, with the columns of the table, for equal tables', async () => {
  expect(await feedOf({ before: one('a'), after: one('a') })).toMatchObject({ kind: 'changes', inserts: 0 });
  expect(await duckDb.columns('changes.parquet')).toContain('n VARCHAR');
  expect(await duckDb.rows(`select count(*)::int from read_parquet('${feedPath}')`)).toEqual([[0]]);
});

test('refuses a feed of a table with a column of feeds, or without a column that the settings name', async () => {
  const refused: [column: string, plan: { key: string[]; ignore?: string[] }][] = [
    ['_kind', { key: ['_kind'] }],
    ['_Change_Type', { key: ['_change_type'] }],
    ['Run', { key: ['run'] }],
    ['id', { key: ['number'] }],
    ['id', { key: ['id'], ignore: ['updatedat'] }],
  ];
  const told: [what: string, error: string][] = [];
  for (const [column, plan] of refused) {
    await putTable(paths.after, { content: `${column}\n1\n` });
    const ended = putFeed(feedPath, { before: null, after: paths.after, ...plan });
    told.push([`${column} ${JSON.stringify(plan)}`, await ended.then(() => 'written', String)]);
  }
  await expectMessages('feed-refused', told);
});
