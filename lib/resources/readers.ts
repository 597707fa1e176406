import { Stack } from 'aws-cdk-lib';
import {
  AccountPrincipal,
  type Conditions,
  type IPrincipal,
  PolicyStatement,
  StarPrincipal,
} from 'aws-cdk-lib/aws-iam';
import type { Key } from 'aws-cdk-lib/aws-kms';
import type { Bucket } from 'aws-cdk-lib/aws-s3';
import type { Deployment } from '../../core/config/deployment.ts';
import type { Reader } from '../../core/config/reader-settings.ts';
import { PUBLISHED_TAG, readableKeys } from '../../core/export/readers.ts';

/** What the statements of a reader go to. */
interface Shared {
  bucket: Bucket;
  key: Key;
}

/** Lets every reader of the configuration read what it names, and nothing else (docs/adr/0040). */
export function allowReaders(shared: Shared, { readers }: Pick<Deployment, 'readers'>): void {
  for (const [index, reader] of readers.entries()) allowReader(shared, `Reader${index + 1}`, reader);
}

function allowReader({ bucket, key }: Shared, sid: string, reader: Reader): void {
  const { region, urlSuffix, account } = Stack.of(bucket);
  const { principal, equals, further } = whoIs(reader.principal, account);
  const statement = (part: string, action: string, resources: string[], more: Equals = {}, beside: Conditions = {}) => {
    const StringEquals = { ...equals, ...more };
    const conditions = { ...further, ...beside, ...(Object.keys(StringEquals).length > 0 && { StringEquals }) };
    return new PolicyStatement({ sid: sid + part, principals: [principal], actions: [action], resources, conditions });
  };
  const { plain, tagged } = readableKeys(reader);
  const objects = (keys: string[]) => keys.map((pattern) => bucket.arnForObjects(pattern));
  const prefixes = { StringLike: { 's3:prefix': plain } };
  const hasTag = { [`s3:ExistingObjectTag/${PUBLISHED_TAG}`]: 'true' };
  const ofBucket = [
    statement('Reads', 's3:GetObject', objects(plain)),
    statement('Lists', 's3:ListBucket', [bucket.bucketArn], {}, prefixes),
    // Athena asks where the bucket is.
    ...(reader.of.includes('tables') ? [statement('Locates', 's3:GetBucketLocation', [bucket.bucketArn])] : []),
    ...(tagged.length > 0 ? [statement('ReadsFiles', 's3:GetObject', objects(tagged), hasTag)] : []),
  ];
  for (const one of ofBucket) bucket.addToResourcePolicy(one);
  // Not for this bucket alone: it names the key, so that the key cannot name it. A `*` in a key's policy means this key.
  const viaS3 = { 'kms:ViaService': `s3.${region}.${urlSuffix}` };
  key.addToResourcePolicy(statement('Decrypts', 'kms:Decrypt', ['*'], viaS3));
}

/** Conditions that all have to hold: names of keys, each with its value. */
type Equals = Record<string, string>;

interface Who {
  principal: IPrincipal;
  equals: Equals;
  further: Conditions;
}

/** A role that is not there would be refused as a principal; as a condition it is not. */
function whoIs(reader: Reader['principal'], own: string): Who {
  if (typeof reader !== 'string') {
    // In the account itself, a statement for everybody would stand in for the policies of its roles and users.
    const further = { StringNotEquals: { 'aws:PrincipalAccount': own } };
    return { principal: new StarPrincipal(), equals: { 'aws:PrincipalOrgID': reader.organization }, further };
  }
  const [, account = reader] = /^arn:[^:]+:iam::(\d+):/.exec(reader) ?? [];
  const further: Conditions = reader === account ? {} : { ArnEquals: { 'aws:PrincipalArn': reader } };
  return { principal: new AccountPrincipal(account), equals: {}, further };
}
