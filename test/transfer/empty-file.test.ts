import { describe, expect, test } from 'vitest';
import type { Behaviour } from '../support/origin/types.ts';
import { transferSuite } from '../support/transfer-suite.ts';
import { PART } from '../support/transfers.ts';

/** Servers answer a range of an empty file in many ways. */

const SIZE = 12 * PART + 345;
const { transfers, expectStored } = await transferSuite();

const WHOLE: Behaviour = { ignoreRange: true };
/** Uses one behaviour for every answer. */
const always = (behaviour: Behaviour) => () => behaviour;

describe('an empty file', () => {
  const EMPTY_206 = { status: 206, headers: { 'Content-Range': 'bytes 0--1/0' } };
  const answers: [string, Behaviour][] = [
    ['416 without Content-Range', { status: 416 }],
    ['416 with an invalid Content-Range', { status: 416, headers: { 'Content-Range': 'bytes 0-0/0' } }],
    ['206 with `bytes 0--1/0`', EMPTY_206],
    ['206 with `bytes 0-0/0`', { status: 206, headers: { 'Content-Range': 'bytes 0-0/0' } }],
    ['206 without Content-Range', { status: 206 }],
    ['204', { status: 204 }],
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
  ])('is stored if every GET is answered %s', async (_name, answer) => {
    const ran = await transfers.transferOf({ size: 0, script: always(answer) });

    expectStored(ran);
    expect(ran.requests).toHaveLength(2);
  });

  test.each(answers)(
    'is not assumed if Range is answered %s and the GET without Range has bytes',
    async (_name, answer) => {
      const ran = await transfers.transferOf({ size: SIZE, script: (r) => (r.headers.range ? answer : WHOLE) });

      expectStored(ran);
      expect([ran.strategy, ran.stored?.bytes]).toEqual(['single', SIZE]);
    },
  );
});
