import { createServer, type RequestListener } from 'node:http';
import { describe, expect, test } from 'vitest';
import { portOf } from '../support/loopback.ts';
import { inOrder } from '../support/origin/origin.ts';
import { TROUBLE } from '../support/strict-store/strict-store.ts';
import type { Fault, FaultScript, Operation } from '../support/strict-store/types.ts';
import { callsOf, transferSuite } from '../support/transfer-suite.ts';
import { type Changes, failing, IMPATIENT, PART, type Ran, secondsFor } from '../support/transfers.ts';

/** A bucket that is slow, loses data, refuses, or carries out calls without an answer. */

const SIZE = 6 * PART + 99;
const SMALL = 5000;
const { transfers, expectStored, expectNothing } = await transferSuite();

/** Combines all of these faults. */
const both =
  (...scripts: FaultScript[]): FaultScript =>
  (request) =>
    scripts.map((script) => script(request)).find((fault) => fault !== undefined);

/** A transfer in which this operation occurs. */
function transferWith(operation: Operation, faults: FaultScript, changes: Changes = {}): Promise<Ran> {
  const one = { connections: { initial: 1, most: 1 }, ...changes };
  if (operation === 'PutObject') return transfers.transferOf({ size: SMALL }, { ...one, faults });
  if (operation === 'AbortMultipartUpload') {
    const script = inOrder({}, { status: 412 });
    return transfers.transferOf({ size: SIZE, script }, { ...one, faults });
  }
  if (operation === 'ListParts') return resumedWith(faults, one);
  const lost = failing('CompleteMultipartUpload', 'lostAnswer', 1);
  return transfers.transferOf(
    { size: SIZE },
    { ...one, faults: operation === 'HeadObject' ? both(faults, lost) : faults },
  );
}

async function resumedWith(faults: FaultScript, changes: Changes): Promise<Ran> {
  const paused = await transfers.transferOf({ size: SIZE }, { ...changes, secondsLeft: secondsFor(4) });
  expect(paused.outcome).toBe('unfinished');
  return transfers.transferOf(paused.file, { ...changes, key: paused.key, resume: paused.resume, faults });
}

const EVERYWHERE: Operation[] = [
  'PutObject',
  'CreateMultipartUpload',
  'UploadPart',
  'ListParts',
  'CompleteMultipartUpload',
];

describe('transient trouble', () => {
  const passing: [string, Fault][] = [
    ['SlowDown', TROUBLE.slowDown],
    ['InternalError', TROUBLE.internalError],
    ['a reset', 'reset'],
    ['a lost answer', 'lostAnswer'],
  ];
  test.each(
    passing.flatMap(([name, fault]) =>
      [...EVERYWHERE, 'AbortMultipartUpload' as const, 'HeadObject' as const].map(
        (operation) => [name, operation, fault] as const,
      ),
    ),
  )('%s at %s, three times in a row, is retried', async (_name, operation, fault) => {
    const ran = await transferWith(operation, failing(operation, fault, 3));

    expect(ran.outcome).toBe('stored');
    expect(ran.equal).toBe(true);
    // A call that was carried out without an answer is found, and not repeated.
    const found = fault === 'lostAnswer' && ['PutObject', 'CompleteMultipartUpload'].includes(operation);
    expect(callsOf(ran, operation).length).toBeGreaterThanOrEqual(found ? 1 : 2);
    // No process can abort an upload whose id was lost in transit: the bucket's lifecycle rule removes it.
    const expected = operation === 'CreateMultipartUpload' && fault === 'lostAnswer' ? 3 : 0;
    expect(transfers.open(ran.key)).toHaveLength(expected);
  });

  test.each(EVERYWHERE.map((operation) => [operation]))(
    'SlowDown at %s each time ends the transfer after five calls',
    async (operation) => {
      const ran = await transferWith(operation, failing(operation, TROUBLE.slowDown));

      expectNothing(ran, 'store-unavailable');
      // The test's cleanup aborts the remaining upload once more, without the fault.
      expect(callsOf(ran, operation).filter(({ code }) => code === 'SlowDown')).toHaveLength(5);
    },
  );

  test.each([
    ['UploadPart', 'stall'],
    ['UploadPart', 'stallAnswer'],
    ['PutObject', 'stall'],
    ['PutObject', 'stallAnswer'],
    ['CreateMultipartUpload', 'stall'],
    ['CompleteMultipartUpload', 'stall'],
    ['CompleteMultipartUpload', 'stallAnswer'],
  ] as const)('silence at %s (%s), once, is retried', async (operation, fault) => {
    expectStored(await transferWith(operation, failing(operation, fault, 1), { limits: IMPATIENT }));
  });

  test.each([0, 1, 40_000])('a part that is reset twice after %i bytes is read and sent again', async (resetAfter) => {
    const ran = await transfers.transferOf({ size: SIZE }, { faults: failing('UploadPart', { resetAfter }, 2) });

    expectStored(ran);
    expect(callsOf(ran, 'CreateMultipartUpload')).toHaveLength(1);
  });

  test('a refused part from an origin without ranges is sent again from memory', async () => {
    const file = { size: SIZE, script: () => ({ ignoreRange: true }) };

    const ran = await transfers.transferOf(file, { faults: failing('UploadPart', TROUBLE.slowDown, 1) });

    expectStored(ran);
    expect([ran.restarts, ran.requests.length]).toEqual([0, 1]);
  });

  test.each([
    ['a large part in memory', { script: () => ({ framing: 'chunked' as const, ignoreRange: true }) }, 'UploadPart'],
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
    expect(callsOf(ran, operation).map(({ status }) => status)).toContain(0);
  });
});

