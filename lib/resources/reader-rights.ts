import { Stack } from 'aws-cdk-lib';
import * as iam from 'aws-cdk-lib/aws-iam';
import type { Bucket } from 'aws-cdk-lib/aws-s3';
import type { Deployment } from '../../core/config/deployment.ts';
import type { Reader } from '../../core/config/settings.ts';
import { canonicalText } from '../../core/json.ts';
import { kindOf, readableBy, readerName } from '../../core/readers/reader-access.ts';
import { PUBLISHED_TAG } from '../../core/storage/bucket.ts';

type Conditions = Record<string, Record<string, string | string[]>>;

/** Gives every configured reader access to exactly what its settings name (docs/adr/0040). */
export function allowReaders(bucket: Bucket, deployment: Deployment): void {
  const accessOf = ({ principal, ...reads }: Reader) => canonicalText({ kind: kindOf(principal), ...reads });
  // The size of policies is limited (lib/export-app.ts), so readers with the same access share statements.
  for (const [index, group] of [...Map.groupBy(deployment.readers, accessOf).values()].entries())
    allowGroup(bucket, `Readers${index + 1}`, group, deployment);
}

function allowGroup(bucket: Bucket, sid: string, group: Reader[], deployment: Deployment): void {
  const [reader] = group;
  if (!reader) return;
  const { region, urlSuffix, account } = Stack.of(bucket);
  const { principals, who } = whoAre(group, account);
  const statement = (part: string, actions: string[], resources: string[], more: Conditions = {}) => {
    const made = new iam.PolicyStatement({ sid: sid + part, principals, actions, resources, conditions: who });
    made.addConditions(more);
    return made;
  };
  const { pointers, listed, tagged, values } = readableBy(reader, deployment);
  const objects = (keys: string[]) => keys.map((pattern) => bucket.arnForObjects(pattern));
  const reads = statement('Reads', ['s3:GetObject'], objects(pointers));
  if (reader.of.includes('tables')) {
    // Athena asks for the region of the bucket.
    reads.addActions('s3:GetBucketLocation');
    reads.addResources(bucket.bucketArn);
  }
  const published = { StringEquals: { [`s3:ExistingObjectTag/${PUBLISHED_TAG}`]: values } };
  bucket.addToResourcePolicy(reads);
  const lists = { StringLike: { 's3:prefix': listed } };
  bucket.addToResourcePolicy(statement('Lists', ['s3:ListBucket'], [bucket.bucketArn], lists));
  bucket.addToResourcePolicy(statement('Tag', ['s3:GetObject'], objects(tagged), published));
  // The key policy cannot name the bucket, because the bucket names the key. In a key policy, `*` means this key.
  const viaS3 = { StringEquals: { 'kms:ViaService': `s3.${region}.${urlSuffix}` } };
  bucket.encryptionKey?.addToResourcePolicy(statement('Decrypts', ['kms:Decrypt'], ['*'], viaS3));
}

/** Roles are conditions, because AWS refuses a missing role as a principal. @param group of one kind */
function whoAre(group: Reader[], own: string): { principals: iam.IPrincipal[]; who: Conditions } {
  const names = group.map(readerName);
  const [kind] = group.map(({ principal }) => kindOf(principal));
  if (kind === 'organization') {
    // Excludes the deployment's account: there, a statement for everybody would grant access to all roles and users.
    const StringNotEquals = { 'aws:PrincipalAccount': own };
    return {
      principals: [new iam.StarPrincipal()],
      who: { StringNotEquals, StringEquals: { 'aws:PrincipalOrgID': names } },
    };
  }
  const accounts = new Set(names.map((name) => /^arn:[^:]+:iam::(\d+):/.exec(name)?.[1] ?? name));
  const who: Conditions = kind === 'role' ? { ArnEquals: { 'aws:PrincipalArn': names } } : {};
  return { principals: [...accounts].map((account) => new iam.AccountPrincipal(account)), who };
}
