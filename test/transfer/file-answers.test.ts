import { describe, expect, test } from 'vitest';
import { inOrder } from '../support/origin/origin.ts';
import type { Behaviour, OriginScript } from '../support/origin/types.ts';
import { PART } from '../support/transfer-limits.ts';
import { always, ONE, transferSuite, WHOLE } from '../support/transfers.ts';

/**
 * Answers to a range of an empty file, which servers give in many ways, answers that refuse a range, and answers that hold
 * other bytes than they declare, or do not declare the size of the file.
 */

const SIZE = 12 * PART + 345;
const { transfers, expectStored } = await transferSuite();

describe('an empty file', () => {
  const EMPTY_206 = { status: 206, headers: { 'Content-Range': 'bytes 0--1/0' } };
  const answers: [string, Behaviour][] = [
    ['416 without Content-Range', { status: 416 }],
    ['416 with `bytes */0`', { status: 416, headers: { 'Content-Range': 'bytes */0' } }],
    ['416 with an invalid Content-Range', { status: 416, headers: { 'Content-Range': 'bytes 0-0/0' } }],
    ['206 with `bytes 0--1/0`', EMPTY_206],
    ['206 with `bytes 0-0/0`', { status: 206, headers: { 'Content-Range': 'bytes 0-0/0' } }],
    ['206 without Content-Range', { status: 206 }],
    ['204', { status: 204 }],
    ...[400, 405, 412, 501].map((status): [string, Behaviour] => [`${status}`, { status }]),
  ];

  test.each(answers)('is stored after one GET without Range if Range is answered %s', async (_name, answer) => {
    const ran = await transfers.transferOf({ size: 0, script: (r) => (r.headers.range ? answer : {}) });

    expectStored(ran);
    expect([ran.strategy, ran.stored?.bytes]).toEqual(['small', 0]);
    expect(ran.requests.map(({ headers }) => headers.range !== undefined)).toEqual([true, false]);
  });

  test.each<[string, Behaviour]>([
    ['204', { status: 204 }],
    ['206 with `bytes 0--1/0`', EMPTY_206],
    ['416 with `bytes */0`', { status: 416, headers: { 'Content-Range': 'bytes */0' } }],
  ])('is stored if every GET is answered %s', async (_name, answer) => {
    const ran = await transfers.transferOf({ size: 0, script: always(answer) });

    expectStored(ran);
    expect(ran.requests).toHaveLength(2);
  });

  test.each(answers)('is not assumed if only the GET with Range is answered %s', async (_name, answer) => {
    const ran = await transfers.transferOf({ size: SIZE, script: (r) => (r.headers.range ? answer : WHOLE) });

    expectStored(ran);
    expect([ran.strategy, ran.stored?.bytes]).toEqual(['single', SIZE]);
  });
});

test.each([
  ['with an ETag', '"1"'],
  ['without an ETag', null],
])('bytes beyond the end of a chunked range never become a part of the file, %s', async (_name, etag) => {
  const file = transfers.origin.file({ size: SIZE, etag });
  const bytes = file.bytes();
  file.setScript(({ range, offset }) => {
    if (range === undefined) return undefined;
    const end = Math.min(Number(/-(\d+)$/.exec(range)?.[1] ?? SIZE) + 1, SIZE);
    const headers = { 'Content-Range': `bytes ${offset}-${end - 1}/${SIZE}`, ...(etag && { ETag: etag }) };
    const body = Buffer.concat([bytes.subarray(offset, end), Buffer.alloc(3 * PART, 'Z')]);
    return { status: 206, framing: 'chunked', body, headers };
  });

  for (const connections of [1, 4]) {
    expectStored(await transfers.transferOf(file, { connections }));
  }
});

test.each([
  ['that does not state how long the file is', `bytes 0-${PART - 1}/*`],
  ['without Content-Range', ''],
  ['with a negative last byte', 'bytes 0--1/7'],
  ['in another syntax', `bytes=0-${PART - 1}/${SIZE}`],
  ['in another unit', `pages 0-3/9`],
  ['of another length than its body', `bytes 0-${PART - 2}/${SIZE}`],
])('after the answer to the first range %s, the file is read in one piece', async (_name, contentRange) => {
  const ran = await transfers.transferOf({ size: SIZE, script: () => ({ contentRange }) });

  expectStored(ran);
  expect([ran.strategy, ran.requests.length]).toEqual(['single', 2]);
});

