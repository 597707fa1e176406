import { ENTITIES, type Entity } from '../../../../core/config/entities.ts';
import { denied, refused, silent, xml } from './answers.ts';
import { bucketOf } from './bucket.ts';
import { type Execution, executions } from './executions.ts';
import { publishTo } from './publication.ts';
import { rules } from './rules.ts';
import { halfStack, machineOf, NO_STACK, stack, stackMember } from './stack.ts';
import type { Part } from './world.ts';

/** When the runs that failed were started. */
export const LAST_NIGHT = '2026-11-20T01:00:00.000Z';

/** A deployment of the account, as far as the commands for all of them look. */
export interface FakeDeployment {
  name: string;
  /** When the newest run of each entity started; what is not named was never published. */
  published?: Partial<Record<Entity, string>>;
  /** Errors of runs that failed, of `LAST_NIGHT`. */
  failed?: Partial<Record<Entity, string>>;
  paused?: Entity[];
  alarms?: string[];
  version?: string;
  /** The nightly start, as a rule has it; default: 01:00 UTC. */
  schedule?: string;
  timeZone?: string;
  /** Only half deployed; the bucket refuses; the machine never answers; deleted last week; an update that did not end. */
  trouble?: 'half' | 'denied' | 'silent' | 'deleted' | 'rolling back';
}

const STATUS: Record<string, string> = { deleted: 'DELETE_COMPLETE', 'rolling back': 'UPDATE_ROLLBACK_FAILED' };
const PAGE = 20;
const stackOf = (name: string) => `crm-export-${name}`;
const topicOf = (name: string) => `arn:aws:sns:us-east-1:000000000000:${stackOf(name)}-topic`;

/** The parts of an account with many deployments. */
export function fleet(all: FakeDeployment[]): Part[] {
  const listed = [{ name: 'CDKToolkit', status: 'UPDATE_COMPLETE' }, ...all.map(summaryOf)];
  const alarms = all.flatMap(({ name, alarms = [] }) => alarms.map((alarm) => alarmOf(name, alarm)));
  return [
    { ListStacks: ({ input }) => stackPage(listed, Number(input.NextToken ?? 0)) },
    { DescribeAlarms: { MetricAlarms: alarms } },
    ...all.flatMap(partsOf),
    NO_STACK,
    denied('ListRules', 'ListExecutions', 'DescribeExecution'),
    { s3: refused('AccessDenied', 'refused', { status: 403 }) },
  ];
}

function summaryOf({ name, trouble }: FakeDeployment) {
  return { name: stackOf(name), status: STATUS[trouble ?? ''] ?? 'UPDATE_COMPLETE' };
}

function stackPage(all: { name: string; status: string }[], from: number) {
  const members = all.slice(from, from + PAGE).map(({ name, status }) => stackMember(name, status));
  const next = from + PAGE < all.length ? `<NextToken>${from + PAGE}</NextToken>` : '';
  const summaries = `<StackSummaries>${members.join('')}</StackSummaries>`;
  return xml(`<ListStacksResponse><ListStacksResult>${summaries}${next}</ListStacksResult></ListStacksResponse>`);
}

function partsOf(one: FakeDeployment): Part[] {
  const { name, failed = {}, paused, schedule = 'cron(0 1 * * ? *)', trouble } = one;
  if (trouble === 'half') return [halfStack({}, { name: stackOf(name) })];
  const schedules = Object.fromEntries(ENTITIES.map((entity) => [entity, schedule]));
  const machine = machineOf(name);
  const runs = Object.entries(failed).map(([entity, error]) => failedRun(entity, error));
  const mute = trouble === 'silent' ? [muted(name, machine)] : [];
  const readable = trouble === 'denied' ? [] : [bucketPart(one)];
  return [
    stack(outputsOf(one), { name: stackOf(name) }),
    ...mute,
    executions(runs, { machine }),
    rules({ paused, schedules }, name),
    ...readable,
  ];
}

function outputsOf({ name, timeZone = 'UTC', version }: FakeDeployment): Record<string, string> {
  return {
    StateMachineArn: machineOf(name),
    BucketName: `bucket-${name}`,
    AlarmTopicArn: topicOf(name),
    CrmBaseUrl: 'https://crm.invalid/api/v1',
    CrmAuthUrl: 'https://crm.invalid',
    CrmScopes: 'global:export',
    CrmClientAuthentication: 'basic',
    ConfigurationDigests: 'local:00000000',
    TimeZone: timeZone,
    ...(version && { SoftwareVersion: version }),
  };
}

function muted(name: string, machine: string): Part {
  return {
    states: ({ input }) => (input.stateMachineArn === machine ? silent : undefined),
    ListRules: ({ input }) => (input.NamePrefix === `${stackOf(name)}-` ? silent : undefined),
  };
}

/** The alarms of deployments whose names begin alike are told apart by their topics. */
function alarmOf(name: string, alarm: string) {
  return { AlarmName: `${stackOf(name)}-${alarm}`, AlarmActions: [topicOf(name)], StateValue: 'ALARM' };
}

function failedRun(entity: string, error: string): Execution {
  const stop = new Date(Date.parse(LAST_NIGHT) + 60_000).toISOString();
  const name = `${entity}-${LAST_NIGHT.replace(/[-:]|\.\d+/g, '')}-abcdef`;
  return { name, status: 'FAILED', input: {}, start: LAST_NIGHT, stop, error, cause: 'It went wrong.' };
}

function bucketPart({ name, published = {} }: FakeDeployment): Part {
  const own = { objects: new Map<string, Buffer>(), metadata: new Map() };
  for (const entity of ENTITIES) {
    const startedAt = published[entity];
    const date = startedAt?.slice(0, 10);
    if (startedAt && date) publishTo(own, { entity, date, execution: `${entity}-${date}`, manifest: { startedAt } });
  }
  const answers = bucketOf(own);
  return { s3: (call) => (call.bucket === `bucket-${name}` ? answers[call.operation] : undefined) };
}
