import { TimeIsUp } from './retry.ts';
import type { TransferOptions } from './types.ts';

/** What is left of an invocation for ending in order; of a short one, a share. */
const END_SECONDS = 8;

export interface Time {
  /** Seconds that this process had at first. */
  left: number;
  /** Fires, with `TimeIsUp`, while there is enough left for ending in order. */
  up: AbortSignal;
  stop: () => void;
}

/** The time of this process, from now on. */
export function timeOf({ secondsLeft }: Pick<TransferOptions, 'secondsLeft'>): Time {
  const left = secondsLeft();
  const controller = new AbortController();
  const endMs = Math.max(0, left - Math.min(END_SECONDS, left / 8)) * 1000;
  const timer = setTimeout(() => controller.abort(new TimeIsUp()), Math.min(endMs, 2 ** 31 - 1));
  return { left, up: controller.signal, stop: () => clearTimeout(timer) };
}
