import { describe, expect, test } from 'vitest';
import type { FileHead } from '../../transfer/base/types.ts';
import { busy, EXPIRED, HTML_PAGE, inOrder, XML_ERROR } from '../support/origin/origin.ts';
import type { Behaviour, OriginRequest, OriginScript, ServedRequest } from '../support/origin/types.ts';
import { randomFrom } from '../support/seeds.ts';
import { IMPATIENT, KIB, PART, secondsFor } from '../support/transfer-limits.ts';
import { always, CHUNKED, type Changes, ONE, type Ran, transferSuite, WHOLE } from '../support/transfers.ts';

/** Origins that cut, lie, stall and change the file. */

const SIZE = 12 * PART + 345;
const { transfers, expectStored, expectNothing } = await transferSuite();

/** Uses the given behaviours for the first answers, then the last one. */
const first = (behaviours: Behaviour[], then: Behaviour) => (request: OriginRequest) =>
  behaviours[request.number - 1] ?? then;
const SLOW_TO_TELL: Changes = { limits: { idleMs: 300, firstByteMs: 300 } };
const LIES = [{ addToLength: 100 }, { addToLength: -100 }, { extraBytes: 50 }].map((lie) => ({ ...WHOLE, ...lie }));
const IN_THE_PAST = [busy(429, new Date(0).toUTCString()), busy(503, 'Thu, 01 Jan 1970 00:00:00 GMT')];

/** Whether a request waits for its answer, or the bytes of its range are being sent. */
const isUnfinished = ({ status, bytesSent, range }: ServedRequest) => {
  const [from = 0, last = 0] = (range?.match(/\d+/g) ?? []).map(Number);
  return status === 0 || (status === 206 && bytesSent < last + 1 - from);
};

