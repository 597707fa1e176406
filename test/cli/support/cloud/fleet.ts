import { ENTITIES, type Entity } from '../../../../core/config/entities.ts';
import { recordedNight } from '../../../support/recorded-night.ts';
import { type Answers, answerOf, bucketRefuses, type Handler, silent, xml } from './answers.ts';
import { bucket } from './bucket.ts';
import type { Call } from './call.ts';
import { type Execution, executions } from './executions.ts';
import { publishTo } from './publication.ts';
import { rules } from './rules.ts';
import { configured, halfStack, machineOf, stack, stackMember } from './stack.ts';
import { answersOf, newWorld, type Part, type World } from './world.ts';

/** The start of the failed runs. */
export const LAST_NIGHT = '2026-11-20T01:00:00.000Z';

/** A deployment of the account, with the data that `status --all-deployments` reads. */
export interface FakeDeployment {
  name: string;
  /** The start of the newest run of each entity; other entities were never published. */
  published?: Partial<Record<Entity, string>>;
  /** Errors of the failed runs of `LAST_NIGHT`. */
  failed?: Partial<Record<Entity, string>>;
  /** The missing entities in the record of that night. */
  recorded?: Entity[];
  paused?: Entity[];
  /** Entities whose rule was deleted. */
  gone?: Entity[];
  alarms?: string[];
  /**
   * The fault: half deployed; the bucket refuses; the stack never answers; deleted last week; an update that did not
   * end.
   */
  trouble?: 'half' | 'denied' | 'silent' | 'deleted' | 'rolling back';
}

const STATUS: Record<string, string> = { deleted: 'DELETE_COMPLETE', 'rolling back': 'UPDATE_ROLLBACK_FAILED' };
const PAGE = 5;
/** All nights begin at 01:00 UTC, and a run may take six hours. */
const USUAL = configured({
  nightly: { spreadMinutes: 0 },
  polling: { deadlineSeconds: 21_600, largestWaitSeconds: 300 },
});
const stackOf = (name: string) => `crm-export-${name}`;
const topicOf = (name: string) => `arn:aws:sns:us-east-1:000000000000:${stackOf(name)}-topic`;

/** The parts of an account with many deployments. Each deployment's own parts answer its calls. */
export function fleet(all: FakeDeployment[]): Part[] {
  const listed = [{ name: 'CDKToolkit', status: 'UPDATE_COMPLETE' }, ...all.map(summaryOf)];
  const alarms = all.flatMap(({ name, alarms = [] }) => alarms.map((alarm) => alarmOf(name, alarm)));
  const parts = new Map(all.map((one) => [one.name, partsOf(one)]));
  const ofOne: Handler = (call) => answerOf(call, parts.get(nameOf(call)) ?? []);
  return [
    {
      ListStacks: ({ input }) => stackPage(listed, Number(input.NextToken ?? 0)),
      DescribeAlarms: { MetricAlarms: alarms },
      DescribeStacks: ofOne,
      GetTemplate: ofOne,
      '*': ofOne,
    },
  ];
}

/** The deployment of a call. Its stack, machine, executions, rules and bucket have the same name. */
function nameOf({ bucket, input: { StackName, stateMachineArn, executionArn, Name } }: Call): string {
  const asked = StackName ?? stateMachineArn ?? executionArn ?? Name ?? bucket;
  return NAME_IN.exec(String(asked))?.[1] ?? '';
}

const NAME_IN = new RegExp(`crm-export-(.+?)(-ExportRun.*|-(${ENTITIES.join('|')}))?$`);

function summaryOf({ name, trouble }: FakeDeployment) {
  return { name: stackOf(name), status: STATUS[trouble ?? ''] ?? 'UPDATE_COMPLETE' };
}

function stackPage(all: { name: string; status: string }[], from: number) {
  const members = all.slice(from, from + PAGE).map(({ name, status }) => stackMember(name, status));
  const next = from + PAGE < all.length ? `<NextToken>${from + PAGE}</NextToken>` : '';
  const summaries = `<StackSummaries>${members.join('')}</StackSummaries>`;
  return xml(`<ListStacksResponse><ListStacksResult>${summaries}${next}</ListStacksResult></ListStacksResponse>`);
}

function partsOf(one: FakeDeployment): Answers[] {
  const { name, failed = {}, published = {}, recorded, paused, gone, trouble } = one;
  if (trouble === 'half') return [halfStack()];
  const world = newWorld();
  for (const [entity, startedAt] of Object.entries(published)) publishNight(world, entity as Entity, startedAt);
  if (recorded) {
    const [key, night] = recordedNight(LAST_NIGHT.slice(0, 10), recorded);
    world.objects.set(key, Buffer.from(night));
  }
  const runs = Object.entries(failed).map(([entity, error]) => failedRun(entity, error));
  const parts = [
    stack(
      { StateMachineArn: machineOf(name), BucketName: stackOf(name), AlarmTopicArn: topicOf(name) },
      STATUS[trouble ?? ''],
    ),
    USUAL,
    executions(runs, { machine: machineOf(name) }),
    rules({ paused, gone }, name),
  ];
  return [
    ...(trouble === 'silent' ? [{ DescribeStacks: silent, '*': silent }] : []),
    ...(trouble === 'denied' ? [bucketRefuses('AccessDenied', 403)] : []),
    ...[...parts, bucket].map((part) => answersOf(part, world)),
  ];
}

function publishNight(world: World, entity: Entity, startedAt: string): void {
  const date = startedAt.slice(0, 10);
  publishTo(world, { entity, date, execution: `${entity}-${date}`, manifest: { startedAt } });
}

/** Distinguishes the alarms of deployments with the same prefix by their topics. */
function alarmOf(name: string, alarm: string) {
  return { AlarmName: `${stackOf(name)}-${alarm}`, AlarmActions: [topicOf(name)], StateValue: 'ALARM' };
}

function failedRun(entity: string, error: string): Execution {
  const stop = new Date(Date.parse(LAST_NIGHT) + 60_000).toISOString();
  const name = `${entity}-${LAST_NIGHT.replace(/[-:]|\.\d+/g, '')}-abcdef`;
  return { name, status: 'FAILED', input: { entity }, start: LAST_NIGHT, stop, error, cause: 'It went wrong.' };
}
