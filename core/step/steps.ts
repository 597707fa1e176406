/**
 * The steps of ExportRun with their outcomes; a transient error becomes the `waiting` one. The types of the answers and the
 * Choice behind each task come from here.
 */
export const STEPS = {
  CreateExport: { outcomes: ['CREATED', 'RETRY', 'NOT_DUE', 'ALREADY_STARTED', 'FAILED'], waiting: 'RETRY' },
  CheckStatus: { outcomes: ['READY', 'PENDING', 'FAILED'], waiting: 'PENDING' },
  DownloadFile: { outcomes: ['STORED', 'NOT_READY', 'CONTINUE', 'FAILED'], waiting: 'CONTINUE' },
  PublishFile: {
    outcomes: ['PUBLISHED', 'TABLE_DUE', 'UNPUBLISHED', 'CONTINUE', 'FAILED'],
    waiting: 'CONTINUE',
  },
  /** The machine has this step only where an entity has `tables`. */
  WriteTable: { outcomes: ['WRITTEN', 'SUPERSEDED', 'CHANGES_DUE', 'CONTINUE', 'FAILED'], waiting: 'CONTINUE' },
  /** The machine has this step only where an entity has `changes`. `UP_TO_DATE`: readers of the feed know all that is published. */
  WriteChanges: { outcomes: ['CHANGES_WRITTEN', 'UP_TO_DATE', 'CONTINUE', 'FAILED'], waiting: 'CONTINUE' },
} as const;

/**
 * The version in the state of every execution that a machine begins. One that began before a deployment keeps its
 * definition: whoever adds an outcome raises the number, and steps answer the outcome from that number on.
 */
export const MACHINE_VERSION = 6;

/** Executions with a lower one, or with none, began under a release whose states this one does not read (docs/adr/0030). */
export const OLDEST_MACHINE = 6;

/** The steps of the machine CustomerUpdates. */
export const UPDATE_STEPS = {
  ValidateBatch: { outcomes: ['VALIDATED', 'CONTINUE', 'FAILED'], waiting: 'CONTINUE' },
  ApplyChunk: { outcomes: ['FINISHED', 'CONTINUE', 'FAILED'], waiting: 'CONTINUE' },
  SummarizeBatch: { outcomes: ['SUMMARIZED', 'CONTINUE', 'FAILED'], waiting: 'CONTINUE' },
} as const;

export const ALL_STEPS = { ...STEPS, ...UPDATE_STEPS };

export type StepName = keyof typeof STEPS;
export type UpdateStepName = keyof typeof UPDATE_STEPS;
export type AnyStepName = StepName | UpdateStepName;

/** The state that ends every run. What it answers decides nothing, so it has no outcomes (docs/adr/0042). */
export const RECORDER = 'RecordNight' as const;
export type InvokedName = AnyStepName | typeof RECORDER;

/** The function that no machine invokes (docs/adr/0018). */
export const MAILER = 'MailFailedRuns' as const;
export type FunctionName = InvokedName | typeof MAILER;

export const ALL_FUNCTIONS: readonly FunctionName[] = [...(Object.keys(ALL_STEPS) as AnyStepName[]), RECORDER, MAILER];

export type StepOutcome<S extends AnyStepName> = (typeof ALL_STEPS)[S]['outcomes'][number];

/** `FAILED` is made from errors, in `step.ts`. */
export type Answered<S extends AnyStepName> = Exclude<StepOutcome<S>, 'FAILED'>;

/** The folder of a function below `lambdas/`: `CheckStatus` is in `check-status`. */
export function folderOf(step: FunctionName): string {
  return step.replace(/(?<!^)[A-Z]/g, '-$&').toLowerCase();
}
