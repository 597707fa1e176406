import { Help } from 'commander';
import { createProgram } from '../cli/program.ts';
import { code, markdownTable } from './document-tables.ts';

/** The tables of the documents about the operator's command. */

const EXPORT_RUN = 'executions of ExportRun';
const BATCHES = 'executions of CustomerUpdates';
const FINDING_RUNS = [
  'follow',
  'list',
  'show',
  'logs',
  'deployments',
  'report',
  'retry',
  'backfill',
  'release',
  'table',
  'stop',
];
const FOLLOWING = ['start --wait', 'follow', 'retry --wait', 'release --wait', 'table --wait'];
const DATA = ['download', 'peek', 'schema', 'diff'];
const READING = [
  'list',
  'show',
  ...DATA,
  'deployments',
  'report',
  'backfill',
  'release',
  'table',
  'update',
  'update-status',
  ...FOLLOWING,
];
const FLEET = ['deployments', 'report --all-deployments'];
const ALL = [...FLEET, 'list --all-deployments', 'doctor --all-deployments'];
const GRANT = ['authorize', 'doctor'];
const WRITING_GRANT = ['authorize', 'doctor --refresh'];

interface Right {
  action: string;
  on: string;
  commands: string[];
}

const STACK = 'the stack';
const BUCKET = 'the bucket';
const ANY = '`*`: AWS knows no resource for it';
const TEMPORARY_RULE = 'rules named `crm-export-NAME_verify_*`';
const TEMPORARY_QUEUE = 'queues named `crm-export-NAME_verify_*`';
const TEMPORARY_OBJECTS = '`verify_/*`';
const ALARM_TOPIC = 'the topic of the alarms';

/** What `verify` needs: whoever lacks one is told by its name, and the checks that do without are made. */
const VERIFY: [action: string, on: string][] = [
  ['cloudformation:GetTemplate', STACK],
  ['cloudformation:ListStackResources', STACK],
  ['cloudformation:DetectStackDrift', STACK],
  ['cloudformation:DescribeStackDriftDetectionStatus', ANY],
  ['cloudformation:DescribeStackResourceDrifts', STACK],
  ['dynamodb:UpdateItem', 'the ledger'],
  ['dynamodb:DeleteItem', 'the ledger'],
  ['states:StartExecution', 'ExportRun'],
  ['states:ListExecutions', 'ExportRun'],
  ['states:DescribeExecution', EXPORT_RUN],
  ['states:GetExecutionHistory', EXPORT_RUN],
  ['s3:GetObject', '`published/*`, `runs/*`'],
  ['s3:ListBucket', BUCKET],
  ['s3:GetBucketVersioning', BUCKET],
  ['s3:GetLifecycleConfiguration', BUCKET],
  ['s3:GetBucketPublicAccessBlock', BUCKET],
  ['s3:ListBucketVersions', BUCKET],
  ['s3:PutObject', TEMPORARY_OBJECTS],
  ['s3:DeleteObjectVersion', TEMPORARY_OBJECTS],
  ['kms:Decrypt', 'the key, through S3'],
  ['kms:GetKeyRotationStatus', 'the key'],
  ['logs:FilterLogEvents', 'log groups of the functions'],
  ['xray:BatchGetTraces', ANY],
  ['cloudwatch:GetMetricData', ANY],
  ['cloudwatch:GetDashboard', 'the dashboard'],
  ['cloudwatch:DescribeAlarms', '`*`, for the alarms of all deployments'],
  ['cloudwatch:SetAlarmState', 'alarms named `crm-export-NAME-*`'],
  ['sns:ListSubscriptionsByTopic', ALARM_TOPIC],
  ['sns:Subscribe', ALARM_TOPIC],
  ['sns:Unsubscribe', ALARM_TOPIC],
  ['sqs:ListQueues', ANY],
  ['sqs:CreateQueue', TEMPORARY_QUEUE],
  ['sqs:ReceiveMessage', TEMPORARY_QUEUE],
  ['sqs:DeleteQueue', TEMPORARY_QUEUE],
  ['sqs:GetQueueAttributes', 'the queue of undelivered starts'],
  ['events:ListRules', 'the rules'],
  ['events:DescribeRule', 'the rules'],
  ['events:ListTargetsByRule', 'the rules'],
  ['events:PutRule', TEMPORARY_RULE],
  ['events:PutTargets', TEMPORARY_RULE],
  ['events:RemoveTargets', TEMPORARY_RULE],
  ['events:DeleteRule', TEMPORARY_RULE],
  ['iam:PassRole', 'the role of the rules, to EventBridge'],
  ['lambda:GetFunctionConfiguration', 'the functions'],
];

/** What `--updates` needs besides. */
const VERIFY_UPDATES: [action: string, on: string][] = [
  ['s3:GetObject', '`updates/*`'],
  ['s3:PutObject', '`updates/*/input.jsonl`, `updates/*/stop.json`'],
  ['states:StartExecution', 'CustomerUpdates'],
  ['states:DescribeExecution', BATCHES],
  ['kms:GenerateDataKey', 'the key, through S3'],
];

