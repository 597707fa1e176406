import { expect, test } from 'vitest';
import { alarmAddresses, rulesFinding, settingsFindings } from '../../../cli/health/night-checks.ts';
import { ENTITIES } from '../../../core/config/entities.ts';
import { settingsDigest } from '../../../core/config/settings-digest.ts';
import { deployment } from '../../support/builders.ts';
import { type ManifestChanges, manifestOf } from '../../support/manifests.ts';
import { bucketRefuses } from '../support/cloud/answers.ts';
import { awsWithTarget } from '../support/cloud/cloud.ts';
import { rules } from '../support/cloud/rules.ts';
import { OUTPUTS } from '../support/cloud/stack.ts';
import { subscriptions } from '../support/cloud/subscriptions.ts';
import type { Part } from '../support/cloud/world.ts';
import { expectFindings } from '../support/findings.ts';

/** The finding about the rules of a deployment, whose other settings have their defaults. */
async function foundOfRules(entities: object, ...parts: Part[]) {
  const { target } = await awsWithTarget(...parts);
  return rulesFinding(target, deployment({ entities }));
}

const OFF = { enabled: false };
const ALL_OFF = Object.fromEntries(ENTITIES.map((entity) => [entity, OFF]));
const other = { DescribeRule: { State: 'ENABLED', ScheduleExpression: 'rate(1 day)' } };

const RULES: [string, object, Part][] = [
  ['as they were deployed', {}, rules()],
  ['of an entity that is deployed as off', { leads: OFF }, rules({ paused: ['leads'] })],
  ['of entities that are all deployed as off', ALL_OFF, rules({ paused: [...ENTITIES] })],
  ['that a person paused', {}, rules({ paused: ['leads', 'meetings'] })],
  ['that are missing', {}, rules({ gone: ['leads'] })],
  ['that start at another time', {}, other],
  [
    'that start something else, without the queue',
    {},
    { ListTargetsByRule: { Targets: [{ Id: '1', Arn: 'arn:other' }] } },
  ],
  ['that are on, and deployed as off', { leads: OFF }, rules()],
];

test('nightly rules that a person changed are broken, with the command that restores them', async () => {
  const findings = RULES.map(async ([what, entities, part]) => [what, await foundOfRules(entities, part)] as const);

  await expectFindings('rule-findings', await Promise.all(findings));
});

const ARN = OUTPUTS.AlarmTopicArn;
const ADDRESSES = ['Ops@example.com', 'night@example.com'];

/** The ARNs of the subscriptions, by page, and the deployed addresses. */
const TOPICS: [what: string, pages: string[][], addresses?: string[]][] = [
  ['confirmed, on two pages', [[`${ARN}:1`], [`${ARN}:2`]]],
  ['one of two, the other not confirmed', [[`${ARN}:1`, 'PendingConfirmation']], ADDRESSES],
  ['one of two, the other unsubscribed', [[`${ARN}:1`, 'Deleted']], ADDRESSES],
  ['the only deployed one', [[`${ARN}:1`, 'Deleted']], ADDRESSES.slice(0, 1)],
  ['digests of addresses, which an earlier release deployed', [[`${ARN}:1`]], ['0a1b2c3d']],
  ['none', [[]]],
  ['all unsubscribed', [['Deleted']], ADDRESSES],
];

test('alarms reach a person if every address has a confirmed subscription; no address is shown', async () => {
  const findings = TOPICS.map(async ([what, pages, addresses]) => {
    const { target } = await awsWithTarget({
      ListSubscriptionsByTopic: ({ input: { NextToken = 0 } }) => {
        const next = Number(NextToken) + 1;
        return subscriptions(pages[next - 1] ?? [], 'ops@example.com', next < pages.length ? String(next) : undefined);
      },
    });
    return [what, await alarmAddresses(target, addresses)] as const;
  });

  await expectFindings('alarm-findings', await Promise.all(findings));
  expect(JSON.stringify(await Promise.all(findings))).not.toMatch(/ops@|night@/i);
});

