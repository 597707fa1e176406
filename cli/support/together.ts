import { eachOf } from '../../core/each-of.ts';

interface Together {
  /** Ends all. */
  signal: AbortSignal;
  /** How many are done at the same time; all where it is left out. */
  atOnce?: number;
}

/** Does something with each item of a list; where one fails, the signal that each is given ends the others too. */
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
