/**
 * The steps of ExportRun with their outcomes; a transient error becomes the `waiting` outcome. The answer types and
 * the Choice state after each task are derived from this.
 */
export const STEPS = {
  CreateExport: { outcomes: ['CREATED', 'RETRY', 'NOT_DUE', 'ALREADY_STARTED', 'FAILED'], waiting: 'RETRY' },
  CheckStatus: { outcomes: ['READY', 'PENDING', 'FAILED'], waiting: 'PENDING' },
  DownloadFile: { outcomes: ['STORED', 'NOT_READY', 'CONTINUE', 'FAILED'], waiting: 'CONTINUE' },
  PublishFile: {
    outcomes: ['PUBLISHED', 'TABLE_DUE', 'UNPUBLISHED', 'CONTINUE', 'FAILED'],
    waiting: 'CONTINUE',
  },
  /** The machine has this step only if an entity has `tables`. */
  WriteTable: { outcomes: ['WRITTEN', 'SUPERSEDED', 'CHANGES_DUE', 'CONTINUE', 'FAILED'], waiting: 'CONTINUE' },
  /** The machine has this step only if an entity has `changes`. `UP_TO_DATE`: the feed has every published change. */
  WriteChanges: { outcomes: ['CHANGES_WRITTEN', 'UP_TO_DATE', 'CONTINUE', 'FAILED'], waiting: 'CONTINUE' },
} as const;

/**
 * The version that the machine writes into the state of each execution. Executions keep the definition that they began
 * with: with a new outcome, raise the number, and answer that outcome only from that number on.
 */
export const MACHINE_VERSION = 6;

/** Executions with a lower version, or without one, have a state that this release does not read (docs/adr/0030). */
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

/** The last state of every run. Its answer has no effect, so it has no outcomes (docs/adr/0042). */
export const RECORDER = 'RecordNight' as const;
export type InvokedName = AnyStepName | typeof RECORDER;

/** The function that is not a step of a machine (docs/adr/0018). */
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
