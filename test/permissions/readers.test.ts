import { describe, expect, test } from 'vitest';
import { policyOf } from '../../cli/readers/readers.ts';
import { baseKey } from '../../core/changes/feed-keys.ts';
import type { Reader } from '../../core/config/settings.ts';
import { settingsDigest } from '../../core/config/settings-digest.ts';
import { publishedValue, tableValue } from '../../core/readers/reader-access.ts';
import { fullDeployment } from '../../scripts/deployments.ts';
import { REGION } from './support/arns.ts';
import { decide, type ForeignRequest } from './support/decide.ts';
import { roleOfStep, wholeStack } from './support/policies.ts';

/** Readers in other accounts, each with the policy that `readers` prints for its account, at the policies that go to AWS. */

const { names, policies } = wholeStack();
const bucket = names.arn(names.id('AWS::S3::Bucket', 'ExportsBucket'));
const keyArn = names.arn(names.id('AWS::KMS::Key'));
const place = { bucket: bucket.replace('arn:aws:s3:::', ''), keyArn };
const readers = fullDeployment().readers as [Reader, Reader, Reader];

interface Who {
  principal: string;
  organization?: string;
  /** The rights from their own account. */
  policy: object;
}

const roleIn = (account: string, name: string) => `arn:aws:iam::${account}:role/${name}`;
const policyFor = (place_: number) => policyOf([readers[place_] as Reader], fullDeployment(), place);
const anyRole: Who = { principal: roleIn('444455556666', 'any'), policy: policyFor(0) };
const analyst: Who = { principal: roleIn('777788889999', 'data/analyst'), policy: policyFor(1) };
const member: Who = {
  principal: roleIn('222233334444', 'member'),
  organization: 'o-a1b2c3d4e5',
  policy: policyFor(2),
};
/** Allows every action, so that the policies of bucket and key alone decide. */
const ALL = { Statement: [{ Effect: 'Allow', Action: '*', Resource: '*' }] };
const all = (who: Who): Who => ({ ...who, policy: ALL });

type What = [action: string, resource: string, context?: Record<string, string>];
const object = (key: string, tag?: string): What => [
  's3:GetObject',
  `${bucket}/${key}`,
  tag === undefined ? {} : { 's3:existingobjecttag/published': tag },
];
const listing = (prefix: string): What => ['s3:ListBucket', bucket, { 's3:prefix': prefix }];
const WHERE: What = ['s3:GetBucketLocation', bucket];
const opening = (service: string): What => [
  'kms:Decrypt',
  keyArn,
  { 'kms:viaservice': `${service}.${REGION}.amazonaws.com`, 'kms:encryptioncontext:aws:s3:arn': bucket },
];
const FILE = 'runs/entity=leads/run=a/leads.csv';
const { leads, customers } = fullDeployment().entities;
const TODAY = publishedValue('leads', leads);
const TABLE_TODAY = tableValue('leads', settingsDigest(leads));
const MANIFEST = 'runs/entity=leads/run=a/_manifest.json';
const POINTERS = ['published/entity=leads/latest.json', 'published/entity=leads/date=2026-11-20.json'];
const TABLES = [
  'tables/entity=leads/date=2026-11-20/leads.parquet',
  'tables/v2/entity=leads/date=2026-11-20/leads.parquet',
];
const FEED = 'changes/entity=leads/date=2026-11-20/run=a';
const FEEDS = [`${FEED}/changes.parquet`, `${FEED}/_feed.json`];

const OF_POINTERS: What[] = [...POINTERS.map((key) => object(key)), listing('published/entity=leads/'), opening('s3')];
const OF_TABLES: What[] = [
  ...[...TABLES, ...FEEDS].map((key) => object(key, TABLE_TODAY)),
  listing('tables/entity=leads/date=2026-11-20/'),
  listing('changes/entity=leads/date=2026-11-20/'),
  WHERE,
];
const OF_FILES: What[] = [object(FILE, TODAY), object(MANIFEST, TODAY)];

type Reading = [who: string, Who, reads: What[], others: What[]];

/** The objects that the policies let them read, and objects that others may read. */
const READS: [Reading, ...Reading[]] = [
  [
    'an account that reads tables',
    anyRole,
    [...OF_POINTERS, ...OF_TABLES, object('published/entity=contacts/latest.json')],
    OF_FILES,
  ],
  ['a role that reads tables and files of leads', analyst, [...OF_POINTERS, ...OF_TABLES, ...OF_FILES], []],
  ['an organization that reads files of leads', member, [...OF_POINTERS, ...OF_FILES], OF_TABLES],
];

