import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Limits } from '../../transfer/base/limits.ts';
import { TRANSFER_REASONS } from '../../transfer/base/transfer-errors.ts';
import { EXPIRED, HTML_PAGE } from '../support/origin/origin.ts';
import type { Behaviour } from '../support/origin/types.ts';
import { runs } from '../support/runs.ts';
import { TROUBLE } from '../support/strict-store/strict-store.ts';
import type { Fault, FaultScript, Operation } from '../support/strict-store/types.ts';
import { IMPATIENT, KIB, PART } from '../support/transfer-limits.ts';
import { type Ran, type Transfers, transfersByWire, type Wire } from '../support/transfers.ts';

/** Tests transfers with random faults on both sides. */

const byWire = await transfersByWire();

const wires = fc.constantFrom(...(Object.keys(byWire) as Wire[]));
const shapes = fc.constantFrom<Behaviour>(
  {},
  { ignoreRange: true },
  { ignoreRange: true, framing: 'chunked' },
  { framing: 'chunked' },
  { headers: { Connection: 'close' } },
);
const speeds = fc.constantFrom<Behaviour>(
  {},
  { pieceBytes: 16 * KIB },
  { pieceBytes: 4 * KIB + 1 },
  { bytesPerSecond: 20_000_000, pieceBytes: 20_000 },
);
/** Among them sizes around the borders of parts, blocks and records. A mebibyte and more reuses blocks. */
const sizes = fc.oneof(
  fc.integer({ min: 0, max: 14 * PART }),
  fc
    .tuple(fc.constantFrom(PART, 128 * KIB, 512 * KIB, 1024 * KIB, 3072 * KIB), fc.integer({ min: -99, max: 99 }))
    .map(([border, offset]) => border + offset),
);
/** The origin that serves the file, the file, and the sizes in which it moves. */
const files = fc.record({
  wire: wires,
  size: sizes,
  shape: fc.tuple(shapes, speeds).map(([shape, speed]) => ({ ...shape, ...speed })),
  largestPartBytes: fc.constantFrom(PART, 4 * PART, 64 * PART),
  most: fc.integer({ min: 1, max: 4 }),
});
const bytes = fc.integer({ min: 0, max: 5 * PART });

/** Faults of the origin that another attempt fixes. */
const passingAtOrigin = fc.oneof(
  fc.record({ cutAfter: bytes }),
  fc.record({ endAfter: bytes }),
  fc.constantFrom<Behaviour>(
    { reset: true },
    { status: 503 },
    { status: 500 },
    { status: 429, headers: { 'Retry-After': '0' } },
    EXPIRED,
    { delayMs: 5 },
    { stallAfter: 30_000 },
  ),
);

/** Faults of the store that another attempt fixes. */
const passingAtStore = fc.oneof(
  fc.record({ resetAfter: bytes }),
  fc.record({ pausesEvery: fc.constantFrom(PART, 8 * PART), pauseMs: fc.constant(3) }),
  fc.constantFrom<Fault>('reset', 'lostAnswer', 'corrupt', TROUBLE.slowDown, TROUBLE.internalError, {
    status: 400,
    code: 'BadDigest',
  }),
);

/** All faults that any request may meet. */
const anythingAtOrigin = fc.oneof(
  { arbitrary: fc.constant<Behaviour>({}), weight: 4 },
  { arbitrary: passingAtOrigin, weight: 3 },
  {
    arbitrary: fc.constantFrom<Behaviour>(
      HTML_PAGE,
      { seed: 900, etag: '"another"' },
      { seed: 900, etag: null },
      { status: 204 },
      { status: 206 },
      { status: 301 },
      { status: 416 },
      { status: 412 },
      { status: 418 },
      { contentRange: 'bytes 0-9/10' },
      { contentRange: 'nonsense' },
      { addToLength: 10 },
      { addToLength: -10 },
      { extraBytes: 10, framing: 'length' },
      { framing: 'close' },
      { gzip: true },
      { etag: null },
      { ignoreRange: true },
      { redirect: '/nowhere' },
      { redirect: 'http://169.254.169.254/' },
      { status: 503, headers: { 'Retry-After': '9999' } },
    ),
    weight: 2,
  },
);

const anythingAtStore = fc.oneof(
  { arbitrary: fc.constant<Fault | undefined>(undefined), weight: 6 },
  { arbitrary: passingAtStore, weight: 2 },
  {
    arbitrary: fc.constantFrom<Fault>(
      'stall',
      'stallAnswer',
      'conflict409',
      'noSuchUploadAfterSuccess',
      { errorIn200: 'InternalError' },
      { errorIn200: 'AccessDenied' },
      { status: 404, code: 'NoSuchUpload' },
      { status: 412, code: 'PreconditionFailed' },
      { status: 302, code: 'Found' },
      { status: 400, code: 'MalformedXML' },
      TROUBLE.accessDenied,
      TROUBLE.kmsDisabled,
      TROUBLE.noSuchBucket,
    ),
    weight: 1,
  },
);

