import { paginateListSubscriptionsByTopic, type Subscription } from '@aws-sdk/client-sns';
import { exceptedOf } from '../../core/config/chosen-columns.ts';
import { mailDigest } from '../../core/config/deployed.ts';
import type { Deployment } from '../../core/config/deployment.ts';
import { ENTITIES, type Entity } from '../../core/config/entities.ts';
import { eachOf } from '../../core/each-of.ts';
import type { Manifest } from '../../core/export/manifest.ts';
import { exceptedAmong } from '../../core/table/covered-columns.ts';
import { type Check, given, ifSeen, remark } from '../checks/check.ts';
import { type Finding, holds, warning } from '../checks/finding.ts';
import { RULES } from '../checks/rules.ts';
import { createManifests, ifReadable, type Manifests } from '../data/manifests.ts';
import { commandFor } from '../support/command-options.ts';
import type { Target, TargetOptions } from '../support/target.ts';
import { manyText } from '../support/text.ts';
import { type StandingTable, standingTables } from '../tables/standing-tables.ts';
import type { Doctoring } from './begin.ts';
import { NETWORK_CHECK } from './network.ts';

const READING = [
  's3:GetObject on `published/*`, `runs/*`',
  's3:ListBucket on the bucket',
  'kms:Decrypt on the key, through S3',
];

/** What a night needs besides the grant, and what readers have. A rule may be off on purpose: its night does not come all the same. */
export const NIGHT_CHECKS: Check<Doctoring>[] = [
  ifSeen(
    given(RULES, async ({ target, stack, options, known }: Doctoring) => {
      return { target, place: options, stack: await stack(), file: known?.file };
    }),
  ),
  NETWORK_CHECK,
  remark({
    id: 'alarm-addresses',
    question: 'Does anybody hear of alarms?',
    rights: ['sns:ListSubscriptionsByTopic on the topic of the alarms'],
    look: ({ target, deployment }) => alarmAddresses(target, deployment?.alarms.email),
  }),
  remark({
    id: 'tables',
    question: "Do the tables stand under today's settings of columns?",
    rights: [...READING, 's3:GetObject on `tables/*`'],
    look: ({ target, deployment, options }) => (deployment ? tablesFindings(target, deployment, options) : []),
  }),
  remark({
    id: 'left-out',
    question: 'Do published files have a column that is left out today?',
    rights: READING,
    look: ({ target, deployment }) => (deployment ? leftOutFindings(target, deployment) : []),
  }),
];

/**
 * Whether alarms reach anybody. Addresses are counted, not shown.
 * @param addresses digests of those that are deployed
 */
export async function alarmAddresses(
  { sns, AlarmTopicArn }: Pick<Target, 'sns' | 'AlarmTopicArn'>,
  addresses: string[] = [],
): Promise<Finding> {
  const subscriptions: Subscription[] = [];
  for await (const page of paginateListSubscriptionsByTopic({ client: sns }, { TopicArn: AlarmTopicArn })) {
    subscriptions.push(...(page.Subscriptions ?? []));
  }
  return addressesFinding(subscriptions, AlarmTopicArn, addresses);
}

function addressesFinding(subscriptions: Subscription[], topic: string, addresses: string[]): Finding {
  const waits = ({ SubscriptionArn = '' }: Subscription) => /^pending ?confirmation$/i.test(SubscriptionArn);
  const hears = ({ SubscriptionArn = '' }: Subscription) => SubscriptionArn.startsWith('arn:');
  const open = subscriptions.filter(waits).length;
  const confirmed = subscriptions.filter(hears).length;
  const known = subscriptions
    .filter((one) => waits(one) || hears(one))
    .map(({ Endpoint = '' }) => mailDigest(Endpoint));
  const lapsed = addresses.filter((address) => !known.includes(address)).length;
  // A deployment subscribes an address once: a lapsed subscription does not come back with the next.
  const subscribe = `aws sns subscribe --topic-arn ${topic} --protocol email --notification-endpoint ADDRESS`;
  if (confirmed + open === 0) {
    return warning(
      'Nobody hears of alarms: their topic has no address, or none that was confirmed in time.',
      `Set alarms.email in the configuration and deploy; where it has an address already: ${subscribe}.`,
    );
  }
  const text = [
    `Alarms go to ${manyText(confirmed, 'confirmed subscription')}`,
    ...(open > 0 ? [`${open} ${isOrAre(open)} not confirmed yet`] : []),
    ...(lapsed > 0 ? [`${lapsed} of alarms.email ${isOrAre(lapsed)} not subscribed`] : []),
  ].join('; ');
  if (open + lapsed === 0) return holds(`${text}.`);
  const confirm =
    'Follow the link in the mail "AWS Notification - Subscription Confirmation", which is good for two days; after that';
  const advice = [...(open > 0 ? [confirm] : []), ...(lapsed > 0 ? ['An address whose subscription is gone'] : [])];
  return warning(`${text}.`, advice.map((what) => `${what}: ${subscribe}.`).join(' '));
}

