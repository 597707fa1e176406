/**
 * Quotas of AWS that a growing number of deployments, runs, files or updates reaches, as AWS documents them for an account and region by
 * default (November 2026). What a deployment takes of each is counted on the template, so these tables cannot forget a resource.
 */

const DOCS = 'https://docs.aws.amazon.com';
const STEP_FUNCTIONS = `${DOCS}/step-functions/latest/dg/service-quotas.html`;
const LAMBDA = `${DOCS}/lambda/latest/dg/gettingstarted-limits.html`;
const EVENTBRIDGE = `${DOCS}/eventbridge/latest/userguide/eb-quota.html`;
const OTHER_PLACE = 'another region or account';

interface Quota {
  name: string;
  limit: number;
  /** Whether AWS raises it on request. */
  raised: boolean;
  breaks: string;
  remedy: string;
  source: string;
}

/** Resources of the stack. */
export const RESOURCE_QUOTAS: (Quota & { type: string })[] = [
  {
    ...{ name: 'EventBridge rules of a bus', type: 'AWS::Events::Rule', limit: 300, raised: true, source: EVENTBRIDGE },
    breaks: 'the next deployment rolls back; in the smallest regions at 100 rules',
    remedy: `have it raised; ${OTHER_PLACE}; pooled`,
  },
  {
    ...{ name: 'IAM roles', type: 'AWS::IAM::Role', limit: 1000, raised: true },
    breaks: 'the next deployment rolls back; the quota is for all regions of the account together',
    remedy: 'have it raised (5,000 at most); another account',
    source: `${DOCS}/IAM/latest/UserGuide/reference_iam-quotas.html`,
  },
  {
    ...{ name: 'DynamoDB tables', type: 'AWS::DynamoDB::GlobalTable', limit: 2500, raised: true },
    breaks: 'the next deployment rolls back',
    remedy: `have it raised; ${OTHER_PLACE}`,
    source: `${DOCS}/amazondynamodb/latest/developerguide/ServiceQuotas.html`,
  },
  {
    ...{ name: 'S3 buckets', type: 'AWS::S3::Bucket', limit: 10_000, raised: true },
    breaks: 'the next deployment rolls back; the quota is for all regions of the account together',
    remedy: 'have it raised; another account',
    source: `${DOCS}/AmazonS3/latest/userguide/BucketRestrictions.html`,
  },
  {
    ...{ name: 'KMS keys', type: 'AWS::KMS::Key', limit: 100_000, raised: true },
    breaks: 'the next deployment rolls back',
    remedy: OTHER_PLACE,
    source: `${DOCS}/kms/latest/developerguide/resource-limits.html`,
  },
  {
    ...{ name: 'State machines', type: 'AWS::StepFunctions::StateMachine', limit: 100_000, raised: true },
    ...{ breaks: 'the next deployment rolls back', remedy: OTHER_PLACE, source: STEP_FUNCTIONS },
  },
];

/** Of what there is one for each deployment, whatever is in its stack. */
export const STACK_QUOTA: Quota = {
  ...{ name: 'CloudFormation stacks', limit: 2000, raised: true },
  breaks: 'the next deployment is refused',
  remedy: `have it raised; ${OTHER_PLACE}`,
  source: `${DOCS}/AWSCloudFormation/latest/UserGuide/cloudformation-limits.html`,
};