describe('a success that S3 would not send', () => {
  const pages: [string, string][] = [
    ['nothing', ''],
    ['the page of a proxy', '<html><body>Welcome</body></html>'],
    ['an error after 5,000 spaces', `${' '.repeat(5000)}<Error><Code>InternalError</Code></Error>`],
  ];
  const writes = ['PutObject', 'CreateMultipartUpload', 'UploadPart', 'CompleteMultipartUpload'] as const;
  const cases = pages.flatMap(([name, page]) => writes.map((operation) => [name, operation, page] as const));

  test.each(cases)('%s in answer to %s is no success, and the call is repeated', async (_name, operation, page) => {
    const once = await transferWith(operation, failing(operation, { page }, 1));
    const always = await transferWith(operation, failing(operation, { page }));

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

    const ran = await transferWith('ListParts', failing('ListParts', { page }));

    expectNothing(ran, 'store-unavailable');
    expect(callsOf(ran, 'ListParts')).toHaveLength(1);
  });
});

describe('final trouble', () => {
  const final: [string, Fault, RegExp][] = [
    ['AccessDenied', TROUBLE.accessDenied, /AccessDenied/],
    ['NoSuchBucket', TROUBLE.noSuchBucket, /NoSuchBucket/],
    ['KMS.DisabledException', TROUBLE.kmsDisabled, /KMS\.DisabledException/],
  ];
  test.each(
    final.flatMap(([name, fault, said]) => EVERYWHERE.map((operation) => [name, operation, fault, said] as const)),
  )('%s at %s ends the transfer at once and names the cause', async (_name, operation, fault, said) => {
    const ran = await transferWith(operation, failing(operation, fault));

    expectNothing(ran, 'store-denied');
    expect(String(ran.error)).toMatch(said);
    const refused = callsOf(ran, operation).filter(({ status, code }) => status >= 300 && code !== 'NoSuchUpload');
    expect(refused).toHaveLength(1);
  });

  test('another refusal with status 400 is not retried', async () => {
    const ran = await transferWith('UploadPart', failing('UploadPart', { status: 400, code: 'EntityTooLarge' }));

    expectNothing(ran, 'store-unavailable');
    expect(callsOf(ran, 'UploadPart')).toHaveLength(1);
  });
});

