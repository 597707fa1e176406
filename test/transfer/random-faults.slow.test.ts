import fc from 'fast-check';
import { expect, test } from 'vitest';
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

const atOrigin = fc.oneof(
  { arbitrary: fc.constant<Behaviour>({}), weight: 6 },
  { arbitrary: fc.oneof(fc.record({ cutAfter: bytes }), fc.record({ endAfter: bytes })), weight: 1 },
  {
    arbitrary: fc.constantFrom<Behaviour>(
      HTML_PAGE,
      EXPIRED,
      { reset: true },
      { delayMs: 5 },
      { stallAfter: 30_000 },
      { seed: 900, etag: '"another"' },
      { seed: 900, etag: null },
      ...[204, 206, 301, 400, 405, 412, 416, 418, 500, 501, 503].map((status) => ({ status })),
      { status: 429, headers: { 'Retry-After': '0' } },
      { status: 503, headers: { 'Retry-After': '9999' } },
      { contentRange: 'bytes 0-9/10' },
      { contentRange: 'nonsense' },
      { addToLength: 10 },
      { addToLength: -10 },
      { extraBytes: 10, framing: 'length' },
      { framing: 'close' },
      { etag: null },
      { ignoreRange: true },
      { status: 302, headers: { Location: 'http://169.254.169.254/' } },
    ),
    weight: 3,
  },
);

const atStore = fc.oneof(
  { arbitrary: fc.constant<Fault | undefined>(undefined), weight: 6 },
  { arbitrary: fc.record({ resetAfter: bytes }), weight: 1 },
  { arbitrary: fc.constant({ pausesEvery: 8 * PART, pauseMs: 3 }), weight: 1 },
  {
    arbitrary: fc.constantFrom<Fault>(
      ...(['reset', 'stall', 'lostAnswer', 'stallAnswer', 'corrupt', 'conflict409'] as const),
      'noSuchUploadAfterSuccess',
      { errorIn200: 'InternalError' },
      { errorIn200: 'AccessDenied' },
      { status: 404, code: 'NoSuchUpload' },
      { status: 412, code: 'PreconditionFailed' },
      { status: 302, code: 'Found' },
      { status: 400, code: 'BadDigest' },
      { status: 400, code: 'MalformedXML' },
      ...Object.values(TROUBLE),
    ),
    weight: 2,
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
    // A client cannot detect a store that keeps an upload and reports that the upload, or the bucket, does not exist.
    if (operation === 'AbortMultipartUpload' && fault !== undefined && /^NoSuch/.test(codeOf(fault) ?? ''))
      return undefined;
    return only && only[1] !== operation ? undefined : fault;
  };
}

/** The origin may have served two files: the stored object must be one of them, whole. */
function isWhole({ origin }: Transfers, { body, file }: Ran): boolean {
  const other = origin.file({ size: file.size, seed: 900 });
  return body !== undefined && (body.equals(file.bytes()) || body.equals(other.bytes()));
}

test('ends in a known error or stores an equal file, for any faults, and leaves nothing', async () => {
  const origin = fc.array(atOrigin, { minLength: 1, maxLength: 12 });
  const store = fc.array(atStore, { minLength: 1, maxLength: 12 });
  const names = ['stored', ...TRANSFER_REASONS];

  const property = fc.asyncProperty(files, origin, store, async (file, requests, calls) => {
    const { wire, size, shape, largestPartBytes, most: connections } = file;
    const ran = await byWire[wire].transferOf(
      { size, script: ({ number }) => ({ ...shape, ...requests[(number - 1) % requests.length] }) },
      {
        connections,
        faults: inTurn((call) => calls[(call - 1) % calls.length]),
        limits: { ...IMPATIENT, largestPartBytes, surplusMs: 20, longestWaitSeconds: 0 },
      },
    );

    expect(names).toContain(ran.outcome);
    expect(byWire[wire].leftovers(ran).uploads).toEqual([]);
    // After a lost answer to the last call, an object may exist. It must equal the file.
    if (ran.outcome === 'stored' || ran.body !== undefined) expect(isWhole(byWire[wire], ran)).toBe(true);
  });

  await fc.assert(property, { numRuns: runs(250) });
});
