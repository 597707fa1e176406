import { createServer, type RequestListener } from 'node:http';
import { afterEach, describe, expect, test } from 'vitest';
import { portOf } from '../support/loopback.ts';
import { inOrder } from '../support/origin/origin.ts';
import { TROUBLE } from '../support/strict-store/strict-store.ts';
import type { Fault, FaultScript, Operation } from '../support/strict-store/types.ts';
import { IMPATIENT, PART, secondsFor } from '../support/transfer-limits.ts';
import { CHUNKED, type Changes, failing, ONE, type Ran, transferSuite, WHOLE } from '../support/transfers.ts';

/** A bucket that is slow, loses data, refuses, or carries out calls without an answer. */

const SIZE = 6 * PART + 99;
const SMALL = 5000;
const { transfers, expectStored, expectNothing } = await transferSuite();
const { settings } = transfers.store;
const OF_AWS = { ...settings };
afterEach(() => void Object.assign(settings, OF_AWS));

/** Combines all of these faults. */
const both =
  (...scripts: FaultScript[]): FaultScript =>
  (request) =>
    scripts.map((script) => script(request)).find((fault) => fault !== undefined);

/** A transfer in which this operation occurs, with this fault the first `times` times. */
async function transferWith(operation: Operation, fault: Fault, times?: number, changes: Changes = {}): Promise<Ran> {
  const faults = failing(operation, fault, times);
  const one = { ...ONE, ...changes };
  if (operation === 'PutObject') return transfers.transferOf({ size: SMALL }, { ...one, faults });
  const script = operation === 'AbortMultipartUpload' ? inOrder({}, { status: 412 }) : () => undefined;
  if (operation === 'ListParts') {
    const paused = await transfers.transferOf({ size: SIZE }, { ...one, secondsLeft: secondsFor(4) });
    expect(paused.outcome).toBe('unfinished');
    return transfers.transferOf(paused.file, { ...one, key: paused.key, resume: paused.resume, faults });
  }
  const lost = failing('CompleteMultipartUpload', 'lostAnswer', 1);
  return transfers.transferOf(
    { size: SIZE, script },
    { ...one, faults: operation === 'HeadObject' ? both(faults, lost) : faults },
  );
}

const WRITES: Operation[] = ['PutObject', 'CreateMultipartUpload', 'UploadPart', 'CompleteMultipartUpload'];
const EVERYWHERE: Operation[] = [...WRITES, 'ListParts'];
const each = (faults: [string, Fault][], operations: Operation[]) =>
  faults.flatMap(([name, fault]) => operations.map((operation) => [name, operation, fault] as const));

