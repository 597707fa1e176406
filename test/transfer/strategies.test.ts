import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { LARGEST_FILE_BYTES } from '../../core/config/file-settings.ts';
import { combineCrc32, crc32Text, crc32Value } from '../../transfer/base/crc32.ts';
import { LIMITS as IN_LIFE } from '../../transfer/base/limits.ts';
import { partBytesFor, partsOf, S3_MOST_PARTS } from '../../transfer/base/parts.ts';
import { Connections, type Segment, Segments } from '../../transfer/strategies/ranged.ts';
import type { Behaviour } from '../support/origin/types.ts';
import type { FaultScript } from '../support/strict-store/types.ts';
import { callsOf, transferSuite } from '../support/transfer-suite.ts';
import { type Changes, PART } from '../support/transfers.ts';

const MIB = 1024 ** 2;
const GIB = 1024 ** 3;
const CHUNKED: Behaviour = { ignoreRange: true, framing: 'chunked' };

const { transfers, expectStored } = await transferSuite();

describe('the plan', () => {
  test.each([
    [17 * MIB, 8, 8 * MIB, 3],
    [256 * MIB, 8, 16 * MIB, 16],
    [GIB - 1, 8, 64 * MIB, 16],
    [GIB, 4, 64 * MIB, 16],
    [GIB, 8, 64 * MIB, 16],
    [GIB, 16, 32 * MIB, 32],
    [GIB + 1, 8, 64 * MIB, 17],
    [40e9, 8, 64 * MIB, 597],
    [50 * GIB, 8, 64 * MIB, 800],
  ])('cuts %i bytes for %i connections into parts of %i: %i parts', (size, connections, partBytes, count) => {
    const planned = partBytesFor(size, connections, IN_LIFE);

    expect(planned).toBe(partBytes);
    expect(Math.ceil(size / planned)).toBe(count);
  });

  test('makes parts that S3 takes, for any allowed size and number of connections', () => {
    const size = fc.integer({ min: IN_LIFE.smallBytes + 1, max: LARGEST_FILE_BYTES });
    fc.assert(
      fc.property(size, fc.integer({ min: 1, max: 64 }), (bytes, connections) => {
        const partBytes = partBytesFor(bytes, connections, IN_LIFE);
        expect(partBytes).toBeGreaterThanOrEqual(5 * MIB);
        expect(partBytes).toBeLessThanOrEqual(5 * GIB);
        expect(Math.ceil(bytes / partBytes)).toBeLessThanOrEqual(10_000);
      }),
    );
  });

  test('covers every byte of a file once', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 100_000 }), fc.integer({ min: 100, max: 200_000 }), (size, partBytes) => {
        const parts = partsOf(size, partBytes);
        expect(parts.map(({ number }) => number)).toEqual(parts.map((_, index) => index + 1));
        expect([parts[0]?.from, parts.at(-1)?.to]).toEqual([0, size]);
        expect(parts.slice(1).every((part, index) => part.from === parts[index]?.to)).toBe(true);
        expect(parts.slice(0, -1).every(({ from, to }) => to - from === partBytes)).toBe(true);
      }),
    );
  });

  test('has parts enough in memory for the largest file', () => {
    expect(S3_MOST_PARTS).toBeLessThanOrEqual(10_000);
    expect(S3_MOST_PARTS * IN_LIFE.bufferedPartBytes).toBeGreaterThan(LARGEST_FILE_BYTES);
  });
});

describe('checksums', () => {
  test('of two pieces combine to the checksum of both together', () => {
    const bytes = fc.uint8Array({ maxLength: 3000 });
    fc.assert(
      fc.property(bytes, bytes, (a, b) => {
        expect(combineCrc32(crc32(a), crc32(b), b.length)).toBe(crc32(Buffer.concat([a, b])));
      }),
    );
  });

  test('combine for pieces of any size: zeros of 6 GiB in two ways', () => {
    const mib = crc32(Buffer.alloc(MIB));
    let doubled = mib;
    for (let bytes = MIB; bytes < 4 * GIB; bytes *= 2) doubled = combineCrc32(doubled, doubled, bytes);
    let half = mib;
    for (let bytes = MIB; bytes < 2 * GIB; bytes *= 2) half = combineCrc32(half, half, bytes);

    expect(combineCrc32(doubled, half, 2 * GIB)).toBe(combineCrc32(half, doubled, 4 * GIB));
  });

  test('are written as S3 writes them, and only such ones are read', () => {
    fc.assert(fc.property(fc.integer({ min: 0, max: 2 ** 32 - 1 }), (value) => crc32Value(crc32Text(value)) === value));
    expect(crc32Text(crc32('123456789'))).toBe('y/Q5Jg==');
    expect([undefined, '', 'y/Q5Jg==-3', 'y/Q5J', 'undefined'].map((text) => crc32Value(text))).toEqual(
      Array(5).fill(null),
    );
  });
});

