import type { Invocation } from '../../core/step/invocation.ts';

type Clock = Pick<Invocation, 'now' | 'random'> & { sleep: (milliseconds: number) => Promise<void> };

/**
 * Turns at a fixed rate; a late turn is not made up for. The first is at random in the first interval, so that chunks that begin
 * together do not send together.
 * @param continued whether another invocation may just have had a turn of this chunk: the first is then a whole interval away
 */
export function createPace(perSecond: number, continued: boolean, { now, random, sleep }: Clock) {
  const interval = 1000 / perSecond;
  let next = now().getTime() + (continued ? interval : random() * interval);
  return {
    /** The longest wait for a turn, in seconds. */
    seconds: interval / 1000,
    /** Waits for the next turn. */
    turn: async () => {
      const early = next - now().getTime();
      if (early > 0) await sleep(early);
      next = Math.max(next, now().getTime()) + interval;
    },
  };
}

export type Pace = ReturnType<typeof createPace>;