/** The objects that no reader may read, even if their own account allows everything. */
const NEVER: What[] = [
  object(FILE),
  object(FILE, 'false'),
  // The tag of other column settings, and that of another entity.
  object(FILE, 'true'),
  object(FILE, 'leads:0123456789abcdef'),
  object(FILE, publishedValue('customers', customers)),
  ...[...TABLES, ...FEEDS].flatMap((key) => [object(key), object(key, 'false'), object(key, 'leads/0123456789abcdef')]),
  object(MANIFEST),
  object('runs/entity=leads/run=a/_release.json'),
  object('runs/entity=customers/run=a/customers.csv', 'true'),
  object('changes/entity=leads/head.json'),
  object('changes/entity=leads/base/run=a.parquet'),
  // A run whose name looks like a date: names of runs are encoded.
  object(baseKey('leads', 'a/date=2026-11-20')),
  listing('changes/entity=leads/'),
  listing('changes/entity=leads/base/'),
  object('updates/batch/input.jsonl'),
  object('updates/batch/input.jsonl', 'true'),
  listing(''),
  listing('runs/entity=leads/'),
  listing('updates/'),
  ['s3:GetObjectVersion', `${bucket}/${TABLES[0]}`],
  ['s3:PutObject', `${bucket}/${TABLES[0]}`],
  ['s3:PutObjectTagging', `${bucket}/${FILE}`],
  ['s3:DeleteObject', `${bucket}/${TABLES[0]}`],
  ['kms:Decrypt', keyArn],
  opening('secretsmanager'),
  opening('dynamodb'),
  ['kms:GenerateDataKey', keyArn, { 'kms:viaservice': `s3.${REGION}.amazonaws.com` }],
];

function request({ principal, organization, policy }: Who, [action, resource, context]: What): ForeignRequest {
  const said = { 's3:tlsversion': '1.3', ...(organization && { 'aws:principalorgid': organization }), ...context };
  return { principal, policy, action, resource, context: said };
}

async function allowed(who: Who, whats: What[]): Promise<What[]> {
  const { requests } = await decide(
    policies,
    whats.map((what) => request(who, what)),
  );
  return whats.filter((_, index) => requests[index] === 'Allow');
}

describe.each(READS)('%s', (_, who, reads, others) => {
  test('may read its objects with the policy printed for its account', async () => {
    expect(await allowed(who, reads)).toEqual(reads);
  });

  test('may read no other object, even if its account allows everything', async () => {
    expect(await allowed(all(who), [...NEVER, ...others])).toEqual([]);
  });

  test('may read no object without a policy of its account, or over plain http', async () => {
    expect(await allowed({ ...who, policy: { Statement: [] } }, reads)).toEqual([]);
    const plain = reads
      .filter(([action]) => action.startsWith('s3:'))
      .map(([action, resource, context]): What => [action, resource, { ...context, 'aws:securetransport': 'false' }]);
    expect(await allowed(all(who), plain)).toEqual([]);
  });
});

test('other roles and accounts, and principals outside the organization, may read no object', async () => {
  const others: Who[] = [
    { ...analyst, principal: roleIn('777788889999', 'analyst') },
    { ...analyst, principal: roleIn('777788889999', 'data/analyst-2') },
    { ...analyst, principal: roleIn('777788889990', 'data/analyst') },
    { ...anyRole, principal: roleIn('444455556667', 'any') },
    { ...member, organization: 'o-a1b2c3d4e6' },
    { principal: member.principal, policy: ALL },
  ];
  const reads = [...OF_POINTERS, ...OF_TABLES, ...OF_FILES];
  const requests = others.flatMap((who) => reads.map((what) => request(all(who), what)));
  const { requests: decisions } = await decide(policies, requests);

  expect(requests.filter((_, index) => decisions[index] === 'Allow')).toEqual([]);
});

test('a role of the own account gets no right through the organization', async () => {
  const insider: Who = { ...member, principal: roleOfStep(names, 'CheckStatus'), policy: { Statement: [] } };

  expect(await allowed(insider, [...OF_POINTERS, ...OF_FILES])).toEqual([]);
});
