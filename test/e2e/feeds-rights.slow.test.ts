import {
  DeleteBucketPolicyCommand,
  GetBucketPolicyCommand,
  PutBucketPolicyCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import { PutResourcePolicyCommand } from '@aws-sdk/client-secrets-manager';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { feedRecords } from '../../cli/changes/changes.ts';
import type { Run } from '../../cli/runs/run.ts';
import { clientSettings } from '../../cli/support/target.ts';
import { nightKey } from '../../core/night/night-record.ts';
import { once } from '../../core/step/step.ts';
import { createBucket } from '../../core/storage/bucket.ts';
import { bootstrap } from '../../local/cdk.ts';
import { LOCAL_ACCOUNT, LOCAL_REGION } from '../../local/ministack/ministack-environment.ts';
import { type Deployed, deployForTests } from './support/deployed.ts';
import { startEnforcingCloud } from './support/enforcing-cloud.ts';

/** Nights with feeds in a local cloud that enforces rights: each function has only the rights of its role. */

const DATE = '2026-11-20';
let enforcing: Awaited<ReturnType<typeof startEnforcingCloud>>;
let system: Deployed;
let policy: Policy;

interface Statement {
  Action: string | string[];
  Principal: { AWS?: string | string[] } | '*';
}
interface Policy {
  Statement: Statement[];
}

beforeAll(async () => {
  enforcing = await startEnforcingCloud();
  const cloud = { ...enforcing, bundles: inject('cloud').bundles };
  await bootstrap(cloud.endpoint);
  const Bucket = `cdk-hnb659fds-assets-${LOCAL_ACCOUNT}-${LOCAL_REGION}`;
  // The policy refuses plain http, which all requests here use.
  await new S3Client({ ...clientSettings({ endpointUrl: cloud.endpoint, region: LOCAL_REGION }) }).send(
    new DeleteBucketPolicyCommand({ Bucket }),
  );
  const polling = { firstWaitSeconds: 1, largestWaitSeconds: 1, deadlineSeconds: 120, createAgainSeconds: 1 };
  const entities = { leads: { tables: {}, changes: { key: 'id' } } };
  system = await deployForTests('feeds-rights', { polling, entities }, { rows: 30 }, undefined, cloud);
  await openSecrets();
  policy = await deployedPolicy();
  await givePolicy(policy);
});

afterAll(async () => {
  await system?.close();
  await enforcing?.close();
});

/**
 * Policies of roles name secrets by `Ref`: the ARN on AWS, but the name in the local cloud, which would deny all reads.
 */
async function openSecrets(): Promise<void> {
  const { secrets, ClientSecretId, TokensSecretId } = system.target;
  const open = { Effect: 'Allow', Principal: '*', Action: 'secretsmanager:*', Resource: '*' };
  const ResourcePolicy = JSON.stringify({ Version: '2012-10-17', Statement: [open] });
  for (const SecretId of [ClientSecretId, TokensSecretId])
    await secrets.send(new PutResourcePolicyCommand({ SecretId, ResourcePolicy }));
}

/** The policy of the bucket without the rule against plain http, which all requests here use. */
async function deployedPolicy(): Promise<Policy> {
  const { s3, BucketName: Bucket } = system.target;
  const { Policy = '' } = await s3.send(new GetBucketPolicyCommand({ Bucket }));
  const { Statement, ...rest } = JSON.parse(Policy) as Policy;
  return { ...rest, Statement: Statement.filter((one) => !/SecureTransport|TlsVersion/.test(JSON.stringify(one))) };
}

const givePolicy = (given: Policy) =>
  system.target.s3.send(
    new PutBucketPolicyCommand({ Bucket: system.target.BucketName, Policy: JSON.stringify(given) }),
  );

const ofAll = ({ Principal }: Pick<Statement, 'Principal'>) => (Principal === '*' ? [] : [Principal.AWS ?? []].flat());
const isWriteChanges = (arn: string) => arn.includes('WriteChanges');

/** The statement without the role of WriteChanges if other roles share it; otherwise no statement. */
function taken(statement: Statement): Statement[] {
  const AWS = ofAll(statement).filter((arn) => !isWriteChanges(arn));
  return AWS.length > 0 ? [{ ...statement, Principal: { AWS } }] : [];
}

const nameOf = ({ run }: Run) => run;

/** Two runs of a date. The first test that needs them makes them. */
const twoRuns = once(async () => {
  const first = await system.run('leads', { date: DATE });
  system.sandbox.settings.rows = 32;
  return [first, await system.run('leads', { date: DATE })] as const;
});

test('two runs of a date write tables, feeds and the record of the night with the rights of their roles', async () => {
  const [first, second] = await twoRuns();

  expect([first, second].map(({ status, error, cause }) => [status, error, cause])).toEqual(
    Array(2).fill(['SUCCEEDED', null, null]),
  );
  const bucket = createBucket(system.target.s3, system.target.BucketName);
  expect((await feedRecords(bucket, 'leads', 0)).feeds).toMatchObject([
    { sequence: 1, kind: 'snapshot', to: { run: nameOf(first) }, inserts: 30 },
    { sequence: 2, kind: 'changes', from: { run: nameOf(first) }, to: { run: nameOf(second) }, inserts: 2 },
  ]);
  const night = JSON.parse((await bucket.read(nightKey(DATE)))?.text ?? '');
  expect(night.entities.leads.feed.key).toContain(nameOf(second));
});

test('ends in ChangesNotWritten without a right of WriteChanges, and with it writes one feed', async () => {
  await twoRuns();
  // On AWS, the right to list tells an absent key from a forbidden one. The local cloud does not need it.
  const given = policy.Statement.filter(
    ({ Action, ...one }) => Action !== 's3:ListBucket' && ofAll(one).some(isWriteChanges),
  );
  expect(given).toHaveLength(2);

  for (const without of given) {
    await givePolicy({
      ...policy,
      Statement: policy.Statement.flatMap((one) => (one === without ? taken(one) : [one])),
    });
    const refused = await system.run('leads', { date: DATE });
    expect(refused, JSON.stringify(without)).toMatchObject({ status: 'FAILED', error: 'ChangesNotWritten' });
    expect(refused.cause).toContain('(AccessDenied)');
  }
  await givePolicy(policy);
  expect(await system.run('leads', { date: DATE })).toMatchObject({ status: 'SUCCEEDED' });
  const bucket = createBucket(system.target.s3, system.target.BucketName);
  const { feeds } = await feedRecords(bucket, 'leads', 0);
  expect(feeds.map(({ sequence }) => sequence)).toEqual([1, 2, 3]);
});
