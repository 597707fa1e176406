import { Help } from 'commander';
import type { Question } from '../cli/health/check.ts';
import { DOCTOR_QUESTIONS } from '../cli/health/doctor.ts';
import { ALL_CHECKS } from '../cli/health/verify.ts';
import { LEFT_OVERS } from '../cli/health/verify-starts.ts';
import { LOADERS } from '../cli/loaders.ts';
import { createProgram } from '../cli/program.ts';
import { code } from './document-tables.ts';

/** The tables of the documents about the operator's command. */

const FINDING_RUNS = [
  'follow',
  'list',
  'show',
  'logs',
  'status',
  'report',
  'retry',
  'backfill',
  'release',
  'table',
  'stop',
];
const FOLLOWING = ['start --wait', 'follow', 'retry --wait', 'release --wait', 'table --wait', 'authorize --run'];
const DATA = ['download', 'peek', 'diff'];
const EXPORTS = ['list', 'show', ...DATA, 'status', 'report', 'backfill', 'release', 'table'];
const READING = [...EXPORTS, 'changes', 'update', 'update-status', 'readers --tag', ...FOLLOWING];

interface Right {
  action: string;
  on: string;
  commands: string[];
}

/** The rights for the checks of a command. A check without its right is skipped and reported by name. */
function rightsOfChecks(command: string, checks: Pick<Question, 'option' | 'rights'>[]): Right[] {
  return checks.flatMap(({ option, rights }) =>
    rights.map((right) => {
      const [action = '', on = ''] = right.split(' on ');
      return { action, on, commands: [option ? `${command} ${option}` : command] };
    }),
  );
}

/** Commands that read and write the grant. Like a run, `probe` refreshes a grant that is due. */
const GRANT = ['authorize', 'probe'];

/** Commands that read the deployed configuration, which the template contains. */
const NEEDING_SETTINGS = [
  'start',
  'diff',
  'authorize',
  'status',
  'probe',
  'report',
  'backfill',
  'table',
  'resume',
  'update',
  'readers',
  'doctor',
];

const RIGHTS: Right[] = [
  { action: 'cloudformation:GetTemplate', on: 'the stack', commands: NEEDING_SETTINGS },
  {
    action: 'cloudformation:ListStacks',
    on: '`*`',
    commands: ['status --all-deployments'],
  },
  { action: 'cloudwatch:DescribeAlarms', on: '`*`', commands: ['status'] },
  {
    action: 'states:StartExecution',
    on: 'ExportRun',
    commands: ['start', 'retry', 'backfill', 'release', 'table', 'authorize --run'],
  },
  { action: 'states:ListExecutions', on: 'ExportRun', commands: FINDING_RUNS },
  {
    action: 'states:DescribeExecution',
    on: 'executions of ExportRun',
    commands: [...FINDING_RUNS, 'start --wait', 'authorize --run'],
  },
  {
    action: 'states:GetExecutionHistory',
    on: 'executions of ExportRun',
    commands: [...FOLLOWING, 'retry', 'backfill', 'list', 'show', 'stop'],
  },
  { action: 'states:StopExecution', on: 'executions of ExportRun', commands: ['stop'] },
  {
    action: 's3:GetObject',
    on: '`published/*`, `runs/*`',
    commands: [...EXPORTS, ...FOLLOWING, 'readers --tag'],
  },
  { action: 's3:GetObject', on: '`tables/*`', commands: ['diff', 'table --outdated', 'readers --tag'] },
  { action: 's3:DeleteObject', on: '`tables/*`, `changes/*`', commands: ['table --outdated'] },
  { action: 's3:PutObjectTagging', on: '`runs/*`, `tables/*`, `changes/*`', commands: ['readers --tag'] },
  { action: 'cloudformation:ListStackResources', on: 'the stack', commands: ['readers'] },
  { action: 's3:ListBucket', on: 'the bucket', commands: READING },
  { action: 'logs:FilterLogEvents', on: 'log groups of the functions', commands: ['logs'] },
  {
    action: 'events:DescribeRule',
    on: 'the rules',
    commands: ['status', 'report', 'plan', 'pause', 'resume'],
  },
  { action: 'events:DisableRule', on: 'the rules', commands: ['pause'] },
  { action: 'events:EnableRule', on: 'the rules', commands: ['resume'] },
  { action: 'secretsmanager:GetSecretValue', on: 'both secrets', commands: [...GRANT, 'status'] },
  { action: 'secretsmanager:PutSecretValue', on: 'both secrets', commands: GRANT },
  { action: 'dynamodb:GetItem', on: 'the ledger', commands: [...GRANT, 'status'] },
  { action: 'dynamodb:UpdateItem', on: 'the ledger', commands: GRANT },
  { action: 's3:GetObject', on: '`changes/*`', commands: ['changes', 'table --outdated', 'readers --tag'] },
  { action: 's3:PutObject', on: '`changes/*/head.json`', commands: ['changes --release'] },
  { action: 's3:GetObject', on: '`updates/*`', commands: ['update', 'update-status'] },
  { action: 's3:PutObject', on: '`updates/*/input.jsonl`, `updates/*/stop.json`', commands: ['update'] },
  { action: 's3:AbortMultipartUpload', on: '`updates/*/input.jsonl`', commands: ['update'] },
  { action: 'states:StartExecution', on: 'CustomerUpdates', commands: ['update'] },
  { action: 'states:ListExecutions', on: 'CustomerUpdates', commands: ['update', 'update-status'] },
  { action: 'states:DescribeExecution', on: 'executions of CustomerUpdates', commands: ['update', 'update-status'] },
  { action: 'kms:Decrypt', on: 'the key, through S3', commands: READING },
  { action: 'kms:Decrypt', on: 'the key, through Secrets Manager and DynamoDB', commands: [...GRANT, 'status'] },
  {
    action: 'kms:GenerateDataKey',
    on: 'the key, through S3',
    commands: ['update', 'changes --release'],
  },
  { action: 'kms:GenerateDataKey', on: 'the key, through Secrets Manager', commands: GRANT },
];

