import { afterAll, beforeAll, expect, test } from 'vitest';
import { randomFrom, TEST_SEED } from '../support/seeds.ts';
import { killedOnce } from '../support/transfer-kills.ts';
import { startTransfers, type Transfers } from '../support/transfers.ts';

const KILLS = 50;

let transfers: Transfers;
beforeAll(async () => {
  transfers = await startTransfers();
});
afterAll(() => transfers.stop());

test(`${KILLS} transfers killed at random moments store equal files, and resend at most one part a connection`, async () => {
  const random = randomFrom(TEST_SEED);
  let killedMidway = 0;
  for (let kill = 0; kill < KILLS; kill += 1) {
    const { ran, kept, again, connections } = await killedOnce(transfers, random);
    expect(ran.outcome).toBe('stored');
    expect(ran.equal).toBe(true);
    expect(transfers.open(ran.key)).toEqual([]);
    // If the process is killed after its end, no upload exists: the file is fetched again, and its object is found.
    if (ran.restarts === 0) expect(again).toBeLessThanOrEqual(connections);
    if (kept > 0) killedMidway += 1;
  }
  expect(killedMidway).toBeGreaterThan(KILLS / 2);
});