test.each<[string, Behaviour, framing?: Behaviour['framing']]>([
  ['with Content-Range', { headers: { 'Content-Range': `bytes 0-${PART - 1}/${SIZE}` } }],
  ['without Content-Range', {}],
  ['in chunks', { framing: 'chunked' }],
  ['in chunks, and whole in chunks', { framing: 'chunked' }, 'chunked'],
  ['without an end', { framing: 'close' }],
])(
  'after a first range that is answered 200, %s, the file is read in one piece',
  async (_name, answer, framing = 'length') => {
    const file = transfers.origin.file({ size: SIZE });
    const body = file.bytes().subarray(0, PART);
    file.setScript(({ range }) => (range ? { status: 200, body, ...answer } : { ...WHOLE, framing }));

    const ran = await transfers.transferOf(file, { allowUndeclaredEnd: true });

    expectStored(ran);
    expect([ran.strategy, ran.requests.length]).toEqual(['single', 2]);
  },
);

test('a whole file is stored even if it is sent as a range that was not requested', async () => {
  const file = transfers.origin.file({ size: SIZE });
  const body = file.bytes();
  file.setScript(() => ({ status: 206, body, headers: { 'Content-Range': `Bytes 0-${SIZE - 1}/${SIZE}` } }));

  expectStored(await transfers.transferOf(file));
});

test.each([200, 206])('never stores a part that is sent as the whole file (%i)', async (status) => {
  const file = transfers.origin.file({ size: SIZE });
  const body = file.bytes().subarray(0, PART);
  file.setScript(({ range }) =>
    range ? { status: 416 } : { status, body, headers: { 'Content-Range': `bytes 0-${PART - 1}/${SIZE}` } },
  );

  await expect(transfers.transferOf(file)).resolves.toMatchObject({ stored: undefined });
});

test('a file whose ETag changes begins again, even if the origin ignores If-Match', async () => {
  const script = inOrder({}, { seed: 77, headers: { ETag: '"other"' } });
  const ran = await transfers.transferOf({ size: SIZE, script }, ONE);

  expectStored(ran);
  expect(ran.restarts).toBe(1);
});

test.each<[string, OriginScript]>([
  ['servers behind one address that each have their own ETag', ({ number }) => ({ etag: `"server-${number % 3}"` })],
  ['an origin that answers 416 to each range after the first', ({ offset }) => (offset > 0 ? { status: 416 } : {})],
  ['an origin that refuses If-Match', (r) => (r.headers['if-match'] ? { status: [405, 501][r.number % 2] } : {})],
  ['an origin that ignores each range after the first', ({ offset }) => (offset > 0 ? WHOLE : {})],
  [
    'an origin that sends other bytes than each later range requests',
    ({ offset }) => (offset > 0 ? { contentRange: `bytes ${offset + 5}-${offset + PART}/${SIZE}` } : {}),
  ],
  [
    'an origin that states another size with each later range',
    ({ offset }) => (offset > 0 ? { contentRange: `bytes ${offset}-${SIZE - 2}/${SIZE - 1}` } : {}),
  ],
  [
    'an origin that sends one byte of each later range',
    ({ offset }) => {
      const headers = { 'Content-Range': `bytes ${offset}-${offset}/${SIZE}`, ETag: '"1"' };
      return offset > 0 ? { status: 206, body: 'x', headers } : { etag: '"1"' };
    },
  ],
  ['an origin whose later ranges are unreadable', ({ offset }) => (offset > 0 ? { contentRange: 'bytes */*' } : {})],
])('%s: after three restarts the file is read in one piece', async (_name, script) => {
  const ran = await transfers.transferOf({ size: SIZE, script });

  expectStored(ran);
  expect([ran.strategy, ran.restarts]).toEqual(['single', 3]);
});
