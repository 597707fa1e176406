/** The share of cases to run. `test/long` sets the variable for itself and for the unit tests that it starts. */
const SHARES: Record<string, number> = { all: 1, quarter: 1 / 4 };
const A_TENTH = 1 / 10;

/**
 * The number of cases of a property or a large loop: a tenth in `npm test`, all in `npm run test:long`, a quarter there
 * in CI. `TEST_SEED` decides which cases.
 */
export function runs(full: number): number {
  return Math.ceil(full * (SHARES[process.env.TEST_RUNS ?? ''] ?? A_TENTH));
}
