import { TimeIsUp } from './errors.ts';
import type { TransferOptions } from './types.ts';

/** What must be left of an invocation for ending in order; of a short one, an eighth. */
const END_SECONDS = 8;

export interface Deadline {
  /** Seconds that this process had at first. */
  left: number;
  /** Fires, with `TimeIsUp`, while there is enough time left for ending in order. */
  signal: AbortSignal;
  clear: () => void;
}

/** The deadline of this process. */
export function deadlineOf({ secondsLeft }: Pick<TransferOptions, 'secondsLeft'>): Deadline {
  const left = secondsLeft();
  const controller = new AbortController();
  const endMs = Math.max(0, left - Math.min(END_SECONDS, left / 8)) * 1000;
  const timer = setTimeout(() => controller.abort(new TimeIsUp()), Math.min(endMs, 2 ** 31 - 1));
  return { left, signal: controller.signal, clear: () => clearTimeout(timer) };
}