/** The rights on AWS that a person needs for each command, besides `cloudformation:DescribeStacks` for all. */
export const COMMAND_RIGHTS: Right[] = merged([
  ...RIGHTS,
  ...rightsOfChecks('doctor', Object.values(DOCTOR_QUESTIONS)),
  ...rightsOfChecks('verify', [...ALL_CHECKS, LEFT_OVERS]),
]);

/** Merges the rights into one row for each right on one resource. */
function merged(all: Right[]): Right[] {
  const rights = all.filter(({ action }) => action !== 'cloudformation:DescribeStacks');
  const same = Map.groupBy(rights, ({ action, on }) => `${action} ${on}`);
  return [...same.values()].flatMap(([first, ...more]) =>
    first ? [{ ...first, commands: [...new Set([first, ...more].flatMap(({ commands }) => commands))] }] : [],
  );
}

/** A list with one line for all rights that the same commands need. */
export function rightsList(): string {
  const same = Map.groupBy(COMMAND_RIGHTS, ({ commands }) => commandsText(commands));
  const lines = [...same].map(([commands, rights]) => {
    const things = Map.groupBy(rights, ({ on }) => on);
    const texts = [...things].map(([on, of]) => `${of.map(({ action }) => code(action)).join(', ')} on ${on}`);
    return `- ${commands}: ${texts.join('; ')}`;
  });
  return lines.join('\n');
}

/** Names the commands. A group that is complete gets one common name, which the page explains once. */
function commandsText(commands: string[]): string {
  const groups = [
    { name: 'finding a run', of: FINDING_RUNS },
    { name: 'following a run', of: FOLLOWING },
  ].filter(({ of }) => of.every((command) => commands.includes(command)));
  const grouped = groups.flatMap(({ of }) => of);
  const named = commands.filter((command) => !grouped.includes(command));
  return [...named.map(code), ...groups.map(({ name }) => name)].join(', ');
}

/** A list of every command and what it does. */
export async function commandList(): Promise<string> {
  const commands = (await createProgram(LOADERS)).commands.filter((command) => command.name() !== 'complete');
  const terms = commands.map((command) => new Help().subcommandTerm(command).replace(' [options]', ''));
  return terms.map((term, n) => `- ${code(term)}: ${commands[n]?.description()}`).join('\n');
}
