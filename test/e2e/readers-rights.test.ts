import {
  CreateBucketCommand,
  GetBucketLocationCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutBucketPolicyCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { policyOf } from '../../cli/readers/readers.ts';
import { baseKey, feedKey, headKey, recordKey } from '../../core/changes/chain/feed-keys.ts';
import type { Reader } from '../../core/config/settings.ts';
import { settingsDigest } from '../../core/config/settings-digest.ts';
import { publishedValue, tableValue } from '../../core/readers/reader-access.ts';
import { createBucket } from '../../core/storage/bucket.ts';
import { LOCAL_REGION } from '../../local/ministack/ministack-environment.ts';
import { fullDeployment } from '../../scripts/deployments.ts';
import { wholeStack } from '../permissions/support/stack.ts';
import { askAs, createUser, startEnforcingCloud } from './support/enforcing-cloud.ts';

/** Tests readers in other accounts with enforced rights: with the product's policy, and each with its own. */

const Bucket = 'exports-of-readers';
const OWNER = '000000000000';
const READER = '444455556666';
const MEMBER = '222233334444';
const [OF_ACCOUNT, OF_ROLE, OF_ORGANIZATION] = fullDeployment().readers as [Reader, Reader, Reader];
const place = { bucket: Bucket, keyArn: `arn:aws:kms:${LOCAL_REGION}:${OWNER}:key/1` };

const FILE = 'runs/entity=leads/run=a/leads.csv';
const MANIFEST = 'runs/entity=leads/run=a/_manifest.json';
const POINTER = 'published/entity=leads/latest.json';
const TABLE = 'tables/entity=leads/date=2026-11-20/leads.parquet';
const FEED = feedKey('leads', { date: '2026-11-20', run: 'a' });
const RECORD = recordKey('leads', { date: '2026-11-20', run: 'a' });
const COPY = baseKey('leads', 'a');
const HEAD = headKey('leads');
const STOPPED = 'runs/entity=leads/run=b/leads.csv';
const UPDATE = 'updates/batch/input.jsonl';
/** A table of other column settings. */
const OUTDATED = 'tables/entity=leads/date=2026-11-19/leads.parquet';
const ALL = [FILE, MANIFEST, POINTER, TABLE, FEED, RECORD, COPY, HEAD, STOPPED, UPDATE, OUTDATED];

let cloud: Awaited<ReturnType<typeof startEnforcingCloud>>;
let endpoint: string;
let owner: S3Client;
let organization: string;

const clientOf = (accessKeyId: string, secretAccessKey = 'local') =>
  new S3Client({
    endpoint,
    region: LOCAL_REGION,
    forcePathStyle: true,
    maxAttempts: 1,
    credentials: { accessKeyId, secretAccessKey },
  });

beforeAll(async () => {
  cloud = await startEnforcingCloud();
  endpoint = cloud.endpoint;
  owner = clientOf(OWNER);
  await owner.send(new CreateBucketCommand({ Bucket }));
  const bucket = createBucket(owner, Bucket);
  const { leads } = fullDeployment().entities;
  const tables = { today: tableValue('leads', settingsDigest(leads)), earlier: tableValue('leads', '0'.repeat(16)) };
  const tagged: Record<string, string> = { [OUTDATED]: tables.earlier };
  for (const key of [TABLE, FEED, RECORD]) tagged[key] = tables.today;
  for (const key of ALL) await bucket.putOnce(key, key, tagged[key]);
  for (const key of [FILE, MANIFEST]) await bucket.tag(key, publishedValue('leads', leads));
  const made = await askAs(endpoint, MEMBER, 'organizations', '{}', {
    'x-amz-target': 'AWSOrganizationsV20161128.DescribeOrganization',
  });
  organization = /"Id": ?"(o-[a-z0-9]+)"/.exec(made)?.[1] ?? '';
});
afterAll(() => cloud?.close());

/** A client in an account, with the policy that `readers` prints for it. */
async function readerIn(account: string, reader: Reader): Promise<S3Client> {
  const policy = policyOf([reader], fullDeployment(), place);
  const { accessKeyId, secretAccessKey } = await createUser(endpoint, account, `reader-${account}`, policy);
  return clientOf(accessKeyId, secretAccessKey);
}

/** The policy of the product without the rule against plain http, which all requests here use. */
async function givePolicy(without?: string): Promise<void> {
  const { names, policies } = wholeStack();
  const arn = names.arn(names.id('AWS::S3::Bucket', 'ExportsBucket'));
  const kept = policies.resources[arn]?.Statement.filter(
    (one) => one.Sid !== without && !/SecureTransport|TlsVersion/.test(JSON.stringify(one)),
  );
  const Policy = JSON.stringify({ Version: '2012-10-17', Statement: kept })
    .replaceAll(arn, `arn:aws:s3:::${Bucket}`)
    .replaceAll('o-a1b2c3d4e5', organization)
    .replaceAll('111122223333', OWNER);
  await owner.send(new PutBucketPolicyCommand({ Bucket, Policy }));
}

/** The prefixes of tables that a reader may list. */
const LISTED = ['published/entity=leads/', 'tables/entity=leads/', 'changes/entity=leads/date='];
const LISTS = LISTED.map((prefix) => `list ${prefix}`);

/** The objects that a client can read. */
async function readBy(client: S3Client): Promise<string[]> {
  const looks: [string, () => Promise<unknown>][] = [
    ...ALL.map((Key): [string, () => Promise<unknown>] => [
      Key,
      async () => (await client.send(new GetObjectCommand({ Bucket, Key }))).Body?.transformToString(),
    ]),
    ...[...LISTED, 'changes/entity=leads/', 'runs/', ''].map((Prefix): [string, () => Promise<unknown>] => [
      `list ${Prefix}`,
      () => client.send(new ListObjectsV2Command({ Bucket, Prefix })),
    ]),
    ['location', () => client.send(new GetBucketLocationCommand({ Bucket }))],
  ];
  const read: string[] = [];
  for (const [what, look] of looks) {
    const error = await look().then(
      () => undefined,
      (refused: Error) => refused.name,
    );
    expect([undefined, 'AccessDenied'], what).toContain(error);
    if (error === undefined) read.push(what);
  }
  return read;
}

const TABLES = [POINTER, TABLE, FEED, RECORD, ...LISTS, 'location'];
const FILES = [FILE, MANIFEST, POINTER, 'list published/entity=leads/'];

test('an account can read only tagged tables and feeds, an organization only tagged files', async () => {
  await givePolicy();

  expect(await readBy(await readerIn(READER, OF_ACCOUNT))).toEqual(TABLES);
  expect(await readBy(await readerIn(MEMBER, OF_ORGANIZATION))).toEqual(FILES);
  // Even the root users of the accounts get no other rights. Here the root stands for roles other than the reader's.
  expect(await readBy(clientOf(READER))).toEqual(TABLES);
  expect(await readBy(clientOf(MEMBER))).toEqual(FILES);
  expect(await readBy(clientOf(String(OF_ROLE.principal).slice(13, 25)))).toEqual([]);
  expect(await readBy(clientOf('888899990000'))).toEqual([]);
});

test.each([
  ['Readers1Reads', READER, [TABLE, FEED, RECORD, ...LISTS]],
  ['Readers1Lists', READER, [POINTER, TABLE, FEED, RECORD, 'location']],
  ['Readers1Tag', READER, [POINTER, ...LISTS, 'location']],
  ['Readers3Reads', MEMBER, [FILE, MANIFEST, 'list published/entity=leads/']],
  ['Readers3Lists', MEMBER, [FILE, MANIFEST, POINTER]],
  ['Readers3Tag', MEMBER, [POINTER, 'list published/entity=leads/']],
])('refuses the reads of the statement %s without it', async (sid, account, rest) => {
  await givePolicy(sid);

  expect(await readBy(clientOf(account))).toEqual(rest);
});

test('refuses a file whose tag was removed', async () => {
  await givePolicy();
  await createBucket(owner, Bucket).tag(FILE, 'false');

  expect(await readBy(clientOf(MEMBER))).toEqual(FILES.slice(1));
});
