import type { Deployment } from '../../core/config/deployment.ts';
import type { Reader } from '../../core/config/reader-settings.ts';
import { entitiesOf, readableKeys } from '../../core/readers/readers.ts';
import { readStack } from '../checks/deployed-stack.ts';
import { CommandError, ENVIRONMENT } from '../support/exit.ts';
import type { Target } from '../support/target.ts';

/** What policies name of a deployment. */
export interface SharedPlace {
  bucket: string;
  keyArn: string;
}

/** @throws CommandError (exit code 3) where the stack has no key */
export async function sharedPlace(target: Pick<Target, 'cloudformation' | 'stack' | 'BucketName' | 'StateMachineArn'>) {
  const [key] = (await readStack(target)).ofType('AWS::KMS::Key');
  if (!key) throw new CommandError(`The stack ${target.stack} has no key: deploy this release.`, ENVIRONMENT);
  const [, partition, , region, account] = target.StateMachineArn.split(':');
  return { bucket: target.BucketName, keyArn: `arn:${partition}:kms:${region}:${account}:key/${key.physicalId}` };
}

type Reads = Pick<Reader, 'entities' | 'of'>;

/**
 * The policy that a role of a reader needs in its own account: AWS asks both accounts. As narrow as the policies of bucket and key, but for
 * the tag of published files, which these alone look at.
 * @param reads all that the reader may read
 * @param deployment knows which entities have feeds
 */
export function policyOf(reads: Reads[], deployment: Pick<Deployment, 'entities'>, { bucket, keyArn }: SharedPlace) {
  const [, partition = 'aws', , region] = keyArn.split(':');
  const bucketArn = `arn:${partition}:s3:::${bucket}`;
  const keys = reads.map((read) => readableKeys(read, deployment));
  const plain = keys.flatMap((each) => each.plain);
  const viaS3 = {
    'kms:ViaService': `s3.${region}.amazonaws.com${partition === 'aws-cn' ? '.cn' : ''}`,
    'kms:EncryptionContext:aws:s3:arn': bucketArn,
  };
  const allow = (Action: string, Resource: string | string[], Condition?: object) => {
    return { Effect: 'Allow', Action, Resource, ...(Condition && { Condition }) };
  };
  const objects = [...plain, ...keys.flatMap((each) => each.tagged)].map((key) => `${bucketArn}/${key}`);
  return {
    Version: '2012-10-17',
    Statement: [
      allow('s3:GetObject', objects),
      allow('s3:ListBucket', bucketArn, { StringLike: { 's3:prefix': plain } }),
      ...(reads.some(({ of }) => of.includes('tables')) ? [allow('s3:GetBucketLocation', bucketArn)] : []),
      allow('kms:Decrypt', keyArn, { StringEquals: viaS3 }),
    ],
  };
}

/** What a reader can try then, with its own credentials: a pointer, which names what is to be read. */
export function commandToTry([first]: Pick<Reader, 'entities'>[], { bucket }: SharedPlace): string {
  const entity = first ? entitiesOf(first)[0] : '';
  return `aws s3 cp s3://${bucket}/published/entity=${entity}/latest.json -`;
}
