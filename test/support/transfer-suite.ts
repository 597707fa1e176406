import { afterAll, expect } from 'vitest';
import type { TransferError } from '../../transfer/base/transfer-errors.ts';
import type { Operation } from './strict-store/types.ts';
import { NOTHING, type Ran, startTransfers } from './transfers.ts';

/** An origin and a store for one test file, stopped after the last test, and the expectations of every transfer. */
export async function transferSuite() {
  const transfers = await startTransfers();
  afterAll(() => transfers.stop());

  return {
    transfers,
    /** Expects an object with the bytes of the file, a reported checksum, and no open upload. */
    expectStored: (ran: Ran): void => {
      expect(ran.outcome).toBe('stored');
      expect(ran.equal).toBe(true);
      expect(ran.stored?.crc32).toBe(ran.file.digests().crc32);
      expect(transfers.open(ran.key)).toEqual([]);
    },
    /** Expects an end with this reason, without an object or an upload. */
    expectNothing: (ran: Ran, reason: string): void => {
      expect(ran.outcome).toBe(reason);
      expect(transfers.leftovers(ran)).toEqual(NOTHING);
      // A message may contain no address, no query and no byte of a body.
      expect(String((ran.error as TransferError).message)).not.toMatch(/127\.0\.0\.1|signature|secret|<|html/i);
    },
  };
}

/** The calls of one operation. */
export const callsOf = (ran: Ran, operation: Operation) => ran.calls.filter((call) => call.operation === operation);