describe('bytes that change on the way', () => {
  test('are found by their checksum and sent again with the same kind of checksum', async () => {
    const ran = await transfers.transferOf({ size: SIZE }, { faults: failing('UploadPart', 'corrupt', 2) });

    expectStored(ran);
    const modes = callsOf(ran, 'UploadPart').map(({ headers }) => headers['x-amz-trailer']);
    expect(new Set(modes)).toEqual(new Set(['x-amz-checksum-crc32']));
    expect(callsOf(ran, 'UploadPart').length).toBe(3 * 7);
  });

  test('each time: end the transfer, and are never sent without a checksum', async () => {
    const ran = await transfers.transferOf({ size: SIZE }, { faults: failing('UploadPart', 'corrupt') });

    expectNothing(ran, 'store-unavailable');
    const modes = callsOf(ran, 'UploadPart').map(({ headers }) => headers['x-amz-trailer']);
    expect(new Set(modes)).toEqual(new Set(['x-amz-checksum-crc32']));
  });

  const digest: Fault = { status: 400, code: 'BadDigest' };
  test.each(['UploadPart', 'PutObject', 'CompleteMultipartUpload'] as const)(
    'BadDigest at %s: the same request is repeated',
    async (operation) => {
      const ran = await transferWith(operation, failing(operation, digest, 2));

      expectStored(ran);
      const [one, ...others] = callsOf(ran, operation)
        .filter(({ partNumber = 1 }) => partNumber === 1)
        .map(({ headers }) => ({ ...headers, authorization: '', 'x-amz-date': '' }));
      expect(others).toEqual([one, one]);
    },
  );

  test.each(['UploadPart', 'PutObject', 'CompleteMultipartUpload'] as const)(
    'BadDigest at %s each time: the transfer ends',
    async (operation) => {
      const ran = await transferWith(operation, failing(operation, digest));

      expectNothing(ran, 'store-unavailable');
      expect(String(ran.error)).toContain('BadDigest');
    },
  );
});

describe('the end of an upload', () => {
  const completes = (ran: Ran) => callsOf(ran, 'CompleteMultipartUpload');

  test.each(['lostAnswer', 'stallAnswer', 'noSuchUploadAfterSuccess'] as const)(
    '%s after a success: the stored object is checked and accepted',
    async (fault) => {
      const ran = await transfers.transferOf(
        { size: SIZE },
        { faults: failing('CompleteMultipartUpload', fault), limits: IMPATIENT },
      );

      expectStored(ran);
      expect(completes(ran)).toHaveLength(1);
      expect(ran.restarts).toBe(0);
    },
  );

  test('InternalError within a 200: repeats the call', async () => {
    const ran = await transfers.transferOf(
      { size: SIZE },
      { faults: failing('CompleteMultipartUpload', { errorIn200: 'InternalError' }, 2) },
    );

    expectStored(ran);
    expect(completes(ran)).toHaveLength(3);
  });

  test('SlowDown within a 200 each time: ends in store-unavailable', async () => {
    const ran = await transfers.transferOf(
      { size: SIZE },
      { faults: failing('CompleteMultipartUpload', { errorIn200: 'SlowDown' }) },
    );

    expectNothing(ran, 'store-unavailable');
  });

  test('409 at CompleteMultipartUpload: restarts with a new upload', async () => {
    const ran = await transfers.transferOf(
      { size: SIZE },
      { faults: failing('CompleteMultipartUpload', 'conflict409', 1) },
    );

    expectStored(ran);
    expect([ran.restarts, callsOf(ran, 'CreateMultipartUpload').length]).toEqual([1, 2]);
  });

  test('409 at PutObject: restarts', async () => {
    expectStored(await transferWith('PutObject', failing('PutObject', 'conflict409', 1)));
  });

  test.each([
    ['large', SIZE, {}],
    ['small', SMALL, {}],
    ['of unknown length', SIZE, { framing: 'chunked' as const, ignoreRange: true }],
    ['small, of unknown length', SMALL, { framing: 'chunked' as const, ignoreRange: true }],
  ])('412 with the same content: ends as stored, and aborts the second upload (%s)', async (_name, size, behaviour) => {
    const file = transfers.origin.file({ size, script: () => behaviour });
    const before = await transfers.transferOf(file);

    const ran = await transfers.transferOf(file, { key: before.key });

    expectStored(ran);
    expect(ran.stored).toEqual(before.stored);
  });

  test.each([
    ['large', SIZE],
    ['small', SMALL],
  ])('412 with other content: ends in conflict, and keeps the object (%s)', async (_name, size) => {
    const before = await transfers.transferOf({ size: 777 });

    const ran = await transfers.transferOf({ size }, { key: before.key });

    expect(ran.outcome).toBe('conflict');
    expect(ran.body?.equals(before.file.bytes())).toBe(true);
    expect(transfers.open(ran.key)).toEqual([]);
    expect(String(ran.error)).toContain(ran.key);
  });

  test('412 with content of the same size and another checksum: ends in conflict', async () => {
    const before = await transfers.transferOf({ size: SIZE, seed: 50 });

    const ran = await transfers.transferOf({ size: SIZE, seed: 51 }, { key: before.key });

    expect(ran.outcome).toBe('conflict');
    expect(transfers.open(ran.key)).toEqual([]);
  });

  test.each(['lostAnswer', 'stallAnswer'] as const)(
    '%s to PutObject: the stored object is checked and accepted',
    async (fault) => {
      const ran = await transferWith('PutObject', failing('PutObject', fault), { limits: IMPATIENT });

      expectStored(ran);
      expect(callsOf(ran, 'PutObject')).toHaveLength(1);
    },
  );
});

