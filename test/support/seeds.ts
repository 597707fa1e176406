import { randomInt } from 'node:crypto';
import { pathToFileURL } from 'node:url';

/**
 * Decides the random cases and the clock of a test run. `npm test`, `npm run test:slow` and CI always use the same
 * ones, so that only a code change changes their result. `npm run test:long` outside CI draws other cases each time.
 * TEST_SEED and TEST_CLOCK override both. A failed run prints the command that repeats it.
 */

const FIXED_SEED = 20_261_126;
/** The default clock: an ordinary noon after every date in the tests. */
const FIXED_CLOCK = '2027-06-16T12:00:00Z';
const PRELOAD = pathToFileURL(`${import.meta.dirname}/shifted-clock.ts`).href;

/** The seed of a run. vitest.config.ts passes it to every project with random cases. */
export const TEST_SEED = Number(process.env.TEST_SEED ?? FIXED_SEED);

/** The environment variable that passes the seed to the tests of a project. */
export function seedVariables(cases: 'same' | 'others each time'): { TEST_SEED: string } {
  const isFixed = cases === 'same' || process.env.TEST_SEED !== undefined || process.env.CI;
  return { TEST_SEED: String(isFixed ? TEST_SEED : randomInt(2 ** 31)) };
}

/** The variables that pass the clock of the run to the tests of a project and to their child processes. */
export function clockVariables(
  given = process.env,
): Record<'TEST_CLOCK' | 'TZ' | 'CLOCK_SHIFT_MS' | 'NODE_OPTIONS', string> {
  const { TEST_CLOCK = FIXED_CLOCK, TZ = 'UTC', NODE_OPTIONS = '' } = given;
  const shift = Date.parse(TEST_CLOCK) - Date.now();
  if (Number.isNaN(shift)) throw new Error(`TEST_CLOCK=${TEST_CLOCK} is no moment. Write it as ${FIXED_CLOCK}.`);
  return { TEST_CLOCK, TZ, CLOCK_SHIFT_MS: String(shift), NODE_OPTIONS: `${NODE_OPTIONS} --import=${PRELOAD}`.trim() };
}

/** Pseudo-random numbers between 0 and 1 for a seed (mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
