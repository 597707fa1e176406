import { eachOf } from '../../core/each-of.ts';

interface Together {
  /** Aborts all work. */
  signal: AbortSignal;
  /** Number of items at a time; by default all. */
  atOnce?: number;
}

/** Runs the work for each item of a list. If one fails, the signal aborts the others too. */
export async function together<T, R>(
  list: readonly T[],
  work: (item: T, signal: AbortSignal) => Promise<R>,
  { signal, atOnce = list.length }: Together,
): Promise<R[]> {
  const others = new AbortController();
  const either = AbortSignal.any([signal, others.signal]);
  try {
    return await eachOf(list, (item) => work(item, either), atOnce);
  } finally {
    others.abort();
  }
}