describe('transient trouble', () => {
  const passing: [string, Fault][] = [
    ['SlowDown', TROUBLE.slowDown],
    ['InternalError', TROUBLE.internalError],
    ['a reset', 'reset'],
    ['a lost answer', 'lostAnswer'],
  ];
  test.each(each(passing, [...EVERYWHERE, 'AbortMultipartUpload', 'HeadObject']))(
    '%s at %s, three times in a row, is retried',
    async (_name, operation, fault) => {
      const ran = await transferWith(operation, fault, 3);

      expect([ran.outcome, ran.equal]).toEqual(['stored', true]);
      // A call that was carried out without an answer is found, and not repeated.
      const found = fault === 'lostAnswer' && ['PutObject', 'CompleteMultipartUpload'].includes(operation);
      expect(ran.callsOf(operation).length).toBeGreaterThanOrEqual(found ? 1 : 2);
      // No process can abort an upload whose id was lost in transit: the bucket's lifecycle rule removes it.
      const expected = operation === 'CreateMultipartUpload' && fault === 'lostAnswer' ? 3 : 0;
      expect(transfers.open(ran.key)).toHaveLength(expected);
    },
  );

  test.each(EVERYWHERE)('SlowDown at %s each time ends the transfer after five calls', async (operation) => {
    const ran = await transferWith(operation, TROUBLE.slowDown);

    expectNothing(ran, 'store-unavailable');
    // The test's cleanup aborts the remaining upload once more, without the fault.
    expect(ran.callsOf(operation).filter(({ code }) => code === 'SlowDown')).toHaveLength(5);
  });

  test.each([
    ['UploadPart', 'stall'],
    ['UploadPart', 'stallAnswer'],
    ['PutObject', 'stall'],
    ['PutObject', 'stallAnswer'],
    ['CreateMultipartUpload', 'stall'],
    ['CompleteMultipartUpload', 'stall'],
    ['CompleteMultipartUpload', 'stallAnswer'],
    ['PutObject', 'conflict409'],
  ] as const)('trouble at %s (%s), once, is retried', async (operation, fault) => {
    expectStored(await transferWith(operation, fault, 1, { limits: IMPATIENT }));
  });

  test.each([
    ['a large part in memory', { script: () => CHUNKED }, 'UploadPart'],
    ['a large file in memory', {}, 'PutObject'],
    ['a large part that streams', {}, 'UploadPart'],
  ] as const)('%s is sent again if the store does not read it', async (name, file, operation) => {
    const large = 12 * 1024 * 1024;
    const sizes = { bufferBytes: name.includes('file') ? large : large - 1 };
    // The other limits are long: a busy machine may need time for so many bytes.
    const limits = { idleMs: 1_000, ...sizes, smallestPartBytes: large / 2, largestPartBytes: large };

    const ran = await transfers.transferOf(
      { size: large, ...file },
      // A second part may be one byte, which the connection takes at once.
      { limits, faults: (request) => (request.partNumber === 2 ? undefined : failing(operation, 'stall', 1)(request)) },
    );

    expectStored(ran);
    expect(ran.callsOf(operation).map(({ status }) => status)).toContain(0);
  });
});

describe('a success that S3 would not send', () => {
  const pages: [string, Fault][] = [
    ['nothing', { page: '' }],
    ['the page of a proxy', { page: '<html><body>Welcome</body></html>' }],
    ['an error after 5,000 spaces', { page: `${' '.repeat(5000)}<Error><Code>InternalError</Code></Error>` }],
  ];

  test.each(each(pages, WRITES))('%s in answer to %s is no success', async (_name, operation, page) => {
    const once = await transferWith(operation, page, 1);
    const always = await transferWith(operation, page);

    expectStored(once);
    expect(once.restarts).toBe(0);
    expectNothing(always, 'store-unavailable');
  });

  const PART_ONE = '<Part><PartNumber>1</PartNumber><ETag>"x"</ETag><Size>9</Size></Part>';
  test.each([
    ['no parts', ''],
    ['the same place again', `<NextPartNumberMarker>0</NextPartNumberMarker>${PART_ONE}`],
  ])('a list of parts that goes on with %s is not read without end', async (_name, inner) => {
    const page = `<ListPartsResult><IsTruncated>true</IsTruncated>${inner}</ListPartsResult>`;

    const ran = await transferWith('ListParts', { page });

    expectNothing(ran, 'store-unavailable');
    expect(ran.callsOf('ListParts')).toHaveLength(1);
  });
});

describe('final trouble', () => {
  const denied: [string, Fault][] = [
    ['AccessDenied', TROUBLE.accessDenied],
    ['NoSuchBucket', TROUBLE.noSuchBucket],
    ['KMS.DisabledException', TROUBLE.kmsDisabled],
  ];
  test.each(each(denied, EVERYWHERE))(
    '%s at %s ends the transfer at once and names the cause',
    async (name, operation, fault) => {
      const ran = await transferWith(operation, fault);

      expectNothing(ran, 'store-denied');
      expect(String(ran.error)).toContain(name);
      const refused = ran.callsOf(operation).filter(({ status, code }) => status >= 300 && code !== 'NoSuchUpload');
      expect(refused).toHaveLength(1);
    },
  );

  test('another refusal with status 400 is not retried', async () => {
    const ran = await transferWith('UploadPart', { status: 400, code: 'EntityTooLarge' });

    expectNothing(ran, 'store-unavailable');
    expect(ran.callsOf('UploadPart')).toHaveLength(1);
  });
});

