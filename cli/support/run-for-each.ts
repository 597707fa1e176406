import { eachOf } from '../../core/each-of.ts';
import { partialFailure } from './aws-error.ts';
import { untilInterrupted } from './until-interrupted.ts';

interface Together {
  /** The sentence of an interruption. */
  stopped: string;
  /** What holds after an error, and the command that continues. */
  after: string;
  /** Number of items at a time; by default all. */
  atOnce?: number;
  /** The document of `--json` for an error. */
  document?: object | undefined;
}

/**
 * Runs the work for each item of a list, until Ctrl-C. If one fails, the signal aborts the others too.
 * @throws CommandError: 130 after Ctrl-C; the first error of the work, completed by `after`
 */
export function runForEach<T, R>(
  list: readonly T[],
  work: (item: T, signal: AbortSignal) => Promise<R>,
  { stopped, after, atOnce = list.length, document }: Together,
): Promise<R[]> {
  return untilInterrupted(stopped, async (signal) => {
    const others = new AbortController();
    const either = AbortSignal.any([signal, others.signal]);
    const begin = (item: T) => {
      either.throwIfAborted();
      return work(item, either);
    };
    try {
      return await eachOf(list, begin, atOnce);
    } catch (error) {
      throw signal.aborted ? error : partialFailure(error, after, document);
    } finally {
      others.abort();
    }
  });
}
