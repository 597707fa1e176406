import { expect, test } from 'vitest';
import { CLAIM_RETURNED, createLedger, LEASE_MS, type Ledger, type LedgerItem } from '../../../core/oauth/ledger.ts';
import { FakeLedger } from '../../oauth/support/fake-ledger.ts';

const NOW = Date.parse('2026-11-20T02:00:00Z');
const DEAD: Partial<LedgerItem> = { ...CLAIM_RETURNED, state: 'DEAD' };

/** Claims the token set at `NOW`, and changes its entry as a holder does. */
const claimed =
  (...changes: Partial<LedgerItem>[]) =>
  async (ledger: Ledger) => {
    const { claim } = await ledger.claim('1', NOW);
    for (const change of changes) await ledger.end(claim, change);
  };

test.for<[what: string, before: (ledger: Ledger) => unknown, seconds: number, byFunction: boolean, byCommand: boolean]>(
  [
    ['without a claim', () => undefined, 0, true, true],
    ['with a claim', claimed(), 44, false, false],
    ['whose claim has ended', claimed(), 46, true, true],
    ['whose claim was given back', claimed(CLAIM_RETURNED), 1, true, true],
    ['that functions leave alone for half an hour', claimed({ deadline: NOW + 1_800_000 }), 1, false, true],
    ['whose successor has just been stored', claimed({ state: 'STORED' }), 1, false, false],
    ['whose successor was stored, and is gone', claimed({ state: 'STORED' }), 46, false, true],
    ['that is dead', claimed(DEAD), 1, false, true],
    [
      'that is dead, and that a command has just claimed',
      async (ledger) => {
        await claimed(DEAD)(ledger);
        await ledger.claim('1', NOW + 1000, 'command');
      },
      2,
      false,
      false,
    ],
  ],
)('who may claim a token set %s', async ([, before, seconds, byFunction, byCommand]) => {
  const wonBy = async (by: 'function' | 'command') => {
    const ledger = createLedger(new FakeLedger(async () => undefined).client, 'ledger', 'tokens');
    await before(ledger);
    const now = NOW + seconds * 1000;
    const { won, claim } = await ledger.claim('1', now, by);
    if (won) expect(claim.deadline).toBe(now + LEASE_MS);
    return won;
  };

  expect([await wonBy('function'), await wonBy('command')]).toEqual([byFunction, byCommand]);
});
