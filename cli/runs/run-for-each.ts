import { eachOf } from '../../core/each-of.ts';
import { partialFailure } from '../support/aws-error.ts';
import { untilInterrupted } from '../support/until-interrupted.ts';

export interface Together {
  /** The sentence to print after Ctrl-C. */
  stopped: string;
  /** A sentence after an error: which work continues, and the command that resumes the rest. */
  after: string;
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