describe('bytes that change on the way', () => {
  test('are found and sent again, or end the transfer, but never go without a checksum', async () => {
    const twice = await transfers.transferOf({ size: SIZE }, { faults: failing('UploadPart', 'corrupt', 2) });
    const always = await transfers.transferOf({ size: SIZE }, { faults: failing('UploadPart', 'corrupt') });

    expectStored(twice);
    expect(twice.callsOf('UploadPart')).toHaveLength(3 * 7);
    expectNothing(always, 'store-unavailable');
    const parts = [twice, always].flatMap((ran) => ran.callsOf('UploadPart'));
    expect(new Set(parts.map(({ headers }) => headers['x-amz-trailer']))).toEqual(new Set(['x-amz-checksum-crc32']));
  });

  test.each(['UploadPart', 'PutObject', 'CompleteMultipartUpload'] as const)(
    'BadDigest at %s: the same request is repeated, and each time ends the transfer',
    async (operation) => {
      const digest: Fault = { status: 400, code: 'BadDigest' };
      const [twice, always] = [await transferWith(operation, digest, 2), await transferWith(operation, digest)];

      expectStored(twice);
      const [one, ...others] = twice
        .callsOf(operation)
        .filter(({ partNumber = 1 }) => partNumber === 1)
        .map(({ headers }) => ({ ...headers, authorization: '', 'x-amz-date': '' }));
      expect(others).toEqual([one, one]);
      expectNothing(always, 'store-unavailable');
    },
  );
});

describe.concurrent('the end of an upload', () => {
  /** The call must arrive within this time, also on a busy machine: it is sent only once. */
  const limits = { firstByteMs: 2000, idleMs: 2000, completeMs: 2000 };
  test.each<[Fault & string, Operation]>([
    ['lostAnswer', 'CompleteMultipartUpload'],
    ['stallAnswer', 'CompleteMultipartUpload'],
    ['noSuchUploadAfterSuccess', 'CompleteMultipartUpload'],
    ['lostAnswer', 'PutObject'],
    ['stallAnswer', 'PutObject'],
  ])('%s after a success of %s: the stored object is checked and accepted', async (fault, operation) => {
    const ran = await transferWith(operation, fault, undefined, { limits });

    expectStored(ran);
    expect([ran.callsOf(operation).length, ran.restarts]).toEqual([1, 0]);
  });

  test('409 at CompleteMultipartUpload: restarts with a new upload', async () => {
    const ran = await transferWith('CompleteMultipartUpload', 'conflict409', 1);

    expectStored(ran);
    expect([ran.restarts, ran.callsOf('CreateMultipartUpload').length]).toEqual([1, 2]);
  });
});

describe('an upload that no longer exists', () => {
  const gone: Fault = { status: 404, code: 'NoSuchUpload' };

  test.each([
    ['of known length', {}],
    ['without ranges', WHOLE],
    ['of unknown length', CHUNKED],
  ])('midway: restarts (%s)', async (_name, behaviour) => {
    let once = true;
    const faults: FaultScript = ({ operation, partNumber }) => {
      const now = once && operation === 'UploadPart' && partNumber === 3;
      if (now) once = false;
      return now ? gone : undefined;
    };

    const ran = await transfers.transferOf({ size: SIZE, script: () => behaviour }, { faults });

    expectStored(ran);
    expect(ran.restarts).toBe(1);
    expect(ran.uploads.map((upload) => upload === null)).toEqual([false, true, false, true]);
  });
});

