import type { FunctionLog } from '../log/log.ts';
import type { AnyStepName } from './steps.ts';

/** Logs a bug by name and frames, and makes the error to throw: without the bug's message, which may quote data. */
export function crash(step: AnyStepName, error: unknown, requestId: string, log: FunctionLog): Error {
  const name = error instanceof Error ? error.name : typeof error;
  log.error('crashed', { crash: name, frames: framesOf(error), requestId });
  const thrown = new Error(
    `${step} stopped with ${name} in request ${requestId}; the log of the function has the place.`,
  );
  thrown.name = name;
  // The runtime of Lambda sends the stack along, and loses the name of an error that has none.
  thrown.stack = `${name}: ${thrown.message}`;
  return thrown;
}

/** Where it happened. The stack holds the message as well, and lines of it may look like frames. */
function framesOf(error: unknown): string[] {
  if (!(error instanceof Error)) return [];
  const places = (error.stack ?? '').replace(error.message, () => '').split('\n');
  return places.filter((line) => /^\s+at /.test(line)).map((line) => line.trim());
}
