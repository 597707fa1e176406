import type { Run, RunState } from './states.ts';

/** The run that CreateExport began. Only a definition that skips CreateExport could come here without one: a bug. */
export function runOf(state: RunState): Run {
  if (!state.run) throw new Error('the state has no run: CreateExport was skipped');
  return state.run;
}
