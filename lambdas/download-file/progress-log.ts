import { runOf } from '../shared/run-of.ts';
import type { RunState } from '../shared/states.ts';
import type { StepDeps } from '../shared/step.ts';

/** Often enough for a person who watches, rare enough for the bill of the log. */
const EVERY_MS = 5_000;

/** Says in the log how far a transfer has come; who follows a run reads it there. */
export function progressLog(state: RunState, { log, now }: Pick<StepDeps, 'log' | 'now'>) {
  const { entity, exportId } = runOf(state);
  let said = now().getTime();
  return (bytes: number, total: number | null): void => {
    const at = now().getTime();
    if (at - said < EVERY_MS) return;
    said = at;
    log.info('moved', { entity, execution: state.execution, exportId, bytes, totalBytes: total });
  };
}