const OTHER = 'bbbbbbbbbbbbbbbb';
const LEADS = { columns: { except: ['id_number'] }, tables: { hash: ['id'] } };
const TODAY = settingsDigest(deployment({ entities: { leads: LEADS } }).entities.leads);

const table = (date: string, folder = 'entity=leads') => `tables/${folder}/date=${date}/leads.parquet`;
const feed = (date: string) => `changes/entity=leads/date=${date}/run=leads-${date}/changes.parquet`;
const copy = (date: string) => `changes/entity=leads/base/run=leads-${date}.parquet`;

interface Bucket {
  /** Digests of Parquet files by key; '' for a file of an earlier release. */
  objects?: Record<string, string>;
  files?: Record<string, ManifestChanges>;
}

async function said({ objects = {}, files = {} }: Bucket, leads: object = LEADS, ...refusals: Part[]) {
  const cloud = await awsWithTarget(...refusals);
  for (const [key, digest] of Object.entries(objects)) {
    cloud.objects.set(key, Buffer.from('PAR1'));
    cloud.written.set(key, '2026-11-21T02:00:00.000Z');
    if (digest !== '') cloud.metadata.set(key, { settings: digest });
  }
  for (const [date, manifest] of Object.entries(files))
    cloud.publish({ date, execution: `leads-${date}`, manifest: { keptUntil: `2027-${date.slice(5)}`, ...manifest } });
  return settingsFindings(cloud.target, deployment({ retentionDays: 90, entities: { leads } }));
}

const fields = ['id', 'idNumber'].map((name) => ({ name, type: null, label: `the ${name}` }));
const { content } = manifestOf().file;
const counted = content && { ...content, excepted: 0, unlisted: 0 };
const having: ManifestChanges = { fields, file: { header: ['id', 'idNumber'], content: counted } };
const without: ManifestChanges = { fields, file: { header: ['id'], content: counted && { ...counted, width: 2 } } };

const excepted = [{ entry: 'nationalId', name: 'idNumber', label: null }];
const unknown = { fields, request: { columns: ['id', 'idNumber'] }, file: { header: null } };
const older = { '2026-11-18': having };

const SETTINGS: [string, Bucket, object?][] = [
  ['nothing that left-out columns concern', { files: { '2026-11-20': without } }],
  ['files with the column, of an entity that leaves out none', { files: older }, {}],
  ['objects of today', { objects: Object.fromEntries([table, feed, copy].map((key) => [key('2026-11-20'), TODAY])) }],
  [
    'files, tables and feeds of earlier settings',
    {
      objects: {
        ...{ [table('2026-11-18')]: OTHER, [table('2026-11-19')]: '', [table('2026-11-20')]: TODAY },
        ...{ [feed('2026-11-19')]: OTHER, [feed('2026-11-20')]: TODAY },
        ...{ [copy('2026-11-18')]: '', [copy('2026-11-19')]: OTHER },
        ...{ 'changes/entity=leads/head.json': '', [`${feed('2026-11-19').slice(0, -15)}_feed.json`]: '' },
      },
      files: { '2026-11-16': having, '2026-11-17': having, '2026-11-20': without },
    },
  ],
  ['a table, kept for retentionDays', { objects: { [table('2026-11-18')]: OTHER } }],
  [
    'a column that only the newest manifest names',
    { files: { ...older, '2026-11-20': { ...without, excepted } } },
    { columns: { except: ['nationalId'] } },
  ],
  ['a file with an unknown header, whose request had the column', { files: { '2026-11-18': unknown } }],
  ['a table of an earlier version', { objects: { [table('2026-11-18', 'v2/entity=leads')]: OTHER } }],
  ['a table of an entity without tables', { objects: { [table('2026-11-18', 'entity=contacts')]: OTHER } }],
];

test('counts what was written under earlier column settings, and until when it is kept', async () => {
  const findings = SETTINGS.map(async ([what, bucket, leads]) => [what, ...(await said(bucket, leads))] as const);

  await expectFindings('settings-findings', await Promise.all(findings));
});

test('fails if the bucket denies access', async () => {
  await expect(said({}, LEADS, bucketRefuses('AccessDenied', 403))).rejects.toThrow(/AccessDenied/);
});
