/** `test/long` sets it for itself and for the unit tests that it starts. */
const SHARES: Record<string, number> = { all: 1, quarter: 1 / 4 };
const A_FIFTH = 1 / 5;

/**
 * How often a property or a large loop is tried: a fifth of it in `npm test`, all of it in `npm run test:long`, in CI a
 * quarter there. `TEST_SEED` decides which cases they are.
 */
export function runs(full: number): number {
  return Math.ceil(full * (SHARES[process.env.TEST_RUNS ?? ''] ?? A_FIFTH));
}
