import { RunError } from '../errors.ts';
import { lateTry, waitFor } from '../step/export-run.ts';
import type { RunState } from '../step/states.ts';
import type { Invocation } from '../step/step.ts';
import { WHOLE_CORE_MB } from '../whole-core.ts';
import { DISK_MB, engineTrouble } from './engine.ts';
import { TableError } from './table-error.ts';

/** How the steps that write tables and feeds end if they write none. The file is already published by then. */

/** Seconds that are reserved for the upload and the answer. */
const MARGIN_SECONDS = 45;

const FEWER_COLUMNS = 'To make the table smaller, leave columns out with `tables.except`.';

/** @param what follows "One invocation is not enough" @throws TableError if the time of the invocation is over */
export function refuseLate({ secondsLeft, deployment }: Invocation, what: string): void {
  if (secondsLeft() >= MARGIN_SECONDS) return;
  const how = `More memory gives a larger share of a CPU, up to ${WHOLE_CORE_MB} MB: tableMemoryMB is now ${deployment.tableMemoryMB}`;
  throw new TableError(`One invocation is not enough ${what}. ${how}. ${FEWER_COLUMNS}`);
}

/** Errors that keep their names when they end the step. */
const ENDS = ['InvalidInput', 'TableNotWritten', 'ChangesNotWritten', 'ChangesStopped'];

/**
 * Retries a transient error until the deadline, and a few times after it. Every other error that prevents the table
 * or feed becomes the error `name`.
 * @param what is not written: the subject of a sentence
 * @throws RunError `name` or another end; any error that is a bug
 */
export function afterTrouble(
  error: unknown,
  state: RunState,
  invocation: Invocation,
  { name, what }: { name: 'TableNotWritten' | 'ChangesNotWritten'; what: string },
) {
  const why = reasonOf(error, invocation);
  if (why === undefined || (error instanceof RunError && ENDS.includes(error.name))) throw error;
  if (error instanceof RunError && error.transient) {
    // Until the deadline, `asStep` waits and repeats the step.
    if (waitFor(state, invocation)) throw error;
    const later = lateTry(error, state, invocation);
    if (later) return later;
  }
  throw new RunError(name, `${what} is not written. ${why}`, { cause: error });
}

function reasonOf(error: unknown, { deployment }: Invocation): string | undefined {
  const kind = engineTrouble(error);
  if (kind === undefined) return error instanceof TableError || error instanceof RunError ? error.message : undefined;
  if (kind === 'disk') return `The rows do not fit on the function's disk of ${DISK_MB} MB. ${FEWER_COLUMNS}`;
  if (kind === 'memory')
    return `The rows do not fit in the function's memory: tableMemoryMB is ${deployment.tableMemoryMB}.`;
  return `A table, or the copy of the previous table, cannot be read (DuckDB: ${kind}). The command \`table\` writes it again.`;
}