const codeOf = (fault: Fault) => (typeof fault === 'object' && 'code' in fault ? fault.code : undefined);

/** Faults for one operation only. Elsewhere they have no effect. */
const ONLY_AT: [(fault: Fault) => boolean, Operation][] = [
  [(fault) => fault === 'corrupt' || codeOf(fault) === 'BadDigest', 'UploadPart'],
  [(fault) => fault === 'conflict409' || fault === 'noSuchUploadAfterSuccess', 'CompleteMultipartUpload'],
  [(fault) => typeof fault === 'object' && 'errorIn200' in fault, 'CompleteMultipartUpload'],
];

/** Uses the script's n-th entry for the n-th call. */
function inTurn(script: (call: number) => Fault | undefined): FaultScript {
  let calls = 0;
  return ({ operation }) => {
    calls += 1;
    const fault = script(calls);
    const only = fault === undefined ? undefined : ONLY_AT.find(([is]) => is(fault));
    // A client cannot detect a store that keeps an upload and reports that it has none.
    if (operation === 'AbortMultipartUpload' && fault !== undefined && codeOf(fault) === 'NoSuchUpload')
      return undefined;
    return only && only[1] !== operation ? undefined : fault;
  };
}

type File = typeof files extends fc.Arbitrary<infer Drawn> ? Drawn : never;

/** Moves a drawn file with these faults on both sides. */
function run(
  { wire, size, shape, largestPartBytes, most }: File,
  origin: (request: number) => Behaviour | undefined,
  store: FaultScript,
  limits: Partial<Limits>,
): Promise<Ran> {
  return byWire[wire].transferOf(
    { size, script: ({ number }) => ({ ...shape, ...origin(number) }) },
    { faults: store, connections: most, limits: { largestPartBytes, surplusMs: 20, ...limits } },
  );
}

test('stores an equal file if there are fewer faults than allowed, at random places', async () => {
  const most = 5;
  const at = fc.integer({ min: 1, max: 24 });
  const origin = fc.uniqueArray(fc.tuple(at, passingAtOrigin), { maxLength: most, selector: ([number]) => number });
  const store = fc.uniqueArray(fc.tuple(at, passingAtStore), { maxLength: most, selector: ([number]) => number });
  // A silence costs the whole time limit. The limit must be long enough that a busy machine does not look silent.
  const limits = { attempts: most + 1, idleMs: 500 };

  const property = fc.asyncProperty(files, origin, store, async (file, requests, calls) => {
    const [troubles, faults] = [new Map(requests), new Map(calls)];

    const ran = await run(
      file,
      (request) => troubles.get(request),
      inTurn((call) => faults.get(call)),
      limits,
    );

    expect(ran.outcome).toBe('stored');
    expect(ran.equal).toBe(true);
    expect(ran.stored?.crc32).toBe(ran.file.digests().crc32);
    expect(byWire[file.wire].leftovers(ran).uploads).toEqual([]);
  });

  await fc.assert(property, { numRuns: runs(300) });
});

/** The origin may have served two files: the stored object must be one of them, whole. */
function isWhole({ origin }: Transfers, { body, file }: Ran): boolean {
  const other = origin.file({ size: file.size, seed: 900 });
  return body !== undefined && (body.equals(file.bytes()) || body.equals(other.bytes()) || isGzip(body));
}

/** A compressed body is stored unchanged. Its own checksum shows whether it is whole. */
const isGzip = (body: Buffer) => body[0] === 0x1f && body[1] === 0x8b;

test('ends in a known error or stores an equal file, for any faults, and leaves nothing', async () => {
  const origin = fc.array(anythingAtOrigin, { minLength: 1, maxLength: 12 });
  const store = fc.array(anythingAtStore, { minLength: 1, maxLength: 12 });
  const limits = { ...IMPATIENT, longestWaitSeconds: 0 };
  const names = ['stored', ...TRANSFER_REASONS];

  const property = fc.asyncProperty(files, origin, store, async (file, requests, calls) => {
    const ran = await run(
      file,
      (request) => requests[(request - 1) % requests.length],
      inTurn((call) => calls[(call - 1) % calls.length]),
      limits,
    );

    expect(names).toContain(ran.outcome);
    expect(byWire[file.wire].leftovers(ran).uploads).toEqual([]);
    // After a lost answer to the last call, an object may exist. It must equal the file.
    if (ran.outcome === 'stored' || ran.body !== undefined) expect(isWhole(byWire[file.wire], ran)).toBe(true);
  });

  await fc.assert(property, { numRuns: runs(250) });
});
