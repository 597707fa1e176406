import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { LARGEST_FILE_BYTES } from '../../core/config/file-settings.ts';
import { combineCrc32, crc32Text, crc32Value } from '../../transfer/base/crc32.ts';
import { LIMITS as IN_LIFE } from '../../transfer/base/limits.ts';
import { contiguousEnd, partsOf } from '../../transfer/strategies/ranged.ts';
import { partBytesFor } from '../../transfer/transfer.ts';
import type { Behaviour } from '../support/origin/types.ts';
import { PART } from '../support/transfer-limits.ts';
import { CHUNKED, failing, ONE, type Ran, transferSuite } from '../support/transfers.ts';

const MIB = 1024 ** 2;
const GIB = 1024 ** 3;

const { transfers, expectStored, expectNothing } = await transferSuite();

describe('the plan', () => {
  test('makes parts that S3 accepts, for any allowed size and number of connections', () => {
    const size = fc.integer({ min: IN_LIFE.bufferBytes + 1, max: LARGEST_FILE_BYTES });
    fc.assert(
      fc.property(size, fc.integer({ min: 1, max: 64 }), (bytes, connections) => {
        const partBytes = partBytesFor(bytes, connections, IN_LIFE);
        expect(partBytes).toBeGreaterThanOrEqual(5 * MIB);
        expect(partBytes).toBeLessThanOrEqual(5 * GIB);
        expect(Math.ceil(bytes / partBytes)).toBeLessThanOrEqual(10_000);
      }),
    );
  });

  test('needs at most 10,000 parts that fit in memory for the largest file', () => {
    expect(10_000 * IN_LIFE.bufferBytes).toBeGreaterThan(LARGEST_FILE_BYTES);
  });
});

describe('checksums', () => {
  test('of two pieces combine to the checksum of both', () => {
    const bytes = fc.uint8Array({ maxLength: 3000 });
    fc.assert(
      fc.property(bytes, bytes, (a, b) => {
        expect(combineCrc32(crc32(a), crc32(b), b.length)).toBe(crc32(Buffer.concat([a, b])));
      }),
    );
  });

  test('combine for large pieces: two ways for 6 GiB of zeros agree', () => {
    const mib = crc32(Buffer.alloc(MIB));
    let doubled = mib;
    for (let bytes = MIB; bytes < 4 * GIB; bytes *= 2) doubled = combineCrc32(doubled, doubled, bytes);
    let half = mib;
    for (let bytes = MIB; bytes < 2 * GIB; bytes *= 2) half = combineCrc32(half, half, bytes);

    expect(combineCrc32(doubled, half, 2 * GIB)).toBe(combineCrc32(half, doubled, 4 * GIB));
  });

  test('are written as in S3, and other texts are not read', () => {
    fc.assert(fc.property(fc.integer({ min: 0, max: 2 ** 32 - 1 }), (value) => crc32Value(crc32Text(value)) === value));
    expect(crc32Text(crc32('123456789'))).toBe('y/Q5Jg==');
    expect([undefined, '', 'y/Q5Jg==-3', 'y/Q5J', 'undefined'].map((text) => crc32Value(text))).toEqual(
      Array(5).fill(null),
    );
  });
});

test('a GET ends at a part that is already stored', () => {
  const [part, ...others] = partsOf(60, 10).filter(({ number }) => number !== 3);

  expect(part && contiguousEnd(part, others)).toBe(20);
});

describe('the strategy', () => {
  const cases: [string, number, Behaviour, string, number][] = [
    ['an empty file', 0, {}, 'small', 0],
    ['an empty file of unknown length', 0, CHUNKED, 'small', 0],
    ['one byte', 1, {}, 'small', 0],
    ['as much as fits in memory', PART, {}, 'small', 0],
    ['one byte more than fits in memory', PART + 1, {}, 'ranged', 2],
    ['two parts for each connection', 8 * PART, {}, 'ranged', 8],
    ['more than the largest parts', 32 * PART + 1, {}, 'ranged', 9],
    ['a known length without ranges', 3 * PART + 7, { ignoreRange: true }, 'single', 4],
    ['a known length without ranges, exactly 3 parts', 3 * PART, { ignoreRange: true }, 'single', 3],
    ['an unknown length, less than a part', PART - 1, CHUNKED, 'small', 0],
    ['an unknown length, exactly a part', PART, CHUNKED, 'single', 1],
    ['an unknown length, 3 parts and a byte', 3 * PART + 1, CHUNKED, 'single', 4],
  ];
  test.each(cases)('for %s', async (_name, size, behaviour, strategy, parts) => {
    const ran = await transfers.transferOf({ size, script: () => behaviour });

    expectStored(ran);
    expect(ran.stored).toMatchObject({
      bytes: size,
      key: ran.key,
      contentType: 'text/csv',
      undeclaredEnd: false,
    });
    expect([ran.strategy, ran.contentType]).toEqual([strategy, 'text/csv']);
    const operations =
      parts === 0
        ? ['PutObject']
        : ['CreateMultipartUpload', ...Array(parts).fill('UploadPart'), 'CompleteMultipartUpload'];
    expect(ran.calls.map(({ operation }) => operation).toSorted()).toEqual(operations.toSorted());
  });
});

