import { TEST_SEED } from '../../support/seeds.ts';

/** How a world ended. */
export interface Outcome {
  /** The token or error that a function of the deployment gets in the end. */
  answer: string | Error;
  /** The documented reason for losing the grant; `undefined` if it must not be lost. */
  documented: string | undefined;
  reuses: number;
}

/**
 * The worlds in which a token was presented twice, or the grant was lost without a documented reason. The seed of the
 * run decides which worlds are tried.
 */
export async function lostGrants(world: (seed: number) => Promise<Outcome>, worlds: number): Promise<unknown[]> {
  const lost: unknown[] = [];
  for (let seed = TEST_SEED; seed < TEST_SEED + worlds; seed += 1) {
    const { answer, documented, reuses } = await world(seed);
    if (reuses > 0 || (answer instanceof Error && documented === undefined)) lost.push({ seed, answer, reuses });
  }
  return lost;
}
