import { CRM_EXPORT } from './commands.ts';

const final = (advice: string) => ({ class: 'final', advice }) as const;
const transient = (advice: string) => ({ class: 'transient', advice }) as const;
const machine = (advice: string) => ({ class: 'machine', advice }) as const;

/**
 * The closed list of errors that a run can end in. `final` ends the run at once; `transient` is retried until its
 * deadline; `machine` names are given by the state machine. docs/runbook.md has an entry for each name, with its advice.
 */
export const ERRORS = {
  InvalidInput: final(
    'Start the machine again with an input such as {"entity":"leads"}, or {"file":"updates/BATCH/input.jsonl"} where it updates customers.',
  ),
  ConfigInvalid: final(
    'Correct the setting that is named here, deploy, then start the run again. A secret, a right or an input needs no deployment.',
  ),
  AuthRefused: final(
    `Let an administrator of the CRM grant the missing right, then authorize again: ${CRM_EXPORT} authorize.`,
  ),
  ReauthorizationRequired: final(`Authorize again: ${CRM_EXPORT} authorize. No export runs until then.`),
  TokenRefreshInProgress: transient(
    'It ends by itself: within a minute, or when the token endpoint of the CRM answers again. If it lasts, check whether it answers.',
  ),
  SecretVersionsExhausted: transient(
    'Ask the operator of the CRM for access tokens that live longer, or space the nightly starts so that they share a token and deploy. Then start the run again.',
  ),
  TokenStoreUnavailable: transient(
    'Look at the health of AWS Secrets Manager and Amazon DynamoDB, and at the role of the function, then start the run again.',
  ),
  CrmUnavailable: transient(
    'Ask the operator of the CRM whether it is down; when it is up again, start the run again.',
  ),
  RateLimited: transient(
    'Spread the nightly starts further apart and deploy, or ask the operator of the CRM for a higher limit. Then start the run again.',
  ),
  CrmBusy: transient(
    'Ask the operator of the CRM which export was under way and how many may run at once, or spread the nightly starts further apart and deploy. Then start the run again.',
  ),
  CrmRejectedRequest: final(
    'Compare columns, sorts and filters of this entity in the configuration with the CRM, correct them, deploy, then start the run again.',
  ),
  CrmContractError: final(
    'The answer does not match the interface document: compare it with docs/interface/open-points.md, then tell the developers.',
  ),
  CreateUnanswered: final(
    'The CRM may hold exports that nobody collects, which does no harm. Start the run again when it answers again; if it makes the export before it answers, first raise crm.createTimeoutSeconds and deploy.',
  ),
  ExportFailed: final('Start the run again; if it fails again, give the export id to the support of the CRM.'),
  ExportNotFound: final('The export was deleted or has expired at the CRM. Start the run again.'),
  ExportNotReady: transient('Give the export id to the support of the CRM, then start the run again.'),
  ExportDeadlineExceeded: final(
    'If such exports are just slow, raise polling.deadlineSeconds for this entity and deploy; otherwise ask the operator of the CRM. Then start the run again.',
  ),
  DownloadUrlRejected: final(
    'The CRM sent an address that must not be fetched: tell the operator of the CRM, and do not fetch it by hand.',
  ),
  DownloadLinkExpired: transient(
    'Ask the operator of the CRM why its links are refused so early, then start the run again.',
  ),
  DownloadStalled: transient('Ask the operator of the CRM why its file server is so slow, then start the run again.'),
  DownloadTooLarge: final(
    'If files may be that large, raise files.maxBytes in the configuration (at most 50 GiB) and deploy; above that, export fewer records at a time. Then start the run again.',
  ),
  DownloadUnfinished: final(
    'Ask the operator of the CRM about its file server, or export fewer records at a time; then start the run again.',
  ),
  DownloadIncomplete: transient('Ask the operator of the CRM about its file server, then start the run again.'),
  FileRejected: final(
    'Nothing was published. Start the run again. If the CRM does export such files, allow them and deploy first: CSV and xlsx in files.formats, others, unjudged, in entities.ENTITY.opaque.',
  ),
  CheckUnfinished: final(
    'Nothing was published. If time was short, give PublishFile more memory, and with it more of a CPU (files.memoryMB.publish in the configuration), and deploy. Otherwise let the CRM export plain CSV. Then start the run again.',
  ),
  FileQuarantined: final(
    `Readers keep the last good file. Look at this one: ${CRM_EXPORT} download ENTITY --run RUN. If it is right, release it; if not, start the run again when the CRM is in order.`,
  ),
  TableNotWritten: final(
    `The file is published, and the run counts as published: nothing needs to be exported again. Correct what is named here, deploy if it is a setting, then write the table alone: ${CRM_EXPORT} table RUN.`,
  ),
  ChangesStopped: final(
    `The file and its table are published; the feed tells nothing of it, and the next night is compared with the same table as this one. Look at what is gone: ${CRM_EXPORT} changes ENTITY. If that is right, let the next feed through: ${CRM_EXPORT} changes ENTITY --release --reason WHY.`,
  ),
  ChangesNotWritten: final(
    'The file and its table are published: nothing needs to be exported again. Correct what is named here, and deploy if it is a setting; the next night tells what this one did not.',
  ),
  SchemaChanged: final(
    'Nothing was requested. Find out at the CRM what happened to these columns. If that is right, accept it, or change columns or drift in the configuration and deploy; then start the run again.',
  ),
  StorageUnavailable: transient('Look at the health of Amazon S3, then start the run again.'),
  StorageDenied: final(
    'Check that the bucket exists, that its key is enabled, and that nobody changed the policy of either; to write all policies anew, which no other deployment does: npx cdk deploy -c rewrite=policies.',
  ),
  StorageConflict: final('Another object is where this run wrote. Start the run again: it writes under a new name.'),
  EarlierRelease: final(
    `This release does not continue what an earlier release began or stored. Start the run again; send what is left of a batch: ${CRM_EXPORT} update --resume BATCH.`,
  ),
  UpdateFileInvalid: final(
    `Nothing was sent. Correct the file, and start again. All its problems: ${CRM_EXPORT} update FILE.`,
  ),
  UpdateAlreadyStarted: final(
    'Each batch is applied once. Look at the other execution; to send more, upload the lines as a batch of another name.',
  ),
  UpdateStopped: final('The result names what was not sent. Find out why it was stopped, then resume the batch.'),
  UpdatesIncomplete: final(
    'The result names the outcome of every line: correct the rejected ones, resume the batch for the others.',
  ),
  StepCrashed: machine('Look at the log group of the step that failed, then start the run again.'),
  UnknownOutcome: machine(
    'The functions and the state machine are of different releases: deploy the stack again, then start the run again.',
  ),
};