describe('the file is stored', () => {
  test.each<[what: string, script: OriginScript, size?: number, changes?: Changes]>([
    ['after wrong lengths', first(LIES, WHOLE)],
    ['after 429 with a short Retry-After', inOrder(busy(429, '0'), {}, busy(429), busy(429, '1'))],
    ['after 503 with a short Retry-After', inOrder(busy(503, '0'), {}, busy(503), busy(503, '1'))],
    ['after a Retry-After in the past', inOrder(...IN_THE_PAST)],
    ['after resets before any byte', inOrder({ reset: true }, { reset: true }, {}, { reset: true }, { reset: true })],
    ['after a silence in a range', inOrder({}, { stallAfter: 70_000 }), SIZE, SLOW_TO_TELL],
    ['after a silence in a file', first([{ ...WHOLE, stallAfter: 200_000 }], WHOLE), SIZE, SLOW_TO_TELL],
    ['after a silence in a small file', inOrder({ stallAfter: 2000 }), 5000, SLOW_TO_TELL],
    ['after a silence before an answer', inOrder({ delayMs: 60_000 }), SIZE, SLOW_TO_TELL],
    ['after a silence before a body', inOrder({ stallAfter: 0 }), SIZE, SLOW_TO_TELL],
    ['exactly at the limit of a declared length', always({}), SIZE, { maxBytes: SIZE }],
    ['exactly at the limit without a declared length', always(CHUNKED), SIZE, { maxBytes: SIZE }],
  ])('%s', async (_what, script, size = SIZE, changes = {}) => {
    expectStored(await transfers.transferOf({ size, script }, changes));
  });

  test.each<[strategy: string, size: number, usual: Behaviour]>([
    ['ranged', SIZE, {}],
    ['single', SIZE, WHOLE],
    ['of unknown length', SIZE, CHUNKED],
    ['small', PART - 5, {}],
  ])('whole, if a %s file is cut at random offsets', async (_strategy, size, usual) => {
    const random = randomFrom(size);
    const scripts = Array.from({ length: 10 }, () => {
      const cut = { ...usual, cutAfter: Math.floor(random() * size) };
      return first([cut, cut], usual);
    });

    const ran = await Promise.all(scripts.map((script) => transfers.transferOf({ size, script })));

    for (const one of ran) expectStored(one);
  });

  test('from the cut on, if a range is cut repeatedly', async () => {
    const ran = await transfers.transferOf({ size: 30 * PART, script: always({ endAfter: 300_000 }) }, ONE);

    expectStored(ran);
    const cuts = [0, 1, 2, 3, 4, 5, 6].map((cut) => PART + cut * 300_000);
    expect(ran.requests.map(({ offset }) => offset)).toEqual([0, ...cuts]);
  });

  test('from ranges shorter than requested, which do not count as failures', async () => {
    const size = 30 * PART;
    const file = transfers.origin.file({ size, etag: '"1"' });
    const bytes = file.bytes();
    file.setScript(({ number, offset }) => {
      if (number === 1) return undefined;
      const end = Math.min(offset + 300 * KIB, size);
      const headers = { 'Content-Range': `bytes ${offset}-${end - 1}/${size}`, ETag: '"1"' };
      return { status: 206, body: bytes.subarray(offset, end), headers };
    });

    expectStored(await transfers.transferOf(file, { ...ONE, limits: { attempts: 1 } }));
  });

  test('after two pages, each with a new link', async () => {
    const ran = await transfers.transferOf({ size: SIZE, script: inOrder(HTML_PAGE, XML_ERROR) });

    expectStored(ran);
    expect(ran.asks).toBe(3);
  });

  test.each(['W/"1"', null, 'abc'])('in one piece, if its ETag proves no version: %s', async (etag) => {
    const ran = await transfers.transferOf({ size: SIZE, etag });

    expectStored(ran);
    expect(ran.strategy).toBe('single');
    expect(ran.requests.map(({ headers }) => headers['if-match'])).toEqual([undefined, undefined]);
  });

  test('no earlier than its Retry-After', async () => {
    const began = performance.now();

    expectStored(await transfers.transferOf({ size: 1000, script: inOrder(busy(503, '1')) }));
    expect(performance.now() - began).toBeGreaterThanOrEqual(990);
  });

  test('with 429 on four of eight connections: these end at once, and the others take their parts', async () => {
    // Two parts for each connection, so that no connection takes a part of another one.
    const file = transfers.origin.file({ size: 16 * PART });
    const refused = new Set<number>();
    const allRefused = Promise.withResolvers<void>();
    file.setScript(({ offset }) => {
      if (offset === 0) return {};
      // Slow enough that a refused connection would ask again before one of these ends.
      if (offset < 8 * PART) return { waitFor: allRefused.promise, bytesPerSecond: 1_000_000 };
      if (refused.has(offset) && file.requests.filter(isUnfinished).length <= 4) return {};
      refused.add(offset);
      if (refused.size === 4) allRefused.resolve();
      return busy(429, '0');
    });

    const ran = await transfers.transferOf(file, { connections: 8 });

    expectStored(ran);
    const offsetsWith = (of: number) =>
      ran.requests.flatMap(({ status, offset }) => (status === of ? [offset / PART] : []));
    expect(offsetsWith(429)).toHaveLength(4);
    // The first request is for one part. Each other one is for all parts of a connection: none of the four ends early.
    expect(offsetsWith(206).toSorted((a, b) => a - b)).toEqual([0, 1, 2, 4, 6, 8, 10, 12, 14]);
  });
});

/** A range of one byte, or of none, in place of the requested one. */
const shorterThanAsked = (body: string) => (request: OriginRequest) => {
  const last = body ? request.offset : Math.min(request.offset + PART, SIZE) - 1;
  const headers = { 'Content-Range': `bytes ${request.offset}-${last}/${SIZE}`, ETag: '"1"' };
  return { status: 206, body, headers, ...(!body && { framing: 'chunked' as const }) };
};

