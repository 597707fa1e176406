import { expect, test } from 'vitest';
import type { OriginScript } from '../support/origin/types.ts';
import { transferSuite } from '../support/transfer-suite.ts';
import { PART } from '../support/transfers.ts';

/** Answers to a range that hold other bytes than they declare, or do not declare the size of the file. */

const SIZE = 12 * PART + 345;
const { transfers, expectStored } = await transferSuite();

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

  for (const most of [1, 4]) {
    expectStored(await transfers.transferOf(file, { connections: { initial: most, most } }));
  }
});

test('a range that does not say how long the file is: the file is read in one piece', async () => {
  const contentRange = `bytes 0-${PART - 1}/*`;

  const ran = await transfers.transferOf({ size: SIZE, script: () => ({ contentRange }) });

  expectStored(ran);
  expect([ran.strategy, ran.requests.length]).toEqual(['single', 2]);
});

test.each<[string, OriginScript]>([
  ['servers behind one address that each have their own ETag', ({ number }) => ({ etag: `"server-${number % 3}"` })],
  ['an origin that answers 416 to each range after the first', ({ offset }) => (offset > 0 ? { status: 416 } : {})],
])('%s: after three restarts the file is read in one piece', async (_name, script) => {
  const ran = await transfers.transferOf({ size: SIZE, script });

  expectStored(ran);
  expect([ran.strategy, ran.restarts]).toEqual(['single', 3]);
});
