import { Help } from 'commander';
import type { Question } from '../cli/health/check.ts';
import { DOCTOR_QUESTIONS } from '../cli/health/doctor.ts';
import { ALL_CHECKS } from '../cli/health/verify.ts';
import { LEFT_OVERS } from '../cli/health/verify-temporary.ts';
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

/** The commands that need each right, written as the checks of `doctor` and `verify` write theirs. */
const RIGHTS: Record<string, string[]> = {
  'cloudformation:GetTemplate on the stack': NEEDING_SETTINGS,
  'cloudformation:ListStacks on `*`': ['status --all-deployments'],
  'cloudwatch:DescribeAlarms on `*`': ['status'],
  'states:StartExecution on ExportRun': ['start', 'retry', 'backfill', 'release', 'table', 'authorize --run'],
  'states:ListExecutions on ExportRun': FINDING_RUNS,
  'states:DescribeExecution on executions of ExportRun': [...FINDING_RUNS, 'start --wait', 'authorize --run'],
  'states:GetExecutionHistory on executions of ExportRun': [...FOLLOWING, 'retry', 'backfill', 'list', 'show', 'stop'],
  'states:StopExecution on executions of ExportRun': ['stop'],
  's3:GetObject on `published/*`, `runs/*`': [...EXPORTS, ...FOLLOWING, 'readers --tag'],
  's3:GetObject on `tables/*`': ['diff', 'table --outdated', 'readers --tag'],
  's3:DeleteObject on `tables/*`, `changes/*`': ['table --outdated'],
  's3:PutObjectTagging on `runs/*`, `tables/*`, `changes/*`': ['readers --tag'],
  'cloudformation:ListStackResources on the stack': ['readers'],
  's3:ListBucket on the bucket': READING,
  'logs:FilterLogEvents on log groups of the functions': ['logs'],
  'events:DescribeRule on the rules': ['status', 'report', 'plan', 'pause', 'resume'],
  'events:DisableRule on the rules': ['pause'],
  'events:EnableRule on the rules': ['resume'],
  'secretsmanager:GetSecretValue on both secrets': [...GRANT, 'status', 'report'],
  'secretsmanager:PutSecretValue on both secrets': GRANT,
  'dynamodb:GetItem on the ledger': [...GRANT, 'status', 'report'],
  'dynamodb:UpdateItem on the ledger': GRANT,
  's3:GetObject on `changes/*`': ['changes', 'table --outdated', 'readers --tag'],
  's3:PutObject on `changes/*/head.json`': ['changes --release'],
  's3:GetObject on `updates/*`': ['update', 'update-status'],
  's3:PutObject on `updates/*/input.jsonl`, `updates/*/stop.json`': ['update'],
  's3:AbortMultipartUpload on `updates/*/input.jsonl`': ['update'],
  'states:StartExecution on CustomerUpdates': ['update'],
  'states:ListExecutions on CustomerUpdates': ['update', 'update-status'],
  'states:DescribeExecution on executions of CustomerUpdates': ['update', 'update-status'],
  'kms:Decrypt on the key, through S3': READING,
  'kms:Decrypt on the key, through Secrets Manager and DynamoDB': [...GRANT, 'status', 'report'],
  'kms:GenerateDataKey on the key, through S3': ['update', 'changes --release'],
  'kms:GenerateDataKey on the key, through Secrets Manager': GRANT,
};

/**
 * The rights on AWS that a person needs for each command, besides `cloudformation:DescribeStacks` for all. They include
 * the rights of checks: a check without its right is skipped and reported by name.
 */
export const COMMAND_RIGHTS = (() => {
  const all = new Map(Object.entries(RIGHTS).map(([right, commands]) => [right, new Set(commands)]));
  const add = (command: string, { option, rights }: Pick<Question, 'option' | 'rights'>) => {
    const name = option ? `${command} ${option}` : command;
    for (const right of rights) all.set(right, (all.get(right) ?? new Set()).add(name));
  };
  for (const question of Object.values(DOCTOR_QUESTIONS)) add('doctor', question);
  for (const question of [...ALL_CHECKS, LEFT_OVERS]) add('verify', question);
  all.delete('cloudformation:DescribeStacks on the stack');
  return [...all].map(([right, commands]) => {
    const [action = '', on = ''] = right.split(' on ');
    return { action, on, commands: [...commands] };
  });
})();

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
  const commands = (await createProgram()).commands.filter((command) => command.name() !== 'complete');
  const terms = commands.map((command) => new Help().subcommandTerm(command).replace(' [options]', ''));
  return terms.map((term, n) => `- ${code(term)}: ${commands[n]?.description()}`).join('\n');
}
