import { randomInt } from 'node:crypto';
import { pathToFileURL } from 'node:url';

/**
 * Decides which random cases a run of the tests tries, and at which clock. `npm test`, `npm run test:slow` and CI always try the same
 * ones: only a change of the code changes their result. `npm run test:long` outside CI draws other cases each time. TEST_SEED and
 * TEST_CLOCK override both; a failed run prints the command that repeats it.
 */

const FIXED_SEED = 20_261_126;
/** An ordinary noon, later than every date that tests name. */
const FIXED_CLOCK = '2027-06-16T12:00:00Z';
const PRELOAD = pathToFileURL(`${import.meta.dirname}/shifted-clock.ts`).href;

/** The seed of a run. Tests read it here; vitest.config.ts gives it to every project that has random cases. */
export const TEST_SEED = Number(process.env.TEST_SEED ?? FIXED_SEED);

/** The variable that carries the seed to the tests of a project. */
export function seedVariables(cases: 'same' | 'others each time'): { TEST_SEED: string } {
  const isFixed = cases === 'same' || process.env.TEST_SEED !== undefined || process.env.CI;
  return { TEST_SEED: String(isFixed ? TEST_SEED : randomInt(2 ** 31)) };
}

/** The variables by which the tests of a project, and the processes that they start, read the clock of the run. */
export function clockVariables(
  given = process.env,
): Record<'TEST_CLOCK' | 'TZ' | 'CLOCK_SHIFT_MS' | 'NODE_OPTIONS', string> {
  const { TEST_CLOCK = FIXED_CLOCK, TZ = 'UTC', NODE_OPTIONS = '' } = given;
  const shift = Date.parse(TEST_CLOCK) - Date.now();
  if (Number.isNaN(shift)) throw new Error(`TEST_CLOCK=${TEST_CLOCK} is no moment. Write it as ${FIXED_CLOCK}.`);
  return { TEST_CLOCK, TZ, CLOCK_SHIFT_MS: String(shift), NODE_OPTIONS: `${NODE_OPTIONS} --import=${PRELOAD}`.trim() };
}

/** Numbers between 0 and 1 that are the same for one seed (mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