describe('differences between stores', () => {
  test('ListParts in pages', async () => {
    settings.pageSize = 2;
    const limits = { largestPartBytes: PART };
    const paused = await transfers.transferOf({ size: 2 * SIZE }, { secondsLeft: secondsFor(12), limits });

    const ran = await transfers.transferOf(paused.file, { key: paused.key, resume: paused.resume });

    expectStored(ran);
    expect(ran.callsOf('ListParts').length).toBeGreaterThan(2);
    const before = paused.calls.filter(({ operation, status }) => operation === 'UploadPart' && status === 200);
    expect(before.length + ran.callsOf('UploadPart').length).toBe(13);
  });

  test('objectChecksum: false sends no checksum of the object', async () => {
    const ran = await transfers.transferOf({ size: SIZE }, { store: { objectChecksum: false } });

    expectStored(ran);
    const [complete] = ran.callsOf('CompleteMultipartUpload');
    expect(complete?.headers).toMatchObject({ 'if-none-match': '*', 'x-amz-mp-object-size': String(SIZE) });
    expect(complete?.headers).not.toHaveProperty('x-amz-checksum-crc32');
  });

  test.each(['same answer', 'PreconditionFailed', 'ConditionalRequestConflict'] as const)(
    'a repeated CompleteMultipartUpload answered with %s does not restart',
    async (completeAgain) => {
      settings.completeAgain = completeAgain;
      const lost = failing('CompleteMultipartUpload', 'lostAnswer', 1);
      const faults = both(lost, failing('HeadObject', { status: 403, code: '' }, 1));

      const ran = await transfers.transferOf({ size: SIZE }, { faults });

      expectStored(ran);
      expect([ran.callsOf('CompleteMultipartUpload').length, ran.restarts]).toEqual([2, 0]);
    },
  );
});

test.each([
  ['with ranges', {}],
  ['read in one piece', WHOLE],
])('a store that closes silent connections gets a PUT only with its first bytes (%s)', async (_name, behaviour) => {
  const script = ({ number }: { number: number }) => {
    if (number === 1) return { ...behaviour, endAfter: PART };
    // The bytes after the first part are late. A request sends its headers with its first bytes.
    transfers.store.closeSilent();
    return { ...behaviour, delayMs: 100 };
  };
  let sent = 0;
  const request = (side: 'source' | 'store') => {
    if (side === 'store') sent += 1;
  };
  const limits = { largestPartBytes: PART };

  const ran = await transfers.transferOf({ size: SIZE, script }, { ...ONE, limits, observer: { request } });

  expectStored(ran);
  expect(ran.callsOf('UploadPart').map(({ status }) => status)).toEqual(Array(7).fill(200));
  expect(sent, 'requests that were started for nothing').toBe(ran.calls.length);
});

describe('faults that no tested store has', () => {
  async function transferTo(size: number, answers: RequestListener, limits: Changes['limits'] = IMPATIENT) {
    const endpoint = `http://127.0.0.1:${await portOf(createServer(answers))}`;
    return transfers.transferOf({ size }, { store: { endpoint }, limits });
  }

  test('silence in the middle of an answer ends in store-unavailable', async () => {
    const ran = await transferTo(SIZE, (_request, response) => {
      response.writeHead(200, { 'content-length': 100 });
      response.write('<Initiate');
    });

    expectNothing(ran, 'store-unavailable');
  });

  test('a refusal before the whole part is sent ends the part at once', async () => {
    const seen: string[] = [];
    const large = 32 * 1024 * 1024;
    const answers: RequestListener = (request, response) => {
      seen.push(request.method ?? '');
      if (request.method === 'DELETE') return response.writeHead(204).end();
      if (request.method === 'POST') return response.end('<a><UploadId>1</UploadId></a>');
      response.writeHead(503, { connection: 'close' });
      return response.end('<Error><Code>SlowDown</Code></Error>');
    };

    const ran = await transferTo(large, answers, { smallestPartBytes: large, largestPartBytes: large });

    expectNothing(ran, 'store-unavailable');
    expect(seen).toEqual(['POST', 'PUT', 'PUT', 'PUT', 'PUT', 'PUT', 'DELETE']);
    expect(ran.requests.reduce((sum, { bytesSent }) => sum + bytesSent, 0)).toBeLessThan(5 * large);
  });
});
