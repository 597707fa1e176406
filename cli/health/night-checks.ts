import { paginateListSubscriptionsByTopic, type Subscription } from '@aws-sdk/client-sns';
import { exceptedOf } from '../../core/config/chosen-columns.ts';
import { mailDigest } from '../../core/config/deployed.ts';
import type { Deployment } from '../../core/config/deployment.ts';
import { ENTITIES, type Entity } from '../../core/config/entities.ts';
import { whyWithheld } from '../../core/readers/withheld.ts';
import { createManifests, type PublishedRun, publishedManifests } from '../data/stored-manifests.ts';
import { commandFor } from '../support/command-options.ts';
import type { Target, TargetOptions } from '../support/target.ts';
import { manyText } from '../support/text.ts';
import { countsText, type DerivedObject, derivedObjects } from '../tables/derived-objects.ts';
import type { Doctoring } from './doctor-look.ts';
import { about, type Check, type Finding, given, holds, ifSeen, remark, warning } from './health-check.ts';
import { NETWORK_CHECK } from './network-checks.ts';
import { RULES } from './nightly-rules.ts';

const READING = [
  's3:GetObject on `published/*`, `runs/*`',
  's3:ListBucket on the bucket',
  'kms:Decrypt on the key, through S3',
];

/** Checks of a nightly run besides the grant, and of published data. A rule that a person paused fails too. */
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
    id: 'column-settings',
    question: 'Was everything that readers have written under the column settings of today?',
    rights: [...READING, 's3:GetObject on `tables/*`', 's3:GetObject on `changes/*`'],
    look: ({ target, deployment, options }) => (deployment ? settingsFindings(target, deployment, options) : []),
  }),
];

/**
 * Checks whether alarms reach a person. Addresses are counted, not shown.
 * @param addresses digests of the deployed addresses
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
  // CloudFormation subscribes an address once: the next deployment does not renew a lapsed subscription.
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
 * Counts published files, tables, feeds and copied tables that were written under other column settings than the
 * current ones. A file counts if it has, or may have, a column that is left out now.
 * @returns a finding for each entity; empty if there is nothing to check
 */
export async function settingsFindings(
  target: Pick<Target, 's3' | 'BucketName'>,
  deployment: Deployment,
  place: TargetOptions,
): Promise<Finding[]> {
  const manifests = createManifests(target);
  const all = await derivedObjects(target, deployment);
  const findings: Finding[] = [];
  for (const entity of ENTITIES) {
    const plan = deployment.entities[entity];
    const lagging = all.filter((object) => object.entity === entity && object.then !== 'keep');
    const { published, newest } =
      exceptedOf(plan).length > 0
        ? await publishedManifests(manifests, entity, () => undefined)
        : { published: [], newest: undefined };
    const files = published.filter(({ manifest }) => whyWithheld(manifest, plan, newest) !== undefined);
    if (files.length + lagging.length > 0) findings.push(settingsFinding(entity, files, lagging, deployment, place));
  }
  if (findings.length > 0 || all.length === 0) return findings;
  return [holds(`${countsText(all)}: all of the column settings of today, as are published files.`)];
}

const DAY_MS = 24 * 3_600_000;

function settingsFinding(
  entity: Entity,
  files: PublishedRun[],
  objects: DerivedObject[],
  { retentionDays }: Pick<Deployment, 'retentionDays'>,
  place: TargetOptions,
): Finding {
  const counts = [...(files.length > 0 ? [manyText(files.length, 'published file')] : []), countsText(objects)];
  const endOf = (at: Date) => new Date(at.getTime() + retentionDays * DAY_MS).toISOString().slice(0, 10);
  const ends = [
    ...files.map(({ manifest }) => manifest.run.keptUntil),
    ...objects.flatMap(({ at }) => (at ? [endOf(at)] : [])),
  ];
  const dates = [...files.map(({ manifest }) => manifest.run.date), ...objects.map(({ date }) => date)]
    .filter(Boolean)
    .sort();
  const between = dates.length > 0 ? ` (${[...new Set([dates[0], dates.at(-1)])].join(' to ')})` : '';
  const found = `Of ${entity}, ${counts.filter(Boolean).join(', ')} were written under other column settings than those of today${between}. They are kept until ${ends.sort().at(-1)} at the latest.`;
  const outdated = `Write tables again, and remove feeds and copied tables: ${commandFor(`table ${entity} --outdated`, place)}.`;
  const stored =
    'Files stay as they were published. Who must not see these columns must not read runs/ until then; to remove files earlier: docs/removing-a-customer.md.';
  const advice = [...(objects.length > 0 ? [outdated] : []), ...(files.length > 0 ? [stored] : [])];
  return about(entity, warning(found, advice.join(' ')));
}
