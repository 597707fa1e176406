import { gunzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { LIMITS } from '../../transfer/base/limits.ts';
import type { TransferError } from '../../transfer/base/transfer-errors.ts';
import type { FileHead } from '../../transfer/base/types.ts';
import { busy, EXPIRED, HTML_PAGE, inOrder, XML_ERROR } from '../support/origin/origin.ts';
import type { Behaviour, OriginRequest, OriginScript } from '../support/origin/types.ts';
import { randomFrom } from '../support/seeds.ts';
import { transferSuite } from '../support/transfer-suite.ts';
import { IMPATIENT, KIB, NOTHING, PART, secondsFor } from '../support/transfers.ts';

/** Origins that cut, lie, stall and change the file. */

const SIZE = 12 * PART + 345;
const { transfers, expectStored, expectNothing } = await transferSuite();

const WHOLE: Behaviour = { ignoreRange: true };
const CHUNKED: Behaviour = { ignoreRange: true, framing: 'chunked' };
/** Uses one behaviour for every answer. */
const always = (behaviour: Behaviour) => () => behaviour;
/** Uses the given behaviours for the first answers, then the last one. */
const first = (behaviours: Behaviour[], then: Behaviour) => (request: OriginRequest) =>
  behaviours[request.number - 1] ?? then;

describe('a body that is cut', () => {
  const strategies: [string, number, Behaviour][] = [
    ['ranged', SIZE, {}],
    ['single', SIZE, WHOLE],
    ['of unknown length', SIZE, CHUNKED],
    ['small', PART - 5, {}],
  ];
  test.each(strategies)(
    'at random offsets of a %s file is stored whole after retries',
    async (_strategy, size, usual) => {
      const random = randomFrom(size);
      const offsets = Array.from({ length: 10 }, () => Math.floor(random() * size));

      const ran = await Promise.all(
        offsets.map((cutAfter) =>
          transfers.transferOf({
            size,
            script: first(
              [
                { ...usual, cutAfter },
                { ...usual, cutAfter },
              ],
              usual,
            ),
          }),
        ),
      );

      for (const one of ran) expectStored(one);
    },
  );

  test('repeatedly in a range continues at the cut and is stored', async () => {
    const size = 30 * PART;

    const ran = await transfers.transferOf(
      { size, script: always({ endAfter: 300_000 }) },
      { connections: { initial: 1, most: 1 } },
    );

    expectStored(ran);
    const cuts = [0, PART, 1, 2, 3, 4, 5, 6].map((cut) => (cut === 0 || cut === PART ? cut : PART + cut * 300_000));
    expect(ran.requests.map(({ offset }) => offset)).toEqual(cuts);
  });

  test.each([
    ['a file without ranges', WHOLE],
    ['a file of unknown length', CHUNKED],
  ])('repeatedly at the same byte of %s ends in incomplete', async (_name, usual) => {
    const ran = await transfers.transferOf({ size: SIZE, script: always({ ...usual, endAfter: 300_000 }) });

    expectNothing(ran, 'incomplete');
  });
});

describe('a body that contradicts its headers', () => {
  const cases: [string, number, OriginScript, string][] = [
    ['the length is larger than the body (small)', 30_000, always({ ...WHOLE, addToLength: 100 }), 'incomplete'],
    ['the length is larger than the body (single)', SIZE, always({ ...WHOLE, addToLength: 100 }), 'incomplete'],
    ['the length is smaller than the body (small)', 30_000, always({ ...WHOLE, addToLength: -100 }), 'incomplete'],
    ['the length is smaller than the body (single)', SIZE, always({ ...WHOLE, addToLength: -100 }), 'incomplete'],
    ['more bytes than declared (small)', 30_000, always({ ...WHOLE, extraBytes: 64 }), 'incomplete'],
    // The slow sender sends the declared bytes in one piece, and the surplus after it.
    [
      'more bytes than declared, a moment later',
      30_000,
      always({ ...WHOLE, extraBytes: 64, bytesPerSecond: 600_000 }),
      'incomplete',
    ],
    ['more bytes than declared (single)', SIZE, always({ ...WHOLE, extraBytes: 100_000 }), 'incomplete'],
    ['a chunked body is cut', SIZE, always({ ...CHUNKED, cutAfter: 100_000 }), 'incomplete'],
    ['a small chunked body is cut', 30_000, always({ ...CHUNKED, cutAfter: 10_000 }), 'incomplete'],
    ['only the end of the connection marks the end', SIZE, always({ ...WHOLE, framing: 'close' }), 'refused'],
    [
      'only the end of the connection marks the end, cut',
      SIZE,
      always({ ...WHOLE, framing: 'close', endAfter: 9 }),
      'refused',
    ],
    [
      'a range at another offset',
      SIZE,
      (r) => (r.offset > 0 ? { contentRange: `bytes ${r.offset + 5}-${r.offset + PART}/${SIZE}` } : {}),
      'incomplete',
    ],
    [
      'a range with another total',
      SIZE,
      (r) => (r.number > 1 ? { contentRange: `bytes ${r.offset}-${SIZE - 2}/${SIZE - 1}` } : {}),
      'incomplete',
    ],
    ['an invalid Content-Range', SIZE, (r) => (r.offset > 0 ? { contentRange: 'bytes */*' } : {}), 'incomplete'],
    ['Range ignored in the middle', SIZE, (r) => (r.number > 1 ? WHOLE : {}), 'incomplete'],
    ['neither 200 nor 206', SIZE, always({ status: 203 }), 'refused'],
    ['204 in the middle', SIZE, (r) => (r.offset > 0 ? { status: 204 } : {}), 'refused'],
    ['416 to every request', SIZE, always({ status: 416 }), 'refused'],
    ['a redirect without a location', SIZE, always({ status: 302 }), 'refused'],
  ];
  test.each(cases)('stores nothing: %s', async (_name, size, script, reason) => {
    const ran = await transfers.transferOf({ size, script });

    expectNothing(ran, reason);
    expect(ran.requests.length).toBeLessThan(60);
  });

  test('stores the file if wrong lengths are followed by right ones', async () => {
    const lies = [{ addToLength: 100 }, { addToLength: -100 }, { extraBytes: 50 }];
    const script = first(
      lies.map((lie) => ({ ...WHOLE, ...lie })),
      WHOLE,
    );

    // The rest of a body that ended early is requested again. A body that is too long proves a false file size.
    const ran = await transfers.transferOf({ size: SIZE, script });

    expectStored(ran);
  });

  test('does not use a consistent range at another offset than requested', async () => {
    const file = transfers.origin.file({ size: SIZE });
    const body = file.bytes().subarray(5, 105);
    const head = { 'Content-Range': `bytes 5-104/${SIZE}` };
    file.setScript(inOrder({ status: 206, headers: head, body }));

    expectStored(await transfers.transferOf(file));
  });

  test('stops after a bounded number of empty ranges', async () => {
    const script = ({ offset }: OriginRequest): Behaviour => {
      const range = `bytes ${offset}-${Math.min(offset + PART, SIZE) - 1}/${SIZE}`;
      return { status: 206, framing: 'chunked', body: '', headers: { 'Content-Range': range, ETag: '"1"' } };
    };

    const ran = await transfers.transferOf({ size: SIZE, script });

    expectNothing(ran, 'incomplete');
    expect(ran.requests.length).toBeLessThan(60);
  });

  test('stops after a bounded number of ranges of one byte', async () => {
    const script = ({ offset }: OriginRequest): Behaviour => {
      const headers = { 'Content-Range': `bytes ${offset}-${offset}/${SIZE}`, ETag: '"1"' };
      return { status: 206, body: 'x', headers };
    };

    const ran = await transfers.transferOf({ size: SIZE, script });

    expectNothing(ran, 'incomplete');
    expect(ran.requests.length).toBeLessThan(60);
  });

  test('stores a file from ranges shorter than requested, without counting them as failures', async () => {
    const size = 30 * PART;
    const most = 300 * KIB;
    const file = transfers.origin.file({ size, etag: '"1"' });
    const bytes = file.bytes();
    file.setScript(({ number, offset }) => {
      if (number === 1) return undefined;
      const end = Math.min(offset + most, size);
      const headers = { 'Content-Range': `bytes ${offset}-${end - 1}/${size}`, ETag: '"1"' };
      return { status: 206, body: bytes.subarray(offset, end), headers };
    });

    const changes = { connections: { initial: 1, most: 1 }, limits: { attempts: 1 } };

    expectStored(await transfers.transferOf(file, changes));
  });

  test('stores a file with an undeclared end if the configuration allows it, and reports undeclaredEnd', async () => {
    const file = { size: SIZE, script: always({ ...WHOLE, framing: 'close' as const }) };

    const [large, small, declared] = await Promise.all([
      transfers.transferOf(file, { allowUndeclaredEnd: true }),
      transfers.transferOf({ ...file, size: 1000 }, { allowUndeclaredEnd: true }),
      transfers.transferOf({ size: SIZE, script: always(CHUNKED) }, { allowUndeclaredEnd: true }),
    ]);

    for (const ran of [large, small, declared]) expectStored(ran);
    expect([large, small, declared].map(({ stored }) => stored?.undeclaredEnd)).toEqual([true, true, false]);
  });

  test('stores unrequested gzip unchanged', async () => {
    const ran = await transfers.transferOf({ size: SIZE, script: always({ gzip: true }) });

    expect(ran.outcome).toBe('stored');
    expect(gunzipSync(ran.body ?? '').equals(ran.file.bytes())).toBe(true);
    expect(ran.requests.map(({ headers }) => headers['accept-encoding'])).toContain('identity');
  });
});

describe('a page with 200', () => {
  test.each([
    ['HTML', HTML_PAGE],
    ['XML', XML_ERROR],
  ])('%s each time is requested five times with a new link, then refused', async (_name, page) => {
    const ran = await transfers.transferOf({ size: SIZE, script: always(page) });

    expectNothing(ran, 'refused');
    expect([ran.asks, ran.requests.length]).toEqual([5, 5]);
    expect(ran.calls).toEqual([]);
  });

  test.each([
    ['HTML', HTML_PAGE],
    ['XML', XML_ERROR],
  ])('%s that arrives byte by byte is inspected whole and refused', async (_name, page) => {
    const ran = await transfers.transferOf({
      size: SIZE,
      script: always({ ...page, framing: 'chunked', pieceBytes: 1 }),
    });

    expectNothing(ran, 'refused');
    expect(ran.calls).toEqual([]);
  });

  test('the first KB is inspected for any chunk size, or all of a shorter file, and is stored', async () => {
    const looked: number[] = [];
    const key = (size: number) => `runs/looked/${size}.csv`;
    const sizes = [0, 1, 1023, 1024, 1025, SIZE];
    for (const size of sizes) {
      const nameObject = (_head: FileHead, seen: Uint8Array) => {
        looked.push(seen.length);
        return { key: key(size), contentType: 'text/csv' };
      };
      const script = always({ ...CHUNKED, pieceBytes: 100 });

      expectStored(await transfers.transferOf({ size, script }, { key: key(size), nameObject }));
    }

    // Bytes that have arrived with the last inspected byte are also passed on.
    expect(looked.slice(0, -1)).toEqual([0, 1, 1023, 1024, 1025]);
    expect(looked.at(-1)).toBeGreaterThanOrEqual(1024);
  });

  test('twice, then the file: the file is stored', async () => {
    const ran = await transfers.transferOf({ size: SIZE, script: inOrder(HTML_PAGE, XML_ERROR) });

    expectStored(ran);
    expect(ran.asks).toBe(3);
  });
});

describe('a file that changes', () => {
  const OTHER = { seed: 77, etag: '"other"' };

  test.each<[how: string, size: number, script: OriginScript, seed?: number]>([
    ['midway', SIZE, ({ number }) => (number >= 3 ? OTHER : {}), 77],
    ['midway, and ignores If-Match', SIZE, inOrder({}, {}, { seed: 77, headers: { ETag: '"other"' } })],
    ['midway, without ranges', SIZE, first([{ ...WHOLE, endAfter: 400_000 }], { ...WHOLE, seed: 77 }), 77],
    ['into a shorter one', SIZE, inOrder({}, {}, { status: 416 })],
    ['and has no strong ETag for a while', 16 * PART, inOrder({}, {}, { etag: null, seed: 77 })],
  ])('%s: begins again once, and stores one whole file', async (_how, size, script, seed) => {
    const file = transfers.origin.file({ size, script });
    const stored = seed === undefined ? file : transfers.origin.file({ size, seed });

    const ran = await transfers.transferOf(file);

    expect([ran.outcome, ran.restarts, ran.stored?.crc32]).toEqual(['stored', 1, stored.digests().crc32]);
    expect(ran.body?.equals(stored.bytes())).toBe(true);
    expect(transfers.open(ran.key)).toEqual([]);
  });

  test('between two calls: begins again because of the ETag', async () => {
    const paused = await transfers.transferOf({ size: SIZE }, { secondsLeft: secondsFor(6) });
    expect(paused.outcome).toBe('unfinished');
    paused.file.setScript(() => OTHER);

    const ran = await transfers.transferOf(paused.file, { key: paused.key, resume: paused.resume });

    expect([ran.outcome, ran.restarts]).toEqual(['stored', 1]);
    expect(ran.body?.equals(transfers.origin.file({ size: SIZE, seed: 77 }).bytes())).toBe(true);
    expect(transfers.open(ran.key)).toEqual([]);
  });
});

describe('an address that expires', () => {
  test.each([403, 410, 401, 400, 404])(
    'midway with %i: requests a new one and continues at the byte',
    async (status) => {
      const script = inOrder({}, { endAfter: 100_000 }, { ...EXPIRED, status });

      const ran = await transfers.transferOf({ size: SIZE, script }, { connections: { initial: 1, most: 1 } });

      expectStored(ran);
      expect(ran.requests.map(({ offset }) => offset)).toEqual([0, PART, PART + 100_000, PART + 100_000]);
      expect(ran.asks).toBe(2);
    },
  );

  test('for all connections at once: requests one new address', async () => {
    const file = transfers.origin.file({
      size: 4 * SIZE,
      script: ({ number }) => (number > 1 && number <= 5 ? EXPIRED : {}),
    });
    let asked = 0;
    const address = async () => {
      asked += 1;
      return `${file.url}&ask=${asked}`;
    };

    const ran = await transfers.transferOf(file, { address });

    expectStored(ran);
    expect(ran.asks).toBe(2);
  });

  test('each time: ends in link-expired after five addresses', async () => {
    const ran = await transfers.transferOf({ size: SIZE, script: always(EXPIRED) });

    expectNothing(ran, 'link-expired');
    expect(ran.asks).toBe(5);
  });

  test('the error of the address function is passed through', async () => {
    const asked = async (): Promise<string> => {
      throw new RangeError('no more addresses');
    };

    const ran = await transfers.transferOf({ size: SIZE }, { address: asked });

    expect(ran.outcome).toBe('threw RangeError: no more addresses');
    expect(transfers.leftovers(ran)).toEqual(NOTHING);
  });
});

describe('an origin that is busy', () => {
  const inAnHour = () => new Date(Date.now() + 3_600_000).toUTCString();

  test.each([429, 503] as const)('with %i and a short Retry-After is requested again', async (status) => {
    const ran = await transfers.transferOf({
      size: SIZE,
      script: inOrder(busy(status, '0'), {}, busy(status), busy(status, '1')),
    });

    expectStored(ran);
  });

  test('with a past date in Retry-After is requested again', async () => {
    const script = inOrder(busy(429, new Date(0).toUTCString()), busy(503, 'Thu, 01 Jan 1970 00:00:00 GMT'));

    expectStored(await transfers.transferOf({ size: SIZE, script }));
  });

  test('is not requested again before its Retry-After', async () => {
    const began = performance.now();

    const ran = await transfers.transferOf({ size: 1000, script: inOrder(busy(503, '1')) });

    expectStored(ran);
    expect(performance.now() - began).toBeGreaterThanOrEqual(990);
  });

  test.each([
    ['429 in seconds', () => busy(429, '120'), 'rate-limited', 120],
    ['503 in seconds', () => busy(503, '120'), 'source-unavailable', 120],
    ['429 as a date', () => busy(429, inAnHour()), 'rate-limited', 3600],
  ])('with a long wait (%s) ends the transfer, and reports the wait', async (_name, script, reason, seconds) => {
    const ran = await transfers.transferOf({ size: SIZE, script });

    expectNothing(ran, reason);
    const { retryAfterSeconds = 0 } = ran.error as TransferError;
    expect(Math.abs(retryAfterSeconds - seconds)).toBeLessThan(10);
    expect(ran.requests).toHaveLength(1);
  });

  test.each([
    ['429', busy(429), 'rate-limited'],
    ['503', busy(503, 'soon'), 'source-unavailable'],
    ['500', { status: 500 }, 'source-unavailable'],
    ['408', { status: 408 }, 'source-unavailable'],
    ['a reset before any byte', { reset: true }, 'source-unavailable'],
  ])('with %s each time ends the transfer after five requests', async (_name, answer, reason) => {
    const ran = await transfers.transferOf({ size: SIZE, script: always(answer) });

    expectNothing(ran, reason);
    expect(ran.requests).toHaveLength(5);
  });

  test('is requested again after it resets connections before any byte', async () => {
    const script = inOrder({ reset: true }, { reset: true }, {}, { reset: true }, { reset: true });

    expectStored(await transfers.transferOf({ size: SIZE, script }));
  });

  test('with 429 on some of eight connections still gives the file: the others take the part of a refused one', async () => {
    const refusals = new Map<number, number>();
    const usedUp = Promise.withResolvers<void>();
    let full = true;
    const script = ({ number, offset }: OriginRequest) => {
      if (number <= 4) return number === 1 ? {} : { waitFor: usedUp.promise };
      if (!full) return {};
      const times = (refusals.get(offset) ?? 0) + 1;
      refusals.set(offset, times);
      if (times === LIMITS.attempts) {
        full = false;
        usedUp.resolve();
      }
      return busy(429, '0');
    };

    const ran = await transfers.transferOf({ size: 4 * SIZE, script }, { connections: { initial: 8, most: 8 } });

    expectStored(ran);
    expect(full, 'whether no connection used up its retries').toBe(false);
  });
});

describe('an origin that is silent', () => {
  test.each([
    ['in the middle of a range', SIZE, (r: OriginRequest) => (r.number === 2 ? { stallAfter: 70_000 } : {})],
    ['in the middle of a file', SIZE, first([{ ...WHOLE, stallAfter: 200_000 }], WHOLE)],
    ['in the middle of a small file', 5000, inOrder({ stallAfter: 2000 })],
    ['before the first byte of an answer', SIZE, first([{ delayMs: 60_000 }], {})],
    ['before the first byte of a body', SIZE, first([{ stallAfter: 0 }], {})],
  ])('%s, once: another connection continues', async (_name, size, script) => {
    const ran = await transfers.transferOf(
      { size, script },
      { limits: { ...IMPATIENT, idleMs: 300, firstByteMs: 300 } },
    );

    expectStored(ran);
  });

  test.each([
    ['a body', { stallAfter: 1000 }, 'stalled'],
    ['an answer', { delayMs: 60_000 }, 'source-unavailable'],
  ])('with %s each time ends in stalled or source-unavailable', async (_name, behaviour, reason) => {
    const ran = await transfers.transferOf(
      { size: SIZE, script: always({ ...WHOLE, ...behaviour }) },
      { limits: IMPATIENT },
    );

    expectNothing(ran, reason);
  });

  test('below the minimum rate ends in stalled', async () => {
    const limits = { floorMs: 150, idleMs: 2000 };

    const ran = await transfers.transferOf(
      { size: SIZE, script: always({ ...WHOLE, bytesPerSecond: 20 }) },
      { limits },
    );

    expectNothing(ran, 'stalled');
    expect(String(ran.error)).toContain('less than 16384 bytes a second');
  });
});

describe('a file over the limit', () => {
  test.each([
    ['declared', {}, 0],
    ['declared, without ranges', WHOLE, 0],
    ['declared one byte too large', { ...WHOLE, addToLength: 1 }, 0],
    ['undeclared', CHUNKED, 1],
  ])('%s, ends in too-large and leaves no upload', async (_name, behaviour, creates) => {
    const ran = await transfers.transferOf({ size: SIZE, script: always(behaviour) }, { maxBytes: SIZE - 1 });

    expectNothing(ran, 'too-large');
    expect(ran.calls.filter(({ operation }) => operation === 'CreateMultipartUpload')).toHaveLength(creates);
  });

  test.each([
    ['declared', {}],
    ['undeclared', CHUNKED],
  ])('exactly at the limit is stored (%s)', async (_name, behaviour) => {
    expectStored(await transfers.transferOf({ size: SIZE, script: always(behaviour) }, { maxBytes: SIZE }));
  });
});

describe('a missing proof of the file version', () => {
  test.each([
    ['weak', 'W/"1"'],
    ['absent', null],
    ['without quotes', 'abc'],
  ])('a file with a %s ETag is read in one piece', async (_name, etag) => {
    const ran = await transfers.transferOf({ size: SIZE, etag });

    expectStored(ran);
    expect(ran.strategy).toBe('single');
    expect(ran.requests.map(({ headers }) => headers['if-match'])).toEqual([undefined, undefined]);
  });

  test.each([0, 1])('a file of %i bytes is stored with the strategy small', async (size) => {
    const ran = await transfers.transferOf({ size });

    expectStored(ran);
    expect([ran.strategy, ran.stored?.bytes]).toEqual(['small', size]);
    expect(ran.requests.length).toBe(size === 0 ? 2 : 1);
  });
});

test('reads less than half of the file while the store accepts nothing', async () => {
  const taken = Promise.withResolvers<void>();
  const size = 32 * 1024 * KIB;
  const file = transfers.origin.file({ size, script: always(WHOLE) });
  const sent = () => file.requests[0]?.bytesSent ?? 0;
  const created = Promise.withResolvers<void>();

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
  await expect.poll(isStill, { interval: 100, timeout: 5000 }).toBe(true);
  const waiting = sent();
  taken.resolve();
  const ran = await running;

  // The limit covers the kernel's buffers of both ends and a block of the client.
  expect(waiting).toBeLessThan(size / 2);
  expectStored(ran);
});