/** What happens at the same time, and in one run, file or batch. */
export const USE_QUOTAS: (Quota & { of: string; reached: string })[] = [
  {
    ...{ of: 'runs', name: 'Lambda: concurrent executions', limit: 1000, raised: true, source: LAMBDA },
    reached:
      'A run has one function at a time: 1,000 runs that move files at once, 142 deployments whose seven nightly runs overlap. A new account has 10: **one deployment reaches it**.',
    breaks:
      'steps are refused and retried for half an hour, then the run ends in `StepCrashed`; the alarm `FunctionThrottled` comes first',
    remedy: 'have it raised; give deployments different `nightly.startUtc` or `nightly.at`',
  },
  {
    ...{
      of: 'runs',
      name: 'Step Functions: StateTransition a second',
      limit: 800,
      raised: true,
      source: STEP_FUNCTIONS,
    },
    reached:
      'A run of ten status checks has about forty. 800 in most regions, 5,000 in Virginia, Oregon and Ireland: 1,200 runs that make all of theirs in the same minute.',
    breaks: 'runs become slower, none is lost; the alarm `ExecutionsThrottled` comes',
    remedy: 'different starts; have it raised',
  },
  {
    ...{
      of: 'runs',
      name: 'Step Functions: StartExecution a second',
      limit: 150,
      raised: true,
      source: STEP_FUNCTIONS,
    },
    reached:
      'A bucket of 800 that refills with 150 a second (1,300 and 300 in the three large regions): 800 rules of one minute.',
    breaks:
      'EventBridge delivers the start again, eight times within two hours, then into the queue of undelivered starts',
    remedy:
      'different starts: `nightly.spreadMinutes` is seven minutes by default, so only deployments of one start meet',
  },
  {
    ...{ of: 'runs', name: 'EventBridge: invocations a second', limit: 750, raised: true, source: EVENTBRIDGE },
    reached: '750 in the smallest regions, 18,750 in the largest: 45,000 rules of one minute.',
    breaks: 'starts come later; a run keeps the date of its start',
    remedy: 'different starts',
  },
  {
    ...{ of: 'runs', name: 'Step Functions: open executions', limit: 1_000_000, raised: true, source: STEP_FUNCTIONS },
    ...{ reached: '142,857 deployments whose seven runs all wait.', breaks: 'starts are refused', remedy: OTHER_PLACE },
  },
  {
    ...{
      of: 'runs',
      name: 'Step Functions: events of a history',
      limit: 25_000,
      raised: false,
      source: STEP_FUNCTIONS,
    },
    reached:
      'Never: the largest deadline in the largest number of waits stays below it (`test/lib/history-budget.test.ts`).',
    ...{ breaks: '-', remedy: '-' },
  },
  {
    ...{ of: 'runs', name: 'Secrets Manager: versions of a secret', limit: 100, raised: false },
    reached: 'One version for each refresh of the grant, kept a day: a token of 15 minutes whose run goes on all day.',
    breaks: 'refreshes stop at 95; the alarm `SecretVersionsNearLimit` comes at 80',
    remedy: 'have the CRM give tokens that live longer',
    source: `${DOCS}/secretsmanager/latest/userguide/reference_limits.html`,
  },
  {
    ...{
      of: 'commands',
      name: 'Step Functions: ListExecutions a second',
      limit: 2,
      raised: true,
      source: STEP_FUNCTIONS,
    },
    reached:
      'A bucket of 100 that refills with 2 a second (200 and 5 in the three large regions): `deployments` of a hundred deployments.',
    breaks: 'the command waits and repeats; then a deployment has a row that says so',
    remedy: 'call it less often, or by region',
  },
  {
    ...{ of: 'files', name: 'S3: parts of an upload', limit: 10_000, raised: false },
    reached:
      'A file of 48.8 TiB, the largest that S3 keeps; parts grow with the file. `files.maxBytes` stops at 100 GiB by default.',
    breaks: 'the run ends in `DownloadTooLarge`',
    remedy: 'set `files.maxBytes`',
    source: `${DOCS}/AmazonS3/latest/userguide/qfacts.html`,
  },
  {
    ...{ of: 'files', name: 'S3: writes a second below a prefix', limit: 3500, raised: false },
    reached:
      'Each run writes below a prefix of its own, sixteen parts at a time: not by one run, and S3 divides prefixes that are busy.',
    breaks: 'S3 answers 503; parts are repeated',
    remedy: 'nothing',
    source: `${DOCS}/AmazonS3/latest/userguide/optimizing-performance.html`,
  },
  {
    ...{ of: 'files', name: 'Lambda: 15 minutes of a function', limit: 900, raised: false, source: LAMBDA },
    reached: 'A transfer goes on over 40 functions, 10 hours: at the 71.5 MiB a second that a function gets, 2.4 TiB.',
    breaks: 'the run ends in `DownloadUnfinished`',
    remedy: 'a narrower export (filters, columns)',
  },
  {
    ...{ of: 'updates', name: 'Lambda: concurrent executions', limit: 1000, raised: true, source: LAMBDA },
    reached:
      'A batch takes `updates.concurrency` of them, 8 by default: 125 batches at once, 25 at the largest value of 40.',
    breaks: 'chunks are retried for two hours, then their lines are reported as not sent',
    remedy: 'have it raised; a smaller `updates.concurrency`',
  },
  {
    ...{ of: 'updates', name: 'Step Functions: open map runs', limit: 1000, raised: true, source: STEP_FUNCTIONS },
    ...{
      reached: '1,000 batches at once.',
      breaks: 'the map waits in a queue',
      remedy: 'start batches one after the other',
    },
  },
];
