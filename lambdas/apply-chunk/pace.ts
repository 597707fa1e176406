/** A share of a batch's rate. */
export interface Pace {
  /** Waits for the next turn. */
  turn: () => Promise<void>;
  /** The longest that a turn may be away, in seconds. */
  seconds: number;
}

interface PaceDeps {
  now: () => Date;
  random: () => number;
  sleep: (milliseconds: number) => Promise<void>;
}

/**
 * Turns at a rate, never sooner; what was late is not made up for. The first comes anywhere in the first interval, so that
 * the chunks that begin together do not send together.
 *
 * @param goesOn whether another invocation may have had a turn of the same chunk just now: the first is then a whole interval
 *   away.
 */
export function createPace(perSecond: number, goesOn: boolean, { now, random, sleep }: PaceDeps): Pace {
  const interval = 1000 / perSecond;
  let next = now().getTime() + (goesOn ? interval : random() * interval);
  return {
    seconds: interval / 1000,
    turn: async () => {
      const early = next - now().getTime();
      if (early > 0) await sleep(early);
      next = Math.max(next, now().getTime()) + interval;
    },
  };
}
