import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { trustedCertificate } from './certificate.ts';
import type { Behaviour } from './origin/types.ts';
import { KIB, PART, startTransfers, type Transfers } from './transfers.ts';

/** The sizes of TLS records for each kind of origin. They equal the sizes of reads. */
const RECORDS = { http: undefined, tls: 16 * KIB, small: 4 * KIB, tiny: 512 };
type Wire = keyof typeof RECORDS;

/** An origin for each kind of connection. */
export async function transfersByWire(): Promise<Record<Wire, Transfers>> {
  const certificate = trustedCertificate();
  const started = Object.entries(RECORDS).map(async ([wire, recordBytes]) => {
    const transfers = await startTransfers({}, recordBytes === undefined ? undefined : { certificate, recordBytes });
    transfers.store.settings.minPartBytes = PART;
    afterAll(() => transfers.stop());
    return [wire, transfers] as const;
  });
  return Object.fromEntries(await Promise.all(started)) as Record<Wire, Transfers>;
}

/** Sizes around the borders of parts, blocks and records. A mebibyte and more reuses blocks. */
const sizes = fc
  .tuple(fc.constantFrom(PART, 128 * KIB, 512 * KIB, 1024 * KIB, 3072 * KIB), fc.integer({ min: -PART, max: PART }))
  .map(([border, offset]) => Math.max(1, border + offset));

const shapes = fc.constantFrom<Behaviour>(
  {},
  { ignoreRange: true },
  // Without a declared length, surplus bytes make a different file.
  { ignoreRange: true, framing: 'chunked', extraBytes: 0 },
  { framing: 'chunked', extraBytes: 0 },
  { headers: { Connection: 'close' } },
);

const speeds = fc.constantFrom<Behaviour>(
  {},
  { pieceBytes: 16 * KIB },
  { pieceBytes: 4 * KIB + 1 },
  { bytesPerSecond: 20_000_000, pieceBytes: 20_000 },
);

const far = fc.integer({ min: 0, max: 1024 * KIB });
const troubles = fc.oneof(
  { arbitrary: fc.constant<Behaviour>({}), weight: 3 },
  { arbitrary: fc.record({ cutAfter: far }), weight: 1 },
  { arbitrary: fc.record({ endAfter: far }), weight: 1 },
  { arbitrary: fc.constant<Behaviour>({ extraBytes: 100_000 }), weight: 1 },
);

/** Expects a correct stored file whatever the origin does to its first four bodies, and however slow the store is. */
export function testReadingPastParser(byWire: Record<Wire, Transfers>, numRuns: number): void {
  test('stores a file equal to the original, for random wires, shapes, speeds and faults', async () => {
    const wires = fc.constantFrom(...(Object.keys(RECORDS) as Wire[]));
    const scripts = fc.record({ shape: shapes, speed: speeds, first: fc.array(troubles, { maxLength: 4 }) });
    const parts = fc.record({
      largestPartBytes: fc.constantFrom(PART, 4 * PART, 64 * PART),
      most: fc.integer({ min: 1, max: 4 }),
    });
    const pauses = fc.option(fc.constantFrom(PART, 8 * PART));

    const property = fc.asyncProperty(
      wires,
      sizes,
      scripts,
      parts,
      pauses,
      async (wire, size, script, part, pausesEvery) => {
        const { shape, speed, first } = script;
        const transfers = byWire[wire];

        const ran = await transfers.transferOf(
          { size, script: ({ number }) => ({ ...speed, ...first[number - 1], ...shape }) },
          {
            connections: { initial: part.most, most: part.most },
            limits: { largestPartBytes: part.largestPartBytes, surplusMs: 20 },
            faults: ({ operation }) =>
              pausesEvery && operation === 'UploadPart' ? { pausesEvery, pauseMs: 3 } : undefined,
          },
        );

        // The engine may refuse the file only after more bytes than declared.
        const surplus = first.some((behaviour: Behaviour) => behaviour.extraBytes);
        if (!surplus || ran.outcome === 'stored') {
          expect(ran.outcome).toBe('stored');
          expect(ran.equal).toBe(true);
          expect(ran.stored?.crc32).toBe(ran.file.digests().crc32);
        }
        expect(transfers.leftovers(ran).uploads).toEqual([]);
      },
    );

    await fc.assert(property, { numRuns });
  });
}
