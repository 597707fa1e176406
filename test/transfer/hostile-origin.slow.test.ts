import { gunzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
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

describe('cut', () => {
  const strategies: [string, number, Behaviour][] = [
    ['ranged', SIZE, {}],
    ['single', SIZE, WHOLE],
    ['of unknown length', SIZE, CHUNKED],
    ['small', PART - 5, {}],
  ];
  test.each(strategies)(
    'at 10 random offsets of a %s file ends with the whole file',
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

  test('again and again, a range goes on where the cut was and the file arrives', async () => {
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
  ])('again and again at the same byte, %s is given up as incomplete', async (_name, usual) => {
    const ran = await transfers.transferOf({ size: SIZE, script: always({ ...usual, endAfter: 300_000 }) });

    expectNothing(ran, 'incomplete');
  });
});

describe('a body that is not what its head says', () => {
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
    ['only the connection marks the end', SIZE, always({ ...WHOLE, framing: 'close' }), 'refused'],
    ['only the connection marks the end, cut', SIZE, always({ ...WHOLE, framing: 'close', endAfter: 9 }), 'refused'],
    ['a range of another place', SIZE, always({ contentRange: `bytes 5-${PART - 1}/${SIZE}` }), 'incomplete'],
    [
      'a range of another total',
      SIZE,
      (r) => (r.number > 1 ? { contentRange: `bytes ${r.offset}-${SIZE - 2}/${SIZE - 1}` } : {}),
      'incomplete',
    ],
    ['a range that no one can read', SIZE, always({ contentRange: 'bytes */*' }), 'incomplete'],
    ['Range ignored in the middle', SIZE, (r) => (r.number > 1 ? WHOLE : {}), 'incomplete'],
    ['416 in the middle, for ever', SIZE, (r) => (r.offset > 0 ? { status: 416 } : {}), 'incomplete'],
    ['neither 200 nor 206', SIZE, always({ status: 203 }), 'refused'],
    ['204 in the middle', SIZE, (r) => (r.offset > 0 ? { status: 204 } : {}), 'refused'],
    ['416 to every request', SIZE, always({ status: 416 }), 'refused'],
    ['a redirect to nowhere', SIZE, always({ status: 302 }), 'refused'],
  ];
  test.each(cases)('%s: nothing is stored', async (_name, size, script, reason) => {
    const ran = await transfers.transferOf({ size, script });

    expectNothing(ran, reason);
    expect(ran.requests.length).toBeLessThan(60);
  });

  test('lengths that are wrong once each, and then right: the file is stored', async () => {
    const lies = [{ addToLength: 100 }, { addToLength: -100 }, { extraBytes: 50 }];
    const script = first(
      lies.map((lie) => ({ ...WHOLE, ...lie })),
      WHOLE,
    );

    // The rest of a body that ended early is requested again. A body that is too long proves a false file size.
    const ran = await transfers.transferOf({ size: SIZE, script });

    expectStored(ran);
  });

  test('a range of another place, true in itself, is not taken for the one that was requested', async () => {
    const file = transfers.origin.file({ size: SIZE });
    const body = file.bytes().subarray(5, 105);
    const head = { 'Content-Range': `bytes 5-104/${SIZE}` };
    file.setScript(inOrder({ status: 206, headers: head, body }));

    expectStored(await transfers.transferOf(file));
  });

  test('ranges that end before their first byte, in good order, are not asked for without end', async () => {
    const script = ({ offset }: OriginRequest): Behaviour => {
      const range = `bytes ${offset}-${Math.min(offset + PART, SIZE) - 1}/${SIZE}`;
      return { status: 206, framing: 'chunked', body: '', headers: { 'Content-Range': range, ETag: '"1"' } };
    };

    const ran = await transfers.transferOf({ size: SIZE, script });

    expectNothing(ran, 'incomplete');
    expect(ran.requests.length).toBeLessThan(60);
  });

  test('ranges that are a byte long, whatever was requested, are not asked for without end', async () => {
    const script = ({ offset }: OriginRequest): Behaviour => {
      const headers = { 'Content-Range': `bytes ${offset}-${offset}/${SIZE}`, ETag: '"1"' };
      return { status: 206, body: 'x', headers };
    };

    const ran = await transfers.transferOf({ size: SIZE, script });

    expectNothing(ran, 'incomplete');
    expect(ran.requests.length).toBeLessThan(60);
  });

  test('ranges that are shorter than asked, but bring the file on, are no failure', async () => {
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

  test('a body whose end only the connection marks is accepted where the configuration allows it, and says so', async () => {
    const file = { size: SIZE, script: always({ ...WHOLE, framing: 'close' as const }) };

    const [large, small, declared] = await Promise.all([
      transfers.transferOf(file, { allowUndeclaredEnd: true }),
      transfers.transferOf({ ...file, size: 1000 }, { allowUndeclaredEnd: true }),
      transfers.transferOf({ size: SIZE, script: always(CHUNKED) }, { allowUndeclaredEnd: true }),
    ]);

    for (const ran of [large, small, declared]) expectStored(ran);
    expect([large, small, declared].map(({ stored }) => stored?.undeclaredEnd)).toEqual([true, true, false]);
  });

  test('gzip that nobody requested is stored as it came', async () => {
    const heads: string[] = [];
    const key = 'runs/gzip/file.csv';
    const nameObject = (head: FileHead) => {
      heads.push(head.contentEncoding);
      return { key, contentType: 'text/csv' };
    };
    const ran = await transfers.transferOf({ size: SIZE, script: always({ gzip: true }) }, { key, nameObject });

    expect(ran.outcome).toBe('stored');
    expect(heads).toEqual(['gzip']);
    expect(gunzipSync(ran.body ?? '').equals(ran.file.bytes())).toBe(true);
    expect(ran.requests.map(({ headers }) => headers['accept-encoding'])).toContain('identity');
  });
});

describe('a page with 200', () => {
  test.each([
    ['HTML', HTML_PAGE],
    ['XML', XML_ERROR],
  ])('%s for ever is requested again with a fresh link, five times, and refused', async (_name, page) => {
    const ran = await transfers.transferOf({ size: SIZE, script: always(page) });

    expectNothing(ran, 'refused');
    expect([ran.asks, ran.requests.length]).toEqual([5, 5]);
    expect(ran.calls).toEqual([]);
  });

  test.each([
    ['HTML', HTML_PAGE],
    ['XML', XML_ERROR],
  ])('%s that comes byte by byte is looked at as a whole', async (_name, page) => {
    const ran = await transfers.transferOf({
      size: SIZE,
      script: always({ ...page, framing: 'chunked', pieceBytes: 1 }),
    });

    expectNothing(ran, 'refused');
    expect(ran.calls).toEqual([]);
  });

  test('what is looked at is 1 KB, however small its pieces, or the whole of a shorter file; and is not lost', async () => {
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

    // Bytes in the same piece as the last inspected byte are also passed on.
    expect(looked).toEqual([0, 1, 1023, 1024, 1025, 1100]);
  });

  test('once, and then the file: the file is stored', async () => {
    const ran = await transfers.transferOf({ size: SIZE, script: inOrder(HTML_PAGE, XML_ERROR) });

    expectStored(ran);
    expect(ran.asks).toBe(3);
  });
});

describe('a file that changes', () => {
  const changed =
    (from: number): OriginScript =>
    (request) =>
      request.number >= from ? { seed: 77, etag: '"other"' } : {};

  test('midway: everything starts over, the observer is told, and the new file is stored', async () => {
    const file = transfers.origin.file({ size: SIZE, script: changed(3) });

    const ran = await transfers.transferOf(file);

    const other = transfers.origin.file({ size: SIZE, seed: 77 });
    expect([ran.outcome, ran.restarts]).toEqual(['stored', 1]);
    expect(ran.body?.equals(other.bytes())).toBe(true);
    expect(ran.stored?.crc32).toBe(other.digests().crc32);
    expect(transfers.open(ran.key)).toEqual([]);
    const aborts = ran.calls.filter(({ operation }) => operation === 'AbortMultipartUpload');
    expect(
      aborts.map(({ status }) => status),
      'until the store knows it no more, and once more at the end',
    ).toEqual([204, 404, 404]);
  });

  test('midway, at an origin that does not care for If-Match: found by the ETag of the answer', async () => {
    const ran = await transfers.transferOf({
      size: SIZE,
      script: ({ number }) => (number === 3 ? { seed: 77, headers: { ETag: '"other"' } } : {}),
    });

    expectStored(ran);
    expect(ran.restarts).toBe(1);
  });

  test('midway, at an origin that has no ranges: found by the checksum of what was delivered', async () => {
    const script = first([{ ...WHOLE, endAfter: 400_000 }], { ...WHOLE, seed: 78 });
    const file = transfers.origin.file({ size: SIZE, script });

    const ran = await transfers.transferOf(file);

    expect([ran.outcome, ran.restarts]).toEqual(['stored', 1]);
    expect(ran.body?.equals(transfers.origin.file({ size: SIZE, seed: 78 }).bytes())).toBe(true);
  });

  test('for ever: given up as incomplete after a bounded number of starts', async () => {
    const script = ({ number }: OriginRequest) => ({ etag: `"${number}"`, seed: number });

    const ran = await transfers.transferOf({ size: SIZE, script });

    expectNothing(ran, 'incomplete');
    expect(ran.restarts).toBe(5);
  });

  test('between two calls: the ETag of the upload is no longer that of the file, and all starts over', async () => {
    const paused = await transfers.transferOf({ size: SIZE }, { secondsLeft: secondsFor(6) });
    expect(paused.outcome).toBe('unfinished');
    paused.file.setScript(() => ({ seed: 79, etag: '"new"' }));

    const ran = await transfers.transferOf(paused.file, { key: paused.key, resume: paused.resume });

    expect([ran.outcome, ran.restarts]).toEqual(['stored', 1]);
    expect(ran.body?.equals(transfers.origin.file({ size: SIZE, seed: 79 }).bytes())).toBe(true);
    expect(transfers.open(ran.key)).toEqual([]);
  });

  test('into a shorter one: 416 in the middle, once, and all starts over', async () => {
    const ran = await transfers.transferOf({ size: SIZE, script: inOrder({}, {}, { status: 416 }) });

    expectStored(ran);
    expect(ran.restarts).toBe(1);
  });
});

describe('an address that expires', () => {
  test.each([403, 410, 401, 400, 404])(
    'midway with %i: a fresh one is requested, and it goes on at the byte',
    async (status) => {
      const script = inOrder({}, { endAfter: 100_000 }, { ...EXPIRED, status });

      const ran = await transfers.transferOf({ size: SIZE, script }, { connections: { initial: 1, most: 1 } });

      expectStored(ran);
      expect(ran.requests.map(({ offset }) => offset)).toEqual([0, PART, PART + 100_000, PART + 100_000]);
      expect(ran.asks).toBe(2);
    },
  );

  test('for all connections at once: it is requested once', async () => {
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

  test('for ever: a bounded number of addresses, then link-expired', async () => {
    const ran = await transfers.transferOf({ size: SIZE, script: always(EXPIRED) });

    expectNothing(ran, 'link-expired');
    expect(ran.asks).toBe(5);
  });

  test('what the asking throws passes through', async () => {
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

  test.each([429, 503] as const)('with %i and a short Retry-After is waited for', async (status) => {
    const ran = await transfers.transferOf({
      size: SIZE,
      script: inOrder(busy(status, '0'), {}, busy(status), busy(status, '1')),
    });

    expectStored(ran);
  });

  test('with a date that has passed is asked again at once', async () => {
    const script = inOrder(busy(429, new Date(0).toUTCString()), busy(503, 'Thu, 01 Jan 1970 00:00:00 GMT'));

    expectStored(await transfers.transferOf({ size: SIZE, script }));
  });

  test('has its Retry-After kept to', async () => {
    const began = performance.now();

    const ran = await transfers.transferOf({ size: 1000, script: inOrder(busy(503, '1')) });

    expectStored(ran);
    expect(performance.now() - began).toBeGreaterThanOrEqual(990);
  });

  test.each([
    ['429 in seconds', () => busy(429, '120'), 'rate-limited', 120],
    ['503 in seconds', () => busy(503, '120'), 'source-unavailable', 120],
    ['429 as a date', () => busy(429, inAnHour()), 'rate-limited', 3600],
  ])('with %s is not waited for long: the transfer ends and says how long', async (_name, script, reason, seconds) => {
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
  ])('with %s for ever is given up after five requests', async (_name, answer, reason) => {
    const ran = await transfers.transferOf({ size: SIZE, script: always(answer) });

    expectNothing(ran, reason);
    expect(ran.requests).toHaveLength(5);
  });

  test('resets connections before any byte: repeated', async () => {
    const script = inOrder({ reset: true }, { reset: true }, {}, { reset: true }, { reset: true });

    expectStored(await transfers.transferOf({ size: SIZE, script }));
  });

  test('is asked on fewer connections from then on', async () => {
    const script = (request: OriginRequest) => (request.number > 2 && request.number < 6 ? busy(429, '0') : {});

    const ran = await transfers.transferOf({ size: 4 * SIZE, script }, { connections: { initial: 8, most: 8 } });

    expectStored(ran);
  });
});

describe('an origin that is silent', () => {
  test.each([
    ['in the middle of a range', SIZE, (r: OriginRequest) => (r.number === 2 ? { stallAfter: 70_000 } : {})],
    ['in the middle of a file', SIZE, first([{ ...WHOLE, stallAfter: 200_000 }], WHOLE)],
    ['in the middle of a small file', 5000, inOrder({ stallAfter: 2000 })],
    ['before the first byte of an answer', SIZE, first([{ delayMs: 60_000 }], {})],
    ['before the first byte of a body', SIZE, first([{ stallAfter: 0 }], {})],
  ])('%s, once: another connection goes on', async (_name, size, script) => {
    const ran = await transfers.transferOf(
      { size, script },
      { limits: { ...IMPATIENT, idleMs: 300, firstByteMs: 300 } },
    );

    expectStored(ran);
  });

  test.each([
    ['a body', { stallAfter: 1000 }, 'stalled'],
    ['an answer', { delayMs: 60_000 }, 'source-unavailable'],
  ])('with %s, always: given up under its name', async (_name, behaviour, reason) => {
    const ran = await transfers.transferOf(
      { size: SIZE, script: always({ ...WHOLE, ...behaviour }) },
      { limits: IMPATIENT },
    );

    expectNothing(ran, reason);
  });

  test('one byte now and then is silence too', async () => {
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
    ['declared, and larger than it says', { ...WHOLE, addToLength: 1 }, 0],
    ['undeclared', CHUNKED, 1],
  ])('%s is refused, and no upload is left', async (_name, behaviour, creates) => {
    const ran = await transfers.transferOf({ size: SIZE, script: always(behaviour) }, { maxBytes: SIZE - 1 });

    expectNothing(ran, 'too-large');
    expect(ran.calls.filter(({ operation }) => operation === 'CreateMultipartUpload')).toHaveLength(creates);
  });

  test.each([
    ['declared', {}],
    ['undeclared', CHUNKED],
  ])('is one byte over it: exactly at it the file is stored (%s)', async (_name, behaviour) => {
    expectStored(await transfers.transferOf({ size: SIZE, script: always(behaviour) }, { maxBytes: SIZE }));
  });
});

describe('a validator that proves nothing', () => {
  test.each([
    ['weak', 'W/"1"'],
    ['absent', null],
    ['without quotes', 'abc'],
  ])('(%s ETag): read in one piece', async (_name, etag) => {
    const ran = await transfers.transferOf({ size: SIZE, etag });

    expectStored(ran);
    expect(ran.stored?.strategy).toBe('single');
    expect(ran.requests.map(({ headers }) => headers['if-match'])).toEqual([undefined, undefined]);
  });

  test.each([0, 1])('416 on an empty file, and a file of %i bytes', async (size) => {
    const ran = await transfers.transferOf({ size });

    expectStored(ran);
    expect(ran.stored).toMatchObject({ strategy: 'small', bytes: size });
    expect(ran.requests.length).toBe(size === 0 ? 2 : 1);
  });
});

test('a store that takes nothing holds the origin back, instead of filling the memory', async () => {
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

test('connections that the origin does not want leave their parts to the others', async () => {
  const ran = await transfers.transferOf(
    {
      size: 16 * PART,
      script: ({ number }) => (number > 4 && number <= 10 ? { status: 429 } : { bytesPerSecond: 8 * PART }),
    },
    { connections: { initial: 4, most: 8 }, limits: { measureMs: 30, attempts: 3 } },
  );

  expect(ran.outcome).toBe('stored');
  expect(ran.equal).toBe(true);
});

test('a file that had a strong ETag, and has none in the middle, is started over', async () => {
  const ran = await transfers.transferOf({
    size: 16 * PART,
    script: ({ number }) => (number === 3 ? { etag: null, seed: 77 } : {}),
  });

  expect(ran.outcome).toBe('stored');
  expect(ran.equal).toBe(true);
  expect(ran.restarts).toBe(1);
});