describe('an upload that no longer exists', () => {
  const gone: Fault = { status: 404, code: 'NoSuchUpload' };

  test.each([
    ['of known length', {}],
    ['without ranges', { ignoreRange: true }],
    ['of unknown length', { ignoreRange: true, framing: 'chunked' as const }],
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

  test('between two calls: restarts', async () => {
    const ran = await resumedWith(failing('ListParts', gone), {});

    expectStored(ran);
    expect(ran.restarts).toBe(1);
  });

  test('because a call completed it and died: finds the object', async () => {
    const before = await transfers.transferOf({ size: SIZE });
    const [resume] = before.uploads;

    const ran = await transfers.transferOf(before.file, { key: before.key, resume });

    expectStored(ran);
    expect(callsOf(ran, 'ListParts').map(({ code }) => code)).toEqual(['NoSuchUpload']);
  });
});

describe('differences between stores', () => {
  test('ListParts in pages', async () => {
    transfers.store.settings.pageSize = 2;
    const limits = { largestPartBytes: PART };
    const paused = await transfers.transferOf({ size: 2 * SIZE }, { secondsLeft: secondsFor(12), limits });

    const ran = await transfers.transferOf(paused.file, { key: paused.key, resume: paused.resume });
    transfers.store.settings.pageSize = 1000;

    expectStored(ran);
    expect(callsOf(ran, 'ListParts').length).toBeGreaterThan(2);
    const before = paused.calls.filter(({ operation, status }) => operation === 'UploadPart' && status === 200);
    expect(before.length + callsOf(ran, 'UploadPart').length).toBe(13);
  });

  test('objectChecksum: false sends no checksum of the object', async () => {
    const ran = await transfers.transferOf({ size: SIZE }, { store: { objectChecksum: false } });

    expectStored(ran);
    const [complete] = callsOf(ran, 'CompleteMultipartUpload');
    expect(complete?.headers).toMatchObject({ 'if-none-match': '*', 'x-amz-mp-object-size': String(SIZE) });
    expect(complete?.headers).not.toHaveProperty('x-amz-checksum-crc32');
  });

  test.each(['same answer', 'PreconditionFailed', 'ConditionalRequestConflict'] as const)(
    'a repeated CompleteMultipartUpload answered with %s does not restart',
    async (completeAgain) => {
      transfers.store.settings.completeAgain = completeAgain;
      const faults = both(
        failing('CompleteMultipartUpload', 'lostAnswer', 1),
        failing('HeadObject', { status: 403, code: '' }, 1),
      );
      const ran = await transfers.transferOf({ size: SIZE }, { faults });
      transfers.store.settings.completeAgain = 'NoSuchUpload';

      expectStored(ran);
      expect(callsOf(ran, 'CompleteMultipartUpload')).toHaveLength(2);
      expect(ran.restarts, 'restarts').toBe(0);
    },
  );

  test('a store that ignores checksums of parts ends in store-unavailable', async () => {
    transfers.store.settings.checksums = 'none';
    const ran = await transfers.transferOf({ size: SIZE }, { store: { objectChecksum: false } });
    transfers.store.settings.checksums = 'full-object';

    expectNothing(ran, 'store-unavailable');
    const parts = callsOf(ran, 'UploadPart');
    expect(parts.every(({ headers }) => headers['x-amz-trailer'] === 'x-amz-checksum-crc32')).toBe(true);
  });

  test('a store without checksums: reads the object back if the answer was lost', async () => {
    transfers.store.settings.checksums = 'none';
    const ran = await transfers.transferOf(
      { size: SMALL },
      { faults: both(failing('PutObject', 'lostAnswer', 1), failing('GetObject', 'reset', 2)) },
    );
    transfers.store.settings.checksums = 'full-object';

    expect(callsOf(ran, 'GetObject')).toHaveLength(3);
    expectStored(ran);
  });
});

describe('a store that closes a connection without bytes', () => {
  test.each([
    ['with ranges', {}],
    ['read in one piece', { ignoreRange: true }],
  ])('(%s) gets a PUT only once its first bytes have arrived', async (_name, behaviour) => {
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
    const one = { connections: { initial: 1, most: 1 }, limits: { largestPartBytes: PART } };

    const ran = await transfers.transferOf({ size: SIZE, script }, { ...one, observer: { request } });

    expectStored(ran);
    expect(callsOf(ran, 'UploadPart').map(({ status }) => status)).toEqual(Array(7).fill(200));
    expect(sent, 'requests that were started for nothing').toBe(ran.calls.length);
  });
});

describe('faults that no tested store has', () => {
  async function storeThat(answers: RequestListener): Promise<string> {
    const server = createServer(answers);
    return `http://127.0.0.1:${await portOf(server)}`;
  }

  test('silence in the middle of an answer ends in store-unavailable', async () => {
    const endpoint = await storeThat((_request, response) => {
      response.writeHead(200, { 'content-length': 100 });
      response.write('<Initiate');
    });

    const ran = await transfers.transferOf({ size: SIZE }, { store: { endpoint }, limits: IMPATIENT });

    expectNothing(ran, 'store-unavailable');
  });

  test('silence in the middle of an object that is read back ends in store-unavailable', async () => {
    const endpoint = await storeThat((request, response) => {
      if (request.method === 'PUT') return request.socket.resetAndDestroy();
      response.writeHead(200, { 'content-length': SMALL });
      return request.method === 'HEAD' ? response.end() : response.write('id,name');
    });

    const ran = await transfers.transferOf({ size: SMALL }, { store: { endpoint }, limits: IMPATIENT });

    expectNothing(ran, 'store-unavailable');
  });

  test('a refusal before the whole part is sent ends the part at once', async () => {
    const seen: string[] = [];
    const endpoint = await storeThat((request, response) => {
      seen.push(request.method ?? '');
      if (request.method === 'DELETE') return response.writeHead(204).end();
      if (request.method === 'POST') return response.end('<a><UploadId>1</UploadId></a>');
      response.writeHead(503, { connection: 'close' });
      return response.end('<Error><Code>SlowDown</Code></Error>');
    });
    const large = 32 * 1024 * 1024;
    const limits = { smallestPartBytes: large, largestPartBytes: large };

    const ran = await transfers.transferOf({ size: large }, { store: { endpoint }, limits });

    expectNothing(ran, 'store-unavailable');
    expect(seen).toEqual(['POST', 'PUT', 'PUT', 'PUT', 'PUT', 'PUT', 'DELETE']);
    expect(ran.requests.reduce((sum, { bytesSent }) => sum + bytesSent, 0)).toBeLessThan(5 * large);
  });
});