const RIGHTS: Right[] = [
  { action: 'cloudformation:ListStacks', on: '`*`: AWS knows no resource for it', commands: ALL },
  { action: 'cloudwatch:DescribeAlarms', on: '`*`, for the alarms of all deployments', commands: FLEET },
  { action: 'states:StartExecution', on: 'ExportRun', commands: ['start', 'retry', 'backfill', 'release', 'table'] },
  { action: 'states:ListExecutions', on: 'ExportRun', commands: FINDING_RUNS },
  { action: 'states:DescribeExecution', on: EXPORT_RUN, commands: [...FINDING_RUNS, 'start --wait'] },
  {
    action: 'states:GetExecutionHistory',
    on: EXPORT_RUN,
    commands: [...FOLLOWING, 'retry', 'backfill', 'list', 'show', 'stop'],
  },
  { action: 'states:StopExecution', on: EXPORT_RUN, commands: ['stop'] },
  {
    action: 's3:GetObject',
    on: '`published/*`, `runs/*`',
    commands: [
      'list',
      'show',
      ...DATA,
      'deployments',
      'report',
      'backfill',
      'release',
      'table',
      'doctor',
      ...FOLLOWING,
    ],
  },
  { action: 's3:GetObject', on: '`tables/*`', commands: ['table --outdated', 'doctor'] },
  { action: 's3:ListBucket', on: 'the bucket', commands: [...READING, 'doctor'] },
  { action: 's3:ListBucketMultipartUploads', on: 'the bucket', commands: FOLLOWING },
  { action: 's3:ListMultipartUploadParts', on: '`runs/*`', commands: FOLLOWING },
  { action: 'logs:FilterLogEvents', on: 'log groups of the functions', commands: [...FOLLOWING, 'logs'] },
  { action: 'events:ListRules', on: 'the rules', commands: ['deployments', 'doctor', 'report'] },
  { action: 'events:DescribeRule', on: 'the rules', commands: ['pause', 'resume'] },
  { action: 'events:DisableRule', on: 'the rules', commands: ['pause'] },
  { action: 'events:EnableRule', on: 'the rules', commands: ['resume'] },
  { action: 'secretsmanager:GetSecretValue', on: 'both secrets', commands: GRANT },
  { action: 'secretsmanager:PutSecretValue', on: 'both secrets', commands: WRITING_GRANT },
  { action: 'dynamodb:GetItem', on: 'the ledger', commands: GRANT },
  { action: 'dynamodb:UpdateItem', on: 'the ledger', commands: WRITING_GRANT },
  { action: 'sns:ListSubscriptionsByTopic', on: 'the topic of the alarms', commands: ['doctor'] },
  { action: 'lambda:GetAccountSettings', on: '`*`: AWS knows no resource for it', commands: ['doctor'] },
  { action: 's3:GetObject', on: '`updates/*`', commands: ['update', 'update-status'] },
  { action: 's3:PutObject', on: '`updates/*/input.jsonl`, `updates/*/stop.json`', commands: ['update'] },
  { action: 's3:AbortMultipartUpload', on: '`updates/*/input.jsonl`', commands: ['update'] },
  { action: 'states:StartExecution', on: 'CustomerUpdates', commands: ['update'] },
  { action: 'states:ListExecutions', on: 'CustomerUpdates', commands: ['update', 'update-status'] },
  { action: 'states:DescribeExecution', on: BATCHES, commands: ['update', 'update-status'] },
  { action: 'kms:Decrypt', on: 'the key, through S3', commands: [...READING, 'doctor'] },
  { action: 'kms:Decrypt', on: 'the key, through Secrets Manager and DynamoDB', commands: GRANT },
  { action: 'kms:GenerateDataKey', on: 'the key, through S3', commands: ['update'] },
  { action: 'kms:GenerateDataKey', on: 'the key, through Secrets Manager', commands: WRITING_GRANT },
];

/** What a person needs on AWS for each command, besides `cloudformation:DescribeStacks` for all of them. */
export const COMMAND_RIGHTS: Right[] = merged([
  ...RIGHTS,
  ...VERIFY.map(([action, on]) => ({ action, on, commands: ['verify'] })),
  ...VERIFY_UPDATES.map(([action, on]) => ({ action, on, commands: ['verify --updates'] })),
]);

/** One row for each right on one thing. */
function merged(rights: Right[]): Right[] {
  const same = Map.groupBy(rights, ({ action, on }) => `${action} ${on}`);
  return [...same.values()].flatMap(([first, ...more]) =>
    first ? [{ ...first, commands: [first, ...more].flatMap(({ commands }) => commands) }] : [],
  );
}

export function rightsTable(): string {
  const rows = COMMAND_RIGHTS.map(({ action, on, commands }) => [code(action), on, commands.map(code).join(', ')]);
  return markdownTable(['Right', 'On', 'Commands that need it'], rows);
}

/** Every command with its own options; those that nearly all commands have are left out. */
export async function commandTable(): Promise<string> {
  const commands = (await createProgram()).commands.filter((command) => command.name() !== 'complete');
  const flags = commands.map(({ options }) => options.map((option) => option.flags));
  const own = (flag: string) => flags.filter((each) => each.includes(flag)).length < commands.length - 2;
  const rows = commands.map((command, index) => [
    code(new Help().subcommandTerm(command).replace(' [options]', '')),
    command.description(),
    (flags[index] ?? []).filter(own).map(code).join(', '),
  ]);
  return markdownTable(['Command', 'Does', 'Options'], rows);
}
