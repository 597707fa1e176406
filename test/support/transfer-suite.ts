import { afterAll, expect } from 'vitest';
import type { TransferError } from '../../transfer/base/transfer-errors.ts';
import type { Operation } from './strict-store/types.ts';
import { NOTHING, type Ran, startTransfers } from './transfers.ts';

/** An origin and a store for one file of tests, stopped behind the last test, and what every transfer must have come to. */
export async function transferSuite() {
  const transfers = await startTransfers();
  afterAll(() => transfers.stop());

  return {
    transfers,
    /** The object has the bytes of the file, its checksum was reported, and no upload is left. */
    expectStored: (ran: Ran): void => {
      expect(ran.outcome).toBe('stored');
      expect(ran.equal).toBe(true);
      expect(ran.stored?.crc32).toBe(ran.file.digests().crc32);
      expect(transfers.open(ran.key)).toEqual([]);
    },
    /** It ended under this name, and left neither an object nor an upload. */
    expectNothing: (ran: Ran, reason: string): void => {
      expect(ran.outcome).toBe(reason);
      expect(transfers.leftovers(ran)).toEqual(NOTHING);
      // No address, no query and no byte of a body may get into a message.
      expect(String((ran.error as TransferError).message)).not.toMatch(/127\.0\.0\.1|signature|secret|<|html/i);
    },
  };
}

/** The calls of one operation. */
export const callsOf = (ran: Ran, operation: Operation) => ran.calls.filter((call) => call.operation === operation);