describe('connections', () => {
  const wantedAfter = (rates: number[], most = 16) => {
    const connections = new Connections({ initial: 4, most });
    for (const rate of rates) connections.measured(rate * MIB);
    return connections.wanted;
  };

  test.each([
    ['are added while that raises the rate', [10, 14, 18], 10],
    ['are not added once that did not raise the rate', [10, 14, 14, 14], 8],
    ['are taken away again where they made it slower, and no more are tried', [10, 8, 20, 30], 4],
    ['are not added in silence, which is no harm by any of them', [0, 0, 10, 14, 18], 10],
    ['stay where it becomes slower by itself', [10, 14, 14, 7], 8],
    ['are not added above what a function can move', [75, 80], 4],
    ['never exceed the most', [1, 2, 4, 8, 16, 32, 60, 68], 16],
  ])('%s', (_name, rates, wanted) => {
    expect(wantedAfter(rates)).toBe(wanted);
  });

  test('begin with no more than the most', () => {
    expect(wantedAfter([], 2)).toBe(2);
  });

  test('are halved when the origin complains, down to one, and no more are tried', () => {
    const connections = new Connections({ initial: 8, most: 16 });
    const seen = [1, 2, 3, 4].map(() => {
      connections.overloaded();
      connections.measured(MIB);
      return connections.wanted;
    });

    expect(seen).toEqual([4, 2, 1, 1]);
  });
});

describe('segments', () => {
  const partsFor = (count: number) => partsOf(count * 10, 10);

  type Move = readonly ['take' | 'begin' | 'release', number];

  /** Makes connections take, fetch and leave segments by a script, then fetches the rest. */
  function fetchedBy(segments: Segments, script: readonly Move[]): number[] {
    const taken: Segment[] = [];
    const begun: number[] = [];
    const begin = (segment: Segment | undefined) => {
      const part = segment?.begin();
      if (part) begun.push(part.number);
      return part !== undefined;
    };
    const moves = {
      take: () => taken.push(...[segments.take()].filter((segment) => segment !== undefined)),
      begin: (at: number) => begin(taken[at % taken.length]),
      release: (at: number) => {
        const [segment] = taken.splice(at % taken.length, 1);
        if (segment) segment.taken = false;
      },
    };
    for (const [move, at] of script) moves[move](at);
    for (let segment = segments.take(); segment; segment = segments.take()) while (begin(segment));
    for (const segment of taken) while (begin(segment));
    return begun;
  }

  test('give every part to exactly one connection, whoever steals from whom', () => {
    const move = fc.constantFrom('take' as const, 'begin' as const, 'begin' as const, 'release' as const);
    const script = fc.array(fc.tuple(move, fc.nat(7)), { maxLength: 80 });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 8 }), script, (count, most, moves) => {
        const segments = new Segments(partsFor(count), most);

        const begun = fetchedBy(segments, moves);

        expect(segments.left).toBe(false);
        expect(begun.toSorted((a, b) => a - b)).toEqual(partsFor(count).map(({ number }) => number));
      }),
    );
  });

  test('are long at first, one for each connection', () => {
    const segments = new Segments(partsFor(16), 4);

    const firsts = [1, 2, 3, 4].map(() => {
      const segment = segments.take();
      const part = segment?.begin();
      return part && [part.from, segment?.contiguousEnd(part)];
    });

    expect(firsts).toEqual([
      [0, 40],
      [40, 80],
      [80, 120],
      [120, 160],
    ]);
  });

  test('end at a gap, where a part is there already', () => {
    const segments = new Segments(
      partsFor(6).filter(({ number }) => number !== 3),
      1,
    );
    const segment = segments.take();
    const part = segment?.begin();

    expect(part && segment?.contiguousEnd(part)).toBe(20);
  });
});

