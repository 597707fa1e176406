import type { Seen } from './run/waiting.ts';

/** Ends after which the same export would end the same way. */
const FRESH_AFTER = new Set(['ExportFailed', 'ExportNotFound', 'FileRejected', 'FileQuarantined', 'DownloadTooLarge']);

/** A run that was left in one of these states without an answer may have requested an export. */
const IN_FLIGHT = ['CreateExport', 'StepCrashed'];

interface Ended {
  name: string;
  /** The status that Step Functions gives the execution. */
  status: string;
  error: string | null;
}

/**
 * The run whose export a retry adopts: the failed one, or the one from which that should have adopted it.
 * `undefined`: a new export is requested.
 */
export function adoptableRun(
  { name, status, error }: Ended,
  { name: lastState, state }: Pick<Seen, 'name' | 'state'>,
  earlier?: string,
): string | undefined {
  const failed = status !== 'RUNNING' && status !== 'SUCCEEDED';
  if (!failed || FRESH_AFTER.has(error ?? '') || !state) return undefined;
  return state.run ? name : (earlier ?? (IN_FLIGHT.includes(lastState) ? name : undefined));
}
