import { RunError } from '../../core/errors.ts';
import { type Answer, lateTry, waitFor } from '../../core/step/export-run.ts';
import type { RunState } from '../../core/step/states.ts';
import type { Invocation } from '../../core/step/step.ts';
import { TableError } from '../../core/table/table-error.ts';
import { tableRunOf } from '../../core/table/table-input.ts';

/**
 * What is transient is tried again, until the deadline and a little longer. Everything else that keeps a table from being
 * written has one name, for the file is published.
 * @throws RunError `TableNotWritten`, or `InvalidInput`; what is a bug
 */
export function afterTrouble(error: unknown, state: RunState, invocation: Invocation): Answer<'WriteTable'> {
  if (error instanceof TableError) throw notWritten(state, error);
  if (!(error instanceof RunError) || error.name === 'InvalidInput') throw error;
  if (!error.transient) throw notWritten(state, error);
  // The wrapper waits where it may.
  if (waitFor(state, invocation)) throw error;
  const later = lateTry(error, state, invocation);
  if (later) return later;
  throw notWritten(state, error);
}

function notWritten({ execution, released, input }: RunState, why: Error): RunError {
  const run = tableRunOf(input) ?? released?.run ?? execution;
  return new RunError('TableNotWritten', `The table of the run ${run} is not written. ${why.message}`, { cause: why });
}