export type ErrorName = keyof typeof ERRORS;

/** A name that our own code may throw. */
export type RunErrorName = { [N in ErrorName]: (typeof ERRORS)[N]['class'] extends 'machine' ? never : N }[ErrorName];

/** What failed, for the commands of an advice. */
interface Failed {
  entity?: string | undefined;
  execution?: string | undefined;
  batch?: string | undefined;
}

/** What to do about an error; what is not named stays ENTITY, RUN or BATCH. */
export function adviceOf(
  name: ErrorName,
  { entity = 'ENTITY', execution = 'RUN', batch = 'BATCH' }: Failed = {},
): string {
  const named: Record<string, string> = { ENTITY: entity, RUN: execution, BATCH: batch };
  return ERRORS[name].advice.replace(/\b(?:ENTITY|RUN|BATCH)\b/g, (word) => named[word] ?? word);
}

/**
 * The only error that steps and clients throw on purpose. `message` must hold no token, signed URL, record or body of an
 * answer: it ends in the execution history.
 */
export class RunError extends Error {
  override readonly name: RunErrorName;
  readonly retryAfterSeconds: number | undefined;
  /** HTTP status of the refusal, where there was one. */
  readonly status: number | undefined;
  readonly #momentary: boolean;

  /** @param options.momentary waited out like a transient one, though others of its name are final */
  constructor(
    name: RunErrorName,
    message: string,
    options: {
      retryAfterSeconds?: number | undefined;
      status?: number | undefined;
      cause?: unknown;
      momentary?: boolean;
    } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = name;
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.status = options.status;
    this.#momentary = options.momentary ?? false;
  }

  get transient(): boolean {
    return this.#momentary || ERRORS[this.name].class === 'transient';
  }

  /** Error and cause of the failed execution: what happened, then what to do. */
  get failure(): { error: RunErrorName; cause: string } {
    return this.failureOf({});
  }

  /** The same with the names of what failed in the commands of its advice. */
  failureOf(failed: Failed): { error: RunErrorName; cause: string } {
    return { error: this.name, cause: `${this.message} ${adviceOf(this.name, failed)}` };
  }
}