function isOrAre(count: number): string {
  return count === 1 ? 'is' : 'are';
}

/**
 * Whether the tables in the bucket stand under today's settings of what is readable. Nothing where there are no tables.
 */
export async function tablesFindings(
  target: Pick<Target, 's3' | 'BucketName'>,
  deployment: Pick<Deployment, 'entities'>,
  place: TargetOptions,
): Promise<Finding[]> {
  const found = await standingTables(target, deployment);
  if (found.length === 0) return [];
  const lagging = found.filter(({ settings }) => settings !== 'today');
  if (lagging.length === 0)
    return [holds(`${manyText(found.length, 'table')}: all stand under today's settings of columns.`)];
  return [...Map.groupBy(lagging, ({ entity }) => entity)].map(([entity, tables]) =>
    tablesFinding(entity, tables, place),
  );
}

function tablesFinding(entity: Entity, tables: StandingTable[], place: TargetOptions): Finding {
  const of = (wanted: StandingTable['settings']) => tables.filter(({ settings }) => settings === wanted);
  const other = of('other');
  const unknown = of('unknown');
  const left = of('left');
  const text = [
    ...said(other, 'stand under other settings of columns than today'),
    ...said(unknown, 'do not say under which settings they stand: an earlier release wrote them'),
    ...said(
      left,
      'stand under other settings, and nothing writes them again: they are of another version, or `tables` is gone',
    ),
  ];
  const again = `Write them again: ${commandFor(`table ${entity} --outdated`, place)}.`;
  const remove = 'Remove from the bucket what nothing writes again, or wait until the lifecycle rules do.';
  const advice = [...(other.length + unknown.length > 0 ? [again] : []), ...(left.length > 0 ? [remove] : [])];
  return { ...warning(`Tables of ${entity}: ${text.join('; ')}.`, advice.join(' ')), of: entity };
}

/** Dates that are named one by one. */
const MOST_NAMED = 10;

function said(tables: StandingTable[], what: string): string[] {
  if (tables.length === 0) return [];
  const named = tables.slice(0, MOST_NAMED).map(({ date }) => date);
  const more = tables.length - named.length;
  const dates = `${named.join(', ')}${more > 0 ? ` and ${more} more, up to ${tables.at(-1)?.date}` : ''}`;
  return [`${tables.length} ${what} (${dates})`];
}

/** Published files that still have a column which the configuration leaves out today, by their manifests. */
export async function leftOutFindings(
  target: Pick<Target, 's3' | 'BucketName'>,
  deployment: Deployment,
): Promise<Finding[]> {
  const manifests = createManifests(target);
  const findings: Finding[] = [];
  for (const entity of ENTITIES) {
    const except = exceptedOf(deployment.entities[entity]);
    if (except.length === 0) continue;
    findings.push(...leftOutFinding(entity, await publishedFiles(manifests, entity), except));
  }
  return findings;
}

/** Manifests of all published dates, oldest first. */
async function publishedFiles(manifests: Manifests, entity: Entity): Promise<Manifest[]> {
  const unreadable = () => undefined;
  const found = await eachOf(await manifests.dates(entity), async (date) => {
    const pointer = await ifReadable(manifests.pointer(entity, date), unreadable);
    return pointer && ifReadable(manifests.manifest(pointer.manifestKey), unreadable);
  });
  return found.filter((manifest) => manifest !== undefined);
}

function leftOutFinding(entity: Entity, published: Manifest[], except: string[]): Finding[] {
  const newest = published.slice(-1);
  const having = published.filter((manifest) => {
    // A file whose header is not known may have what was requested.
    const names = manifest.file.header ?? manifest.request.columns;
    return exceptedAmong(names, [manifest, ...newest], except).length > 0;
  });
  const first = having[0];
  const last = having.at(-1);
  if (!first || !last) return [];
  const kept = having.map(({ keptUntil }) => keptUntil).sort();
  const what = `${manyText(having.length, 'published file')} of ${entity} still ${having.length === 1 ? 'has' : 'have'} columns that the configuration leaves out today`;
  const dates = first === last ? first.date : `${first.date} to ${last.date}`;
  const advice = `Files stay as they were published, until ${kept.at(-1)} at the latest (retentionDays). Who must not see these columns must not read runs/ until then, or remove these files from the bucket.`;
  return [{ ...warning(`${what} (${dates}).`, advice), of: entity }];
}
