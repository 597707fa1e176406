import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { TableSettings } from '../../../core/config/table-settings.ts';
import { placeForTables, putTable } from '../table/support.ts';
import { judged, putFeed } from './support.ts';

const { dir } = await placeForTables();
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

const counts = (insert: number, deleted: number, updates = 0) => ({
  ...{ kind: 'changes', inserts: insert, deletes: deleted, updates },
});

const NFC = '\u00e9';
const NFD = 'e\u0301';
const MONEY = { type: 'decimal', precision: 18, scale: 2 } as const;
const LONG = 'שלום '.repeat(40_000);

test.each<[string, Case, object]>([
  [
    'composite keys that are equal when joined',
    { before: 'a,b\na,bc\n', after: 'a,b\nab,c\n', key: ['a', 'b'] },
    counts(1, 1),
  ],
  ['composite keys with swapped parts', { before: 'a,b\nx,y\n', after: 'a,b\ny,x\n', key: ['a', 'b'] }, counts(1, 1)],
  [
    'a composite key with an empty part',
    { before: 'a,b,c\nx,,1\n', after: 'a,b,c\nx,,2\n', key: ['a', 'b'] },
    { ...counts(1, 1), gone: 0, unmatched: 2 },
  ],
  [
    'a value in another Unicode normalization',
    { before: `id,n\n1,${NFC}\n`, after: `id,n\n1,${NFD}\n` },
    counts(0, 0, 1),
  ],
  ['a key in another Unicode normalization', { before: `id\n${NFC}\n`, after: `id\n${NFD}\n` }, counts(1, 1)],
  [
    'keys that differ by letter case or by a trailing blank',
    { before: 'id\na\nb\n', after: 'id\nA\nb \n' },
    counts(2, 2),
  ],
  ['numbers stored as texts, with a leading zero', { before: 'id,n\n1,1\n', after: 'id,n\n1,01\n' }, counts(0, 0, 1)],
  [
    'texts that are equal as integers',
    {
      before: 'id,n\n1,1\n01,2\n',
      after: 'id,n\n+1,01\n1,2\n',
      settings: { columns: { id: 'integer', n: 'integer' } },
    },
    { ...counts(0, 0), unmatched: 4 },
  ],
  [
    'zero and negative zero',
    { before: 'id,n\n1,0\n', after: 'id,n\n1,-0\n', settings: { columns: { n: 'double' } } },
    counts(0, 0),
  ],
  [
    'NaN and an empty value',
    { before: 'id,n\n1,NaN\n2,1\n', after: 'id,n\n1,\n2,1\n', settings: { columns: { n: 'double' } } },
    counts(0, 0),
  ],
  [
    'a 64-bit integer that a double would round',
    {
      before: 'id,n\n1,9007199254740992\n',
      after: 'id,n\n1,9007199254740993\n',
      settings: { columns: { n: 'integer' } },
    },
    counts(0, 0, 1),
  ],
  [
    'a decimal with a trailing zero',
    { before: 'id,n\n1,1.5\n', after: 'id,n\n1,1.50\n', settings: { columns: { n: MONEY } } },
    counts(0, 0),
  ],
  [
    'a decimal that a double would round',
    {
      before: 'id,n\n1,9999999999999999.98\n',
      after: 'id,n\n1,9999999999999999.99\n',
      settings: { columns: { n: MONEY } },
    },
    counts(0, 0, 1),
  ],
  [
    'an instant in another time zone',
    {
      before: 'id,n\n1,2026-11-22T08:00:00Z\n',
      after: 'id,n\n1,2026-11-22T10:00:00+02:00\n',
      settings: { columns: { n: 'timestamp' } },
    },
    counts(0, 0),
  ],
  [
    'timestamps that differ by a millisecond',
    {
      before: 'id,n\n1,1969-12-31T23:59:59.999Z\n',
      after: 'id,n\n1,1969-12-31T23:59:59.998Z\n',
      settings: { columns: { n: 'timestamp' } },
    },
    counts(0, 0, 1),
  ],
  [
    'a boolean that becomes empty',
    { before: 'id,n\n1,false\n', after: 'id,n\n1,\n', settings: { columns: { n: 'boolean' } } },
    counts(0, 0, 1),
  ],
  [
    'boolean keys',
    { before: 'id,n\ntrue,1\nfalse,1\n', after: 'id,n\n0,1\n1,2\n', settings: { columns: { id: 'boolean' } } },
    counts(0, 0, 1),
  ],
  [
    'a column that a short row does not have, then an empty text',
    { before: 'id,n,o\n1,a\n', after: 'id,n,o\n1,a,\n' },
    counts(0, 0, 1),
  ],
  [
    'a hashed key',
    { before: 'id,n\na,1\nb,1\n', after: 'id,n\nb,2\nc,1\n', settings: { hash: ['id'] }, hashKey: 'k' },
    counts(1, 1, 1),
  ],
  [
    'a hashed key that is empty',
    { before: 'id,n\n,1\n', after: 'id,n\n,2\n', settings: { hash: ['id'] }, hashKey: 'k' },
    { ...counts(1, 1), unmatched: 2 },
  ],
  ['rows in another order', { before: 'id\n1\n2\n3\n', after: 'id\n3\n1\n2\n' }, counts(0, 0)],
  ['a text of 200,000 characters', { before: `id,n\n1,${LONG}\n`, after: `id,n\n1,${LONG}!\n` }, counts(0, 0, 1)],
  ['a key of 200,000 characters', { before: `id\n${LONG}a\n`, after: `id\n${LONG}b\n` }, counts(1, 1)],
  ['a table that had no rows before', { before: 'id,n\n', after: 'id,n\n1,a\n' }, { ...counts(1, 0), keys: 0 }],
  [
    'a table that loses all its rows',
    { before: 'id,n\n1,a\n', after: 'id,n\n' },
    { ...counts(0, 1), keys: 1, gone: 1 },
  ],
  ['two tables without rows', { before: 'id,n\n', after: 'id,n\n' }, { ...counts(0, 0), keys: 0 }],
  [
    'texts with the bytes of a length prefix',
    { before: 'a,b\nx\0\0\0,y\n', after: 'a,b\nx,\0\0\0y\n', key: ['a', 'b'] },
    counts(1, 1),
  ],
])('writes exactly the changes of %s', async (_, given, expected) => {
  expect(await feedOf(given)).toMatchObject(expected);
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