describe('nothing is stored', () => {
  type Lie = [what: string, reason: string, script: OriginScript, size?: number, changes?: Changes];
  test.each<Lie>([
    ['cut at the same byte each time', 'incomplete', always({ ...WHOLE, endAfter: 300_000 })],
    ['cut at the same byte each time, of unknown length', 'incomplete', always({ ...CHUNKED, endAfter: 300_000 })],
    ['a length larger than the body, small', 'incomplete', always({ ...WHOLE, addToLength: 100 }), 30_000],
    ['a length larger than the body', 'incomplete', always({ ...WHOLE, addToLength: 100 })],
    ['a length smaller than the body, small', 'incomplete', always({ ...WHOLE, addToLength: -100 }), 30_000],
    ['a length smaller than the body', 'incomplete', always({ ...WHOLE, addToLength: -100 })],
    ['surplus bytes, small', 'incomplete', always({ ...WHOLE, extraBytes: 64 }), 30_000],
    // The slow sender sends the declared bytes in one piece, and the surplus after it.
    ['late surplus', 'incomplete', always({ ...WHOLE, extraBytes: 64, bytesPerSecond: 600_000 }), 30_000],
    ['surplus bytes', 'incomplete', always({ ...WHOLE, extraBytes: 100_000 })],
    ['a chunked body that is cut', 'incomplete', always({ ...CHUNKED, cutAfter: 100_000 })],
    ['a small chunked body that is cut', 'incomplete', always({ ...CHUNKED, cutAfter: 10_000 }), 30_000],
    ['an undeclared end', 'refused', always({ ...WHOLE, framing: 'close' })],
    ['an undeclared end, cut', 'refused', always({ ...WHOLE, framing: 'close', endAfter: 9 })],
    ['empty ranges', 'incomplete', shorterThanAsked('')],
    ['ranges of one byte', 'incomplete', shorterThanAsked('x')],
    ['neither 200 nor 206', 'incomplete', always({ status: 203 })],
    ['204 in the middle', 'incomplete', (r) => (r.offset > 0 ? { status: 204 } : {})],
    ['416 to every request', 'link-expired', always({ status: 416 })],
    ['a redirect without a location', 'incomplete', always({ status: 302 })],
    ['a silent body each time', 'stalled', always({ ...WHOLE, stallAfter: 1000 }), SIZE, { limits: IMPATIENT }],
    ['no answer each time', 'source-unavailable', always({ delayMs: 60_000 }), SIZE, { limits: IMPATIENT }],
    [
      'less than the minimum rate',
      'stalled',
      always({ ...WHOLE, bytesPerSecond: 20 }),
      SIZE,
      { limits: { floorMs: 150, idleMs: 2000 } },
    ],
  ])('%s: ends in %s after a bounded number of requests', async (_what, reason, script, size = SIZE, changes = {}) => {
    const ran = await transfers.transferOf({ size, script }, changes);

    expectNothing(ran, reason);
    expect(ran.requests.length).toBeLessThan(80);
  });

  test.each<[what: string, reason: string, answer: Behaviour, asks: number]>([
    ['an HTML page', 'refused', HTML_PAGE, 5],
    ['an XML page', 'refused', XML_ERROR, 5],
    ['an HTML page that comes byte by byte', 'refused', { ...HTML_PAGE, framing: 'chunked', pieceBytes: 1 }, 5],
    ['an XML page that comes byte by byte', 'refused', { ...XML_ERROR, framing: 'chunked', pieceBytes: 1 }, 5],
    ['an expired address', 'link-expired', EXPIRED, 5],
    ['429', 'rate-limited', busy(429), 1],
    ['503', 'source-unavailable', busy(503, 'soon'), 1],
    ['500', 'source-unavailable', { status: 500 }, 1],
    ['408', 'source-unavailable', { status: 408 }, 1],
    ['a reset before any byte', 'source-unavailable', { reset: true }, 1],
  ])('%s each time: ends in %s after five requests', async (_what, reason, answer, asks) => {
    const ran = await transfers.transferOf({ size: SIZE, script: always(answer) });

    expectNothing(ran, reason);
    expect([ran.asks, ran.requests.length, ran.calls]).toEqual([asks, 5, []]);
  });

  test.each<[what: string, behaviour: Behaviour, creates: number]>([
    ['declared', {}, 0],
    ['declared, without ranges', WHOLE, 0],
    ['declared one byte too large', { ...WHOLE, addToLength: 1 }, 0],
    ['undeclared', CHUNKED, 1],
  ])('a file over the limit, %s: ends in too-large', async (_what, behaviour, creates) => {
    const ran = await transfers.transferOf({ size: SIZE, script: always(behaviour) }, { maxBytes: SIZE - 1 });

    expectNothing(ran, 'too-large');
    expect(ran.callsOf('CreateMultipartUpload')).toHaveLength(creates);
  });
});

