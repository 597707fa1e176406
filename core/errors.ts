/**
 * The closed list of errors that a run can end in. `final` ends the run at once; `transient` is retried until the
 * deadline of the run; `machine` names are given by the state machine itself. docs/runbook.md has an entry for
 * each name, with its advice (`npm run generate`).
 */
export const ERRORS = {
  InvalidInput: {
    class: 'final',
    advice:
      'Start the machine again with an input such as {"entity":"leads"}, or {"file":"updates/BATCH/input.jsonl"} where it updates customers.',
  },
  ConfigInvalid: {
    class: 'final',
    advice: 'Correct the configuration or the secret that is named here, then start the run again.',
  },
  AuthRefused: {
    class: 'final',
    advice:
      'Let an administrator of the service grant the missing right, then authorize again: npm run cli -- authorize.',
  },
  ReauthorizationRequired: {
    class: 'final',
    advice: 'Authorize again: npm run cli -- authorize. No export runs until then.',
  },
  TokenRefreshInProgress: {
    class: 'transient',
    advice:
      'It ends by itself: within a minute, or when the token endpoint of the service answers again. If it lasts, check whether it answers.',
  },
  SecretVersionsExhausted: {
    class: 'transient',
    advice:
      'Ask the service for access tokens that live longer, or space the nightly starts so that they share a token, then start the run again.',
  },
  TokenStoreUnavailable: {
    class: 'transient',
    advice: 'Look at the health of AWS Secrets Manager and at the role of the function, then start the run again.',
  },
  CrmUnavailable: {
    class: 'transient',
    advice: 'Ask the service whether it is down; when it is up again, start the run again.',
  },
  RateLimited: {
    class: 'transient',
    advice: 'Spread the nightly starts further apart, or ask the service for a higher limit, then start the run again.',
  },
  CrmRejectedRequest: {
    class: 'final',
    advice:
      'Compare columns, sorts and filters of this entity in the configuration with the service, then start the run again.',
  },
  CrmContractError: {
    class: 'final',
    advice:
      'The answer does not match the interface document: compare it with docs/interface/open-points.md, then tell the developers.',
  },
  CreateUnanswered: {
    class: 'final',
    advice:
      'The service may hold exports that nobody collects, which does no harm. Start the run again when it answers again; if it makes the export before it answers, raise crm.createTimeoutSeconds first.',
  },
  ExportFailed: {
    class: 'final',
    advice: 'Start the run again; if it fails again, give the export id to the support of the service.',
  },
  ExportNotFound: {
    class: 'final',
    advice: 'The export was deleted or has expired at the service. Start the run again.',
  },
  ExportNotReady: {
    class: 'transient',
    advice: 'Give the export id to the support of the service, then start the run again.',
  },
  ExportDeadlineExceeded: {
    class: 'final',
    advice:
      'Raise polling.deadlineSeconds for this entity if such exports are just slow, or ask the service, then start the run again.',
  },
  DownloadUrlRejected: {
    class: 'final',
    advice: 'The service sent an address that must not be fetched: tell the service, and do not fetch it by hand.',
  },
  DownloadLinkExpired: {
    class: 'transient',
    advice: 'Ask the service why its links are refused so early, then start the run again.',
  },
  DownloadStalled: {
    class: 'transient',
    advice: 'Ask the service why its file server is so slow, then start the run again.',
  },
  DownloadTooLarge: {
    class: 'final',
    advice:
      'If files may be that large, raise files.maxBytes in the configuration and deploy; then start the run again.',
  },
  DownloadUnfinished: {
    class: 'final',
    advice: 'Ask the service about its file server, or export fewer records at a time; then start the run again.',
  },
  DownloadIncomplete: {
    class: 'transient',
    advice: 'Ask the service about its file server, then start the run again.',
  },
  FileRejected: {
    class: 'final',
    advice:
      'Nothing was published. Look at the stored file, if one is named here, then start the run again. If the service does export such files, allow them in files.formats.',
  },
  StorageUnavailable: { class: 'transient', advice: 'Look at the health of Amazon S3, then start the run again.' },
  StorageDenied: {
    class: 'final',
    advice:
      'Check that the bucket exists, that its key is enabled, and that nobody changed the policy of either; npx cdk deploy --revert-drift restores policies, which an ordinary deployment leaves as they are.',
  },
  StorageConflict: {
    class: 'final',
    advice: 'Another object is where this run wrote. Start the run again: it writes under a new name.',
  },
  UpdateFileInvalid: {
    class: 'final',
    advice: 'Nothing was sent. Correct the file, and start again; npm run cli -- update FILE lists all problems.',
  },
  UpdateAlreadyStarted: {
    class: 'final',
    advice:
      'Each batch is applied once. Look at the other execution; to send more, upload the lines as a batch of another name.',
  },
  UpdateStopped: {
    class: 'final',
    advice: 'The result names what was not sent. Find out why it was stopped, then resume the batch.',
  },
  UpdatesIncomplete: {
    class: 'final',
    advice: 'The result names the outcome of every line: correct the rejected ones, resume the batch for the others.',
  },
  StepCrashed: { class: 'machine', advice: 'Look at the log group of the step that failed, then start the run again.' },
  UnknownOutcome: {
    class: 'machine',
    advice:
      'The functions and the state machine are of different releases: deploy the stack again, then start the run again.',
  },
} as const satisfies Record<string, { class: 'final' | 'transient' | 'machine'; advice: string }>;

export type ErrorName = keyof typeof ERRORS;

/** A name that our own code may throw. */
export type RunErrorName = { [N in ErrorName]: (typeof ERRORS)[N]['class'] extends 'machine' ? never : N }[ErrorName];

/**
 * The only error that steps and clients throw on purpose. `message` says what happened; it must hold no token, signed
 * URL, record or body of an answer, for it ends in the execution history.
 */
export class RunError extends Error {
  override readonly name: RunErrorName;
  /** Seconds that the other side asked us to wait, if it did. */
  readonly retryAfterSeconds: number | undefined;
  /** The HTTP status of the answer, where there was one. */
  readonly status: number | undefined;
  readonly #momentary: boolean;

  /** @param options.momentary it may pass by itself, though others of its name do not: it is waited out like a transient one. */
  constructor(
    name: RunErrorName,
    message: string,
    options: { retryAfterSeconds?: number | undefined; status?: number; cause?: unknown; momentary?: boolean } = {},
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
    return { error: this.name, cause: `${this.message} ${ERRORS[this.name].advice}` };
  }
}
