/**
 * The steps of ExportRun with their outcomes. `waiting` is the outcome that a transient error becomes. The types of the
 * answers, the Choice behind each task and the tests of the definition come from here.
 */
export const STEPS = {
  CreateExport: { outcomes: ['CREATED', 'RETRY', 'FAILED'], waiting: 'RETRY' },
  CheckStatus: { outcomes: ['READY', 'PENDING', 'FAILED'], waiting: 'PENDING' },
  DownloadFile: { outcomes: ['STORED', 'NOT_READY', 'CONTINUE', 'FAILED'], waiting: 'CONTINUE' },
  PublishFile: { outcomes: ['PUBLISHED', 'CONTINUE', 'FAILED'], waiting: 'CONTINUE' },
} as const;

/** Of the machine CustomerUpdates. */
export const UPDATE_STEPS = {
  ValidateBatch: { outcomes: ['VALIDATED', 'CONTINUE', 'FAILED'], waiting: 'CONTINUE' },
  ApplyChunk: { outcomes: ['FINISHED', 'CONTINUE', 'FAILED'], waiting: 'CONTINUE' },
  SummarizeBatch: { outcomes: ['SUMMARIZED', 'CONTINUE', 'FAILED'], waiting: 'CONTINUE' },
} as const;

export const ALL_STEPS = { ...STEPS, ...UPDATE_STEPS };

/** A step of the machine ExportRun. */
export type StepName = keyof typeof STEPS;

/** A step of the machine CustomerUpdates. */
export type UpdateStepName = keyof typeof UPDATE_STEPS;

export type AnyStepName = StepName | UpdateStepName;

/** All outcomes of a step, `FAILED` included. */
export type Outcome<S extends AnyStepName> = (typeof ALL_STEPS)[S]['outcomes'][number];

/** What a step itself may answer; `FAILED` is made from errors, in one place (`outcome.ts`). */
export type Answered<S extends AnyStepName> = Exclude<Outcome<S>, 'FAILED'>;

/** The folder of a step below `lambdas/`: `CheckStatus` is in `check-status`. */
export function folderOf(step: AnyStepName): string {
  return step.replace(/(?<!^)[A-Z]/g, '-$&').toLowerCase();
}
