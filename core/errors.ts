import { CRM_EXPORT } from './commands.ts';

const final = (advice: string) => ({ class: 'final', advice }) as const;
const transient = (advice: string) => ({ class: 'transient', advice }) as const;
const machine = (advice: string) => ({ class: 'machine', advice }) as const;

/**
 * The complete list of errors that a run can end in. `final` ends the run at once. `transient` is retried until the
 * run's deadline. The state machine sets `machine` names. docs/runbook.md has an entry for each name.
 */
export const ERRORS = {
  InvalidInput: final(
    'Correct the input, and start the machine again, for example with {"entity":"leads"}, or {"file":"updates/BATCH/input.jsonl"} for customer updates.',
  ),
  ConfigInvalid: final(
    'Correct the setting, secret, right or input that the message names; deploy a changed setting; then start the run again.',
  ),
  AuthRefused: final(
    `Let an administrator of the CRM grant the missing right, then authorize again: ${CRM_EXPORT} authorize.`,
  ),
  ReauthorizationRequired: final(`Authorize again: ${CRM_EXPORT} authorize. No export runs until then.`),
  TokenRefreshInProgress: transient(
    'The problem ends by itself within a minute, or when the token endpoint of the CRM answers again.',
  ),
  SecretVersionsExhausted: transient(
    'Ask the operator of the CRM for access tokens that live longer, or move the nightly starts closer together and deploy. Then start the run again.',
  ),
  TokenStoreUnavailable: transient(
    'Check the health of AWS Secrets Manager and Amazon DynamoDB, and the role of the function. Then start the run again.',
  ),
  CrmUnavailable: transient('Ask the operator of the CRM whether it is down. Start the run again when it is up.'),
  RateLimited: transient(
    'Raise nightly.spreadMinutes and deploy, or ask the operator of the CRM for a higher limit. Then start the run again.',
  ),
  CrmBusy: transient(
    'Ask the operator of the CRM which other export was running and how many may run at once, or raise nightly.spreadMinutes and deploy. Then start the run again.',
  ),
  CrmRejectedRequest: final(
    'Ask the operator of the CRM for the full error message, which is only in its log. Correct columns, sorts, filters or extra of this entity, deploy, then start the run again.',
  ),
  CrmContractError: final('Compare the answer with docs/interface/open-points.md, then report it to the developers.'),
  CreateUnanswered: final(
    'Start the run again when the CRM answers. An export that it has already made does no harm. If the CRM makes the export before it answers, first raise crm.createTimeoutSeconds and deploy.',
  ),
  ExportFailed: final('Start the run again; if it fails again, give the export id to the operator of the CRM.'),
  ExportNotFound: final('The CRM deleted the export, or it expired. Start the run again.'),
  ExportNotReady: transient('Give the export id to the operator of the CRM, then start the run again.'),
  ExportDeadlineExceeded: final(
    'If such exports are slow, raise polling.deadlineSeconds for this entity and deploy; otherwise ask the operator of the CRM. Then start the run again.',
  ),
  DownloadUrlRejected: final('Report the address to the operator of the CRM, and do not fetch it by hand.'),
  DownloadLinkExpired: transient(
    'Ask the operator of the CRM why its file server refuses fresh links, then start the run again.',
  ),
  DownloadStalled: transient('Ask the operator of the CRM why its file server is slow, then start the run again.'),
  DownloadTooLarge: final(
    'If such files are expected, raise files.maxBytes in the configuration (at most 50 GiB) and deploy, or export fewer records at a time. Then start the run again.',
  ),
  DownloadUnfinished: final(
    'Ask the operator of the CRM about its file server, or export fewer records at a time. Then start the run again.',
  ),
  DownloadIncomplete: transient('Ask the operator of the CRM about its file server, then start the run again.'),
  FileRejected: final(
    'Nothing was published. Start the run again. If the CRM always exports such files, check files.formats, columns.labels and entities.ENTITY.opaque, which decide what is accepted.',
  ),
  CheckUnfinished: final(
    'Nothing was published. If PublishFile ran out of time, raise files.memoryMB.publish in the configuration and deploy. Otherwise let the CRM export plain CSV. Then start the run again.',
  ),
  FileQuarantined: final(
    `Look at the stopped file: ${CRM_EXPORT} diff ENTITY --run RUN. If it is right and can be released: ${CRM_EXPORT} release RUN --reason WHY. If not, start the run again.`,
  ),
  TableNotWritten: final(
    `The file is published. Correct the named problem, deploy if it is a setting, then write the table alone: ${CRM_EXPORT} table RUN.`,
  ),
  ChangesStopped: final(
    `File and table are published, the feed is not. Look at the deletion: ${CRM_EXPORT} changes ENTITY. If the deletion is right, let the next feed through: ${CRM_EXPORT} changes ENTITY --release --reason WHY.`,
  ),
  ChangesNotWritten: final(
    'File and table are published. Correct the named problem, and deploy if it is a setting. The feed of the next night includes these changes.',
  ),
  SchemaChanged: final(
    'Ask the operator of the CRM about these columns. If the change is right, accept it once, or change columns or drift in the configuration and deploy.',
  ),
  StorageUnavailable: transient('Check the health of Amazon S3, then start the run again.'),
  StorageDenied: final(
    'Check that the bucket exists, that its key is enabled, and that its policies are as deployed. This deployment writes all policies again: npx cdk deploy -c rewrite=policies.',
  ),
  StorageConflict: final(
    'If the object is below published/, look at it and delete it. Then start the run again: it writes its files under a new name.',
  ),
  EarlierRelease: final(
    `This release cannot use runs or objects of an earlier release. Start the run again. Send the rest of a batch: ${CRM_EXPORT} update --resume BATCH.`,
  ),
  UpdateFileInvalid: final(
    `Nothing was sent. Correct the file, and start again. To list the first problems: ${CRM_EXPORT} update FILE.`,
  ),
  UpdateAlreadyStarted: final(
    'Each batch is applied once. Look at the other execution. To send more lines, upload them as a batch of another name.',
  ),
  UpdateStopped: final(
    'Find out why the batch was stopped, then resume it. The result lists the lines that were not sent.',
  ),
  UpdatesIncomplete: final(
    'The result has the outcome of every line. Correct rejected lines and send them in a new file. Resume the batch for other lines, if any.',
  ),
  StepCrashed: machine('Look at the log group of the step that failed, then start the run again.'),
  UnknownOutcome: machine(
    'The functions and the state machine are of different releases. Deploy the stack again, then start the run again.',
  ),
};