describe('requests to origin and store', () => {
  test.each([1, 4, 8])('%i connections: a piece of the file each, and as many GETs again at most', async (most) => {
    const ran = await transfers.transferOf(
      { size: most * 10 * PART },
      { connections: most, limits: { largestPartBytes: PART } },
    );

    expectStored(ran);
    const starts = ran.requests.map(({ offset }) => offset / PART);
    const pieces = Array.from({ length: most }, (_, at) => 10 * at);
    expect(starts).toEqual(expect.arrayContaining([1, ...pieces]));
    expect(starts.length).toBeLessThanOrEqual(2 * most + 1);
    expect(new Set(ran.calls.map(({ connection }) => connection)).size).toBeLessThanOrEqual(most + 2);
  });

  test('no byte is requested twice without work stealing', async () => {
    const ran = await transfers.transferOf({ size: 20 * PART }, ONE);

    expect(ran.requests.map(({ range }) => range)).toEqual([`bytes=0-${PART - 1}`, `bytes=${PART}-${20 * PART - 1}`]);
    expect(ran.requests.reduce((sum, { bytesSent }) => sum + bytesSent, 0)).toBe(20 * PART);
    expect(new Set(ran.requests.map(({ connection }) => connection)).size).toBe(2);
    expect(new Set(ran.calls.map(({ connection }) => connection)).size).toBe(1);
  });

  test('requests to the origin have no credential, no compression, and If-Match after the first', async () => {
    const ran = await transfers.transferOf({ size: 20 * PART });

    for (const [index, { headers }] of ran.requests.entries()) {
      expect(headers).toMatchObject({ 'accept-encoding': 'identity', accept: '*/*' });
      expect(headers['if-match']).toBe(index === 0 ? undefined : ran.file.etag);
      expect(Object.keys(headers).join()).not.toMatch(/authorization|cookie|x-amz|user-agent|referer/);
    }
  });

  test('CompleteMultipartUpload has checksum and size of the file and If-None-Match, and is sent once', async () => {
    const ran = await transfers.transferOf({ size: 20 * PART + 3 });

    const [create] = ran.callsOf('CreateMultipartUpload');
    expect(create?.headers).toMatchObject({
      'x-amz-checksum-algorithm': 'CRC32',
      'x-amz-checksum-type': 'FULL_OBJECT',
      'content-type': 'text/csv',
    });
    const completes = ran.callsOf('CompleteMultipartUpload');
    expect(completes).toHaveLength(1);
    expect(completes[0]?.headers).toMatchObject({
      'if-none-match': '*',
      'x-amz-checksum-crc32': crc32Text(ran.file.digests().crc32),
      'x-amz-checksum-type': 'FULL_OBJECT',
      'x-amz-mp-object-size': String(20 * PART + 3),
    });
    for (const { headers } of ran.callsOf('UploadPart')) {
      expect(headers).toMatchObject({ 'x-amz-trailer': 'x-amz-checksum-crc32', 'content-encoding': 'aws-chunked' });
      expect(headers.expect).toBeUndefined();
    }
  });

  test('an error within a 200 repeats CompleteMultipartUpload; each time, it ends the transfer', async () => {
    const error = { errorIn200: 'InternalError' };
    const [twice, always] = await Promise.all(
      [2, 9].map((times) =>
        transfers.transferOf({ size: 3 * PART }, { faults: failing('CompleteMultipartUpload', error, times) }),
      ),
    );

    expectStored(twice as Ran);
    expect(twice?.callsOf('CompleteMultipartUpload')).toHaveLength(3);
    expectNothing(always as Ran, 'store-unavailable');
  });

  test('PutObject of a small file has its checksum and If-None-Match', async () => {
    const ran = await transfers.transferOf({ size: 99 });

    expect(ran.calls[0]?.headers).toMatchObject({
      'if-none-match': '*',
      'x-amz-checksum-crc32': crc32Text(ran.file.digests().crc32),
      'content-length': '99',
      'content-type': 'text/csv',
    });
  });

  test('the observer gets the upload and every stored part', async () => {
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

  test('a key with special characters is signed and stored unchanged', async () => {
    const key = "runs/2026 11/a+b & ü'(1)*!~%25=?#.csv";
    const ran = await transfers.transferOf({ size: 20 * PART }, { key });

    expectStored(ran);
  });

  test('temporary credentials are sent with their session token', async () => {
    const credentials = async () => ({ accessKeyId: 'test', secretAccessKey: 'test', sessionToken: 'session' });
    const ran = await transfers.transferOf({ size: 99 }, { store: { credentials } });

    expect(ran.calls[0]?.headers['x-amz-security-token']).toBe('session');
    expectStored(ran);
  });
});

describe('an object at the key', () => {
  const SIZE = 6 * PART + 99;

  test.each([
    ['large', SIZE, {}],
    ['small', 5000, {}],
    ['of unknown length', SIZE, CHUNKED],
    ['small, of unknown length', 5000, CHUNKED],
  ])('with the same content: ends as stored, and aborts the second upload (%s)', async (_name, size, behaviour) => {
    const file = transfers.origin.file({ size, script: () => behaviour });
    const before = await transfers.transferOf(file);

    const ran = await transfers.transferOf(file, { key: before.key });

    expectStored(ran);
    expect(ran.stored).toEqual(before.stored);
  });

  test.each([
    ['other content, large', 777, SIZE],
    ['other content, small', 777, 5000],
    ['the same size and another checksum', SIZE, SIZE],
  ])('with %s: ends in conflict, and keeps the object', async (_name, standing, size) => {
    const before = await transfers.transferOf({ size: standing });

    const ran = await transfers.transferOf({ size }, { key: before.key });

    expect(ran.outcome).toBe('conflict');
    expect(ran.body?.equals(before.file.bytes())).toBe(true);
    expect(transfers.open(ran.key)).toEqual([]);
    expect(String(ran.error)).toContain(ran.key);
  });
});

test('the observer counts every request, also repeated ones', async () => {
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