describe('the strategy', () => {
  const cases: [string, number, Behaviour, string, number][] = [
    ['an empty file', 0, {}, 'small', 0],
    ['an empty file without ranges', 0, { ignoreRange: true }, 'small', 0],
    ['an empty file of unknown length', 0, CHUNKED, 'single', 0],
    ['one byte', 1, {}, 'small', 0],
    ['as much as is kept in memory', PART, {}, 'small', 0],
    ['as much as is kept in memory, without ranges', PART, { ignoreRange: true }, 'small', 0],
    ['one byte more than is kept in memory', PART + 1, {}, 'ranged', 2],
    ['two parts for each connection', 8 * PART, {}, 'ranged', 8],
    ['one byte more than that, which makes the parts larger', 8 * PART + 1, {}, 'ranged', 8],
    ['more than the largest parts', 32 * PART + 1, {}, 'ranged', 9],
    ['a known length without ranges', 3 * PART + 7, { ignoreRange: true }, 'single', 4],
    ['a known length without ranges, exactly 3 parts', 3 * PART, { ignoreRange: true }, 'single', 3],
    ['an unknown length, less than a part', PART - 1, CHUNKED, 'single', 0],
    ['an unknown length, exactly a part', PART, CHUNKED, 'single', 1],
    ['an unknown length, a part and a byte', PART + 1, CHUNKED, 'single', 2],
    ['an unknown length, exactly 3 parts', 3 * PART, CHUNKED, 'single', 3],
    ['an unknown length, 3 parts and a byte', 3 * PART + 1, CHUNKED, 'single', 4],
  ];
  test.each(cases)('for %s', async (_name, size, behaviour, strategy, parts) => {
    const ran = await transfers.transferOf({ size, script: () => behaviour });

    expectStored(ran);
    expect(ran.stored).toMatchObject({
      done: true,
      strategy,
      bytes: size,
      key: ran.key,
      contentType: 'text/csv',
      undeclaredEnd: false,
    });
    expect(ran.contentType).toBe('text/csv');
    const operations =
      parts === 0
        ? ['PutObject']
        : ['CreateMultipartUpload', ...Array(parts).fill('UploadPart'), 'CompleteMultipartUpload'];
    expect(ran.calls.map(({ operation }) => operation).toSorted()).toEqual(operations.toSorted());
  });
});