export type ErrorName = keyof typeof ERRORS;

/** A name that the product's code may throw. */
export type RunErrorName = { [N in ErrorName]: (typeof ERRORS)[N]['class'] extends 'machine' ? never : N }[ErrorName];

/** A part that `probe` reports separately from the rest of the answer or file. */
export type WrongPart = 'status word' | 'header';

/** The names that replace placeholders in an advice. */
interface Failed {
  entity?: string | undefined;
  execution?: string | undefined;
  batch?: string | undefined;
}

/** What to do about an error. Without a name, the placeholder ENTITY, RUN or BATCH stays. */
export function adviceOf(
  name: ErrorName,
  { entity = 'ENTITY', execution = 'RUN', batch = 'BATCH' }: Failed = {},
): string {
  const named: Record<string, string> = { ENTITY: entity, RUN: execution, BATCH: batch };
  return ERRORS[name].advice.replace(/\b(?:ENTITY|RUN|BATCH)\b/g, (word) => named[word] ?? word);
}

/**
 * The only error that steps and clients throw on purpose. The execution history shows `message`: it must not contain a
 * token, signed URL, record or body of an answer.
 */
export class RunError extends Error {
  override readonly name: RunErrorName;
  readonly retryAfterSeconds: number | undefined;
  /** HTTP status of the refusal, if there was one. */
  readonly status: number | undefined;
  /** The part of an answer or a file that is wrong. */
  readonly part: WrongPart | undefined;
  readonly #momentary: boolean;

  /** @param options.momentary treats this error as transient, even if its name is final */
  constructor(
    name: RunErrorName,
    message: string,
    options: {
      retryAfterSeconds?: number | undefined;
      status?: number | undefined;
      cause?: unknown;
      momentary?: boolean;
      part?: WrongPart | undefined;
    } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = name;
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.status = options.status;
    this.part = options.part;
    this.#momentary = options.momentary ?? false;
  }

  get transient(): boolean {
    return this.#momentary || ERRORS[this.name].class === 'transient';
  }

  /** Error and cause of the failed execution: message, then advice. */
  get failure(): { error: RunErrorName; cause: string } {
    return this.failureOf({});
  }

  /** Error and cause, with names in the commands of the advice. */
  failureOf(failed: Failed): { error: RunErrorName; cause: string } {
    return { error: this.name, cause: `${this.message} ${adviceOf(this.name, failed)}` };
  }
}
