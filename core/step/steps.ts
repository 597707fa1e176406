/**
 * The steps of a run and everything that each can answer. Types of the answers, the Choice behind each task
 * (`lib/workflow/export-workflow.ts`) and the tests that walk the definition all come from here.
 *
 * `waiting` is the outcome that a transient error becomes: the machine waits `waitSeconds`, then goes where that leads.
 */
export const STEPS = {
  CreateExport: { outcomes: ['CREATED', 'RETRY', 'FAILED'], waiting: 'RETRY' },
  CheckStatus: { outcomes: ['READY', 'PENDING', 'FAILED'], waiting: 'PENDING' },
  DownloadFile: { outcomes: ['STORED', 'NOT_READY', 'CONTINUE', 'FAILED'], waiting: 'CONTINUE' },
  PublishFile: { outcomes: ['PUBLISHED', 'CONTINUE', 'FAILED'], waiting: 'CONTINUE' },
} as const;

/** The same for the machine CustomerUpdates (`lib/workflow/customer-update-workflow.ts`). */
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