describe('what is asked of both sides', () => {
  /** Gives each connection its own piece of a file of ten parts. */
  const inPieces = (most: number, changes: Changes = {}) =>
    transfers.transferOf(
      { size: most * 10 * PART },
      { ...changes, connections: { initial: most, most }, limits: { ...changes.limits, largestPartBytes: PART } },
    );

  /** Answers no part before all connections have sent one, so that none gets ahead on a busy machine. */
  function inStep(connections: number): Changes {
    let sent = 0;
    let all = Promise.withResolvers<void>();
    const faults: FaultScript = ({ operation }) => {
      if (operation !== 'UploadPart') return undefined;
      const { promise, resolve } = all;
      sent += 1;
      if (sent % connections === 0) {
        resolve();
        all = Promise.withResolvers();
      }
      return { waitFor: promise };
    };
    return { faults, limits: { firstByteMs: 20_000, idleMs: 20_000 } };
  }

  test.each([1, 4, 8])(
    '%i connections of one speed: a long GET for each, and one for the first answer',
    async (most) => {
      const ran = await inPieces(most, inStep(most));

      expectStored(ran);
      expect(ran.requests.length).toBe(most + 1);
      const starts = ran.requests.map(({ offset }) => offset / PART);
      expect(starts.toSorted((a, b) => a - b)).toEqual([
        0,
        1,
        ...Array.from({ length: most - 1 }, (_, at) => 10 * (at + 1)),
      ]);
      expect(new Set(ran.calls.map(({ connection }) => connection)).size).toBeLessThanOrEqual(most + 2);
    },
  );

  test.each([1, 4, 8])('%i connections of any speed: work stealing takes few GETs more', async (most) => {
    const ran = await inPieces(most);

    expectStored(ran);
    expect(ran.requests.length).toBeLessThanOrEqual(2 * most + 1);
    expect(new Set(ran.calls.map(({ connection }) => connection)).size).toBeLessThanOrEqual(most + 2);
  });

  test('no byte of the file is requested twice where nobody takes work from another', async () => {
    const ran = await transfers.transferOf({ size: 20 * PART }, { connections: { initial: 1, most: 1 } });

    expect(ran.requests.map(({ range }) => range)).toEqual([`bytes=0-${PART - 1}`, `bytes=${PART}-${20 * PART - 1}`]);
    expect(ran.requests.reduce((sum, { bytesSent }) => sum + bytesSent, 0)).toBe(20 * PART);
    expect(new Set(ran.requests.map(({ connection }) => connection)).size).toBe(2);
    expect(new Set(ran.calls.map(({ connection }) => connection)).size).toBe(1);
  });

  test('the origin gets no credential, and only raw bytes of the file that it named are requested', async () => {
    const ran = await transfers.transferOf({ size: 20 * PART });

    for (const [index, { headers }] of ran.requests.entries()) {
      expect(headers).toMatchObject({ 'accept-encoding': 'identity', accept: '*/*' });
      expect(headers['if-match']).toBe(index === 0 ? undefined : ran.file.etag);
      expect(Object.keys(headers).join()).not.toMatch(/authorization|cookie|x-amz|user-agent|referer/);
    }
  });

  test('the store is told the checksum and the size of the whole, and to write only what is not there, once', async () => {
    const ran = await transfers.transferOf({ size: 20 * PART + 3 });

    const [create] = callsOf(ran, 'CreateMultipartUpload');
    expect(create?.headers).toMatchObject({
      'x-amz-checksum-algorithm': 'CRC32',
      'x-amz-checksum-type': 'FULL_OBJECT',
      'content-type': 'text/csv',
    });
    const completes = callsOf(ran, 'CompleteMultipartUpload');
    expect(completes).toHaveLength(1);
    expect(completes[0]?.headers).toMatchObject({
      'if-none-match': '*',
      'x-amz-checksum-crc32': crc32Text(ran.file.digests().crc32),
      'x-amz-checksum-type': 'FULL_OBJECT',
      'x-amz-mp-object-size': String(20 * PART + 3),
    });
    for (const { headers } of callsOf(ran, 'UploadPart')) {
      expect(headers).toMatchObject({ 'x-amz-trailer': 'x-amz-checksum-crc32', 'content-encoding': 'aws-chunked' });
      expect(headers.expect).toBeUndefined();
    }
  });

  test('a small file is stored with its checksum, and only where nothing is', async () => {
    const ran = await transfers.transferOf({ size: 99 });

    expect(ran.calls[0]?.headers).toMatchObject({
      'if-none-match': '*',
      'x-amz-checksum-crc32': crc32Text(ran.file.digests().crc32),
      'content-length': '99',
      'content-type': 'text/csv',
    });
  });

  test('the observer is told of the upload, and of every part that is stored', async () => {
    const ran = await transfers.transferOf({ size: 8 * PART });

    expect(ran.uploads).toEqual([
      {
        key: ran.key,
        contentType: 'text/csv',
        etag: ran.file.etag,
        size: 8 * PART,
        partBytes: PART,
        uploadId: expect.any(String),
      },
      null,
    ]);
    expect(ran.progress.map(({ bytes }) => bytes)).toEqual(Array.from({ length: 8 }, (_, index) => (index + 1) * PART));
    expect(ran.progress.every(({ total }) => total === 8 * PART)).toBe(true);
  });

  test('connections are added while they raise the rate, and what they fetch is waited for', async () => {
    const script = () => ({ bytesPerSecond: 400_000 });

    const ran = await transfers.transferOf(
      { size: 24 * PART, script },
      { connections: { initial: 1, most: 8 }, limits: { measureMs: 60 } },
    );

    expectStored(ran);
    expect(new Set(ran.requests.map(({ connection }) => connection)).size).toBeGreaterThan(2);
  });

  test('a connection that was added last is waited for by the others', async () => {
    // The first connection finishes its parts at once; the one that joins it has the last, slow part.
    const script = ({ offset }: { offset: number }) => ({ bytesPerSecond: offset > PART ? 150_000 : 1_000_000 });

    const ran = await transfers.transferOf(
      { size: 4 * PART, script },
      { connections: { initial: 1, most: 2 }, limits: { measureMs: 30 } },
    );

    expectStored(ran);
  });

  test('a key with every kind of character is signed and stored as it is', async () => {
    const key = "runs/2026 11/a+b & ü'(1)*!~%25=?#.csv";
    const ran = await transfers.transferOf({ size: 20 * PART }, { key });

    expectStored(ran);
  });

  test('temporary credentials send their session token along', async () => {
    const credentials = async () => ({ accessKeyId: 'test', secretAccessKey: 'test', sessionToken: 'session' });
    const ran = await transfers.transferOf({ size: 99 }, { store: { credentials } });

    expect(ran.calls[0]?.headers['x-amz-security-token']).toBe('session');
    expectStored(ran);
  });
});

test('every request is told to the observer, those that are repeated too: what a transfer costs can be counted', async () => {
  const told = { source: 0, store: 0 };
  const ran = await transfers.transferOf(
    { size: 12 * PART, script: ({ number }) => (number === 2 ? { cutAfter: 5 } : {}) },
    {
      observer: {
        request: (side) => {
          told[side] += 1;
        },
      },
      faults: ({ operation, attempt }) => (operation === 'UploadPart' && attempt === 1 ? 'reset' : undefined),
    },
  );

  expect(ran.outcome).toBe('stored');
  expect(told).toEqual({ source: ran.requests.length, store: ran.calls.length });
});
