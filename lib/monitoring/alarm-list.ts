/**
 * The closed list of alarms: its id, which is also its entry in the runbook, and the first sentence of its mail. One with the name
 * of an error comes when a run ends in it, sooner than the mail.
 */
export const ALARMS = {
  MailsNotSent: 'A run failed, and MailFailedRuns could not mail it.',
  ExecutionsAborted: 'Somebody stopped a run.',
  ExecutionsThrottled: 'AWS Step Functions slows runs down: the account has reached a limit.',
  NightIncomplete:
    'A night is not complete by its deadline, be it that a run failed or that an entity is paused; or nobody could check it.',
  NoPublishedExport: 'No export was published for longer than the configuration allows.',
  PublishedWithWarnings: 'A file was published with a warning: what is in it may not be what readers expect.',
  FileQuarantined: 'A guard stopped a file: readers keep the last good one until somebody looks.',
  TableNotWritten: 'A table could not be written; its file is published.',
  SchemaChanged: 'The columns that the CRM lists are not those of the last published export.',
  UndeliveredStarts:
    'A start by a rule, or the mail of a failed run, is undelivered: it is in the queue of undelivered starts.',
  ReauthorizationRequired: 'The OAuth grant is no longer valid: no export runs until somebody authorizes again.',
  GrantRotatedButNotStored: 'A refreshed grant was lost before it could be stored; somebody has to authorize again.',
  TokenEndpointUnanswered: 'The token endpoint of the CRM has not answered any refresh for four hours.',
  SecretVersionsNearLimit:
    'The grant was refreshed so often in a day that refreshes may soon stop until versions are a day old.',
  FunctionThrottled:
    'AWS Lambda refused to run a function: the account has reached its limit of concurrent executions.',
} as const satisfies Record<string, string>;

export type AlarmId = keyof typeof ALARMS;

/** The entry of an alarm: a heading's anchor is its text in lower case. */
export function runbookEntry(runbookUrl: string, id: AlarmId): string {
  return `${runbookUrl}#${id.toLowerCase()}`;
}

/**
 * Each refresh is a version of the secret. At 95 within 24 hours none is made any more: a secret has about 100, and AWS removes
 * none younger than a day (https://docs.aws.amazon.com/secretsmanager/latest/userguide/reference_limits.html).
 */
export const MOST_REFRESHES_A_DAY = 80;