test('the first KB is inspected for any chunk size, or all of a shorter file, and is stored', async () => {
  const looked: number[] = [];
  const sizes = [0, 1, 1023, 1024, 1025, SIZE];
  for (const size of sizes) {
    const key = `runs/looked/${size}.csv`;
    const nameObject = (_head: FileHead, seen: Uint8Array) => {
      looked.push(seen.length);
      return { key, contentType: 'text/csv' };
    };
    expectStored(
      await transfers.transferOf({ size, script: always({ ...CHUNKED, pieceBytes: 100 }) }, { key, nameObject }),
    );
  }

  // Bytes that have arrived with the last inspected byte are also passed on.
  expect(looked.slice(0, -1)).toEqual([0, 1, 1023, 1024, 1025]);
  expect(looked.at(-1)).toBeGreaterThanOrEqual(1024);
});

describe('a file that changes', () => {
  const OTHER = { seed: 77, etag: '"other"' };
  /** Expects one restart, and the file of a seed, or the first one. */
  function expectAgain(ran: Ran, seed?: number): void {
    const { size } = ran.file;
    const stored = seed === undefined ? ran.file : transfers.origin.file({ size, seed });
    expect([ran.outcome, ran.restarts, ran.stored?.crc32]).toEqual(['stored', 1, stored.digests().crc32]);
    expect(ran.body?.equals(stored.bytes())).toBe(true);
    expect(transfers.open(ran.key)).toEqual([]);
  }

  test.each<[how: string, size: number, script: OriginScript, seed?: number]>([
    ['midway', SIZE, ({ number }) => (number >= 3 ? OTHER : {}), 77],
    ['midway, without ranges', SIZE, first([{ ...WHOLE, endAfter: 400_000 }], { ...WHOLE, seed: 77 }), 77],
    ['into a shorter one', SIZE, inOrder({}, {}, { status: 416 })],
    ['and has no strong ETag for a while', 16 * PART, inOrder({}, {}, { etag: null, seed: 77 })],
  ])('%s: begins again once, and stores one whole file', async (_how, size, script, seed) => {
    expectAgain(await transfers.transferOf({ size, script }), seed);
  });

  test('between two calls: begins again because of the ETag', async () => {
    const paused = await transfers.transferOf({ size: SIZE }, { secondsLeft: secondsFor(6) });
    expect(paused.outcome).toBe('unfinished');
    paused.file.setScript(() => OTHER);

    expectAgain(await transfers.transferOf(paused.file, { key: paused.key, resume: paused.resume }), 77);
  });
});

describe('an address that expires', () => {
  test.each([403, 410, 401, 400, 404])(
    'midway with %i: requests a new address and continues at the byte',
    async (status) => {
      const script = inOrder({}, { endAfter: 100_000 }, { ...EXPIRED, status });

      const ran = await transfers.transferOf({ size: SIZE, script }, ONE);

      expectStored(ran);
      expect(ran.requests.map(({ offset }) => offset)).toEqual([0, PART, PART + 100_000, PART + 100_000]);
      expect(ran.asks).toBe(2);
    },
  );
});

test('reads less than half of the file while the store accepts nothing', async () => {
  const size = 32 * 1024 * KIB;
  const file = transfers.origin.file({ size, script: always(WHOLE) });
  const sent = () => file.requests[0]?.bytesSent ?? 0;
  const [taken, created] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];

  const running = transfers.transferOf(file, {
    limits: { largestPartBytes: size, smallestPartBytes: size / 2 },
    faults: ({ operation }) => {
      if (operation !== 'CreateMultipartUpload') return undefined;
      created.resolve();
      return { waitFor: taken.promise };
    },
  });
  await created.promise;
  let seen = -1;
  const isStill = () => {
    const before = seen;
    seen = sent();
    return before === seen;
  };
  await expect.poll(isStill, { interval: 100 }).toBe(true);
  const waiting = sent();
  taken.resolve();
  const ran = await running;

  // The limit covers the kernel's buffers of both ends and a block of the client.
  expect(waiting).toBeLessThan(size / 2);
  expectStored(ran);
});
