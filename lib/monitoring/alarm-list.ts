/**
 * The closed list of alarms: its id, which is also its entry in the runbook, and the first sentence of its mail. One with the name
 * of an error comes when a run ends in it, sooner than the mail.
 */
export const ALARMS = {
  MailsNotSent: 'A run failed, and MailFailedRuns could not mail it.',
  ExecutionsAborted: 'A person stopped a run.',
  ExecutionsThrottled: 'AWS Step Functions delays runs because the account has reached its limit of state transitions.',
  NightIncomplete:
    'A file or table of the night is missing after its deadline, or RecordNight could not check the night.',
  NoPublishedExport: 'No export was published for longer than the configuration allows.',
  PublishedWithWarnings: 'A file was published with a warning: it may not hold what readers expect.',
  FileQuarantined: 'The gate stopped a file until a person releases it.',
  TableNotWritten: 'A table could not be written; its file is published.',
  SchemaChanged: 'The columns that the CRM lists are not those of the last published export.',
  UndeliveredStarts: 'EventBridge could not deliver the start of a run, or the end of a failed run to its mail.',
  ReauthorizationRequired: 'The OAuth grant is no longer valid: no export runs until a person authorizes again.',
  GrantRotatedButNotStored:
    'The CRM issued a new refresh token, and storing it failed: a person has to authorize again.',
  TokenEndpointUnanswered: 'The token endpoint of the CRM has not answered any refresh for four hours.',
  SecretVersionsNearLimit:
    'The grant was refreshed so often in a day that refreshes may soon stop until versions are a day old.',
  FunctionThrottled:
    'AWS Lambda refused to run a function because the account has reached its limit of concurrent executions.',
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
