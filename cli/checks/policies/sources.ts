import { GetKeyPolicyCommand } from '@aws-sdk/client-kms';
import { GetBucketPolicyCommand } from '@aws-sdk/client-s3';
import { GetTopicAttributesCommand } from '@aws-sdk/client-sns';
import { GetQueueAttributesCommand } from '@aws-sdk/client-sqs';
import type { Target } from '../../support/target.ts';
import type { DeployedStack, Resource } from '../deployed-stack.ts';

/** A policy of the template, and how the one in the account is read. */
export interface PolicySource {
  /** What has it: `bucket NAME`. */
  what: string;
  /** As the template has it, with its references. */
  wanted: unknown;
  /** The text of the live one; `undefined` where there is none. */
  read: () => Promise<string | undefined>;
}

export type Reading = Pick<Target, 's3' | 'kms' | 'sqs' | 'sns' | 'iam'>;

export const SOURCE_RIGHTS = [
  's3:GetBucketPolicy on both buckets',
  'kms:GetKeyPolicy on the key',
  'sqs:GetQueueAttributes on the queues',
  'sns:GetTopicAttributes on the topic of the alarms',
];

/** The policies that resources have, which the template gives each of them. @param resolved a value without its references */
export function policySources(
  { s3, kms, sqs, sns }: Reading,
  stack: DeployedStack,
  resolved: (value: unknown) => unknown,
): PolicySource[] {
  const texts = (value: unknown) => [resolved(value)].flat().map(String);
  const bucket = ({ properties }: Resource) => {
    return texts(properties.Bucket).map((Bucket) => ({
      what: `bucket ${Bucket}`,
      wanted: properties.PolicyDocument,
      read: () => s3.send(new GetBucketPolicyCommand({ Bucket })).then(({ Policy }) => Policy, unlessNone),
    }));
  };
  const key = ({ properties, physicalId: KeyId }: Resource): PolicySource => ({
    what: `key ${KeyId}`,
    wanted: properties.KeyPolicy,
    read: async () => (await kms.send(new GetKeyPolicyCommand({ KeyId, PolicyName: 'default' }))).Policy,
  });
  const queues = ({ properties }: Resource) => {
    return texts(properties.Queues).map((QueueUrl) => ({
      what: `queue ${QueueUrl.split('/').at(-1)}`,
      wanted: properties.PolicyDocument,
      read: async () => {
        const look = new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ['Policy'] });
        return (await sqs.send(look)).Attributes?.Policy;
      },
    }));
  };
  const topics = ({ properties }: Resource) => {
    return texts(properties.Topics).map((TopicArn) => ({
      what: `topic ${TopicArn.split(':').at(-1)}`,
      wanted: properties.PolicyDocument,
      read: async () => (await sns.send(new GetTopicAttributesCommand({ TopicArn }))).Attributes?.Policy,
    }));
  };
  return [
    ...stack.ofType('AWS::S3::BucketPolicy').flatMap(bucket),
    ...stack.ofType('AWS::KMS::Key').map(key),
    ...stack.ofType('AWS::SQS::QueuePolicy').flatMap(queues),
    ...stack.ofType('AWS::SNS::TopicPolicy').flatMap(topics),
  ];
}

function unlessNone(error: unknown): undefined {
  if (!(error instanceof Error && error.name === 'NoSuchBucketPolicy')) throw error;
}
