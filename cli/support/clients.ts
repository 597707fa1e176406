import { createRequire } from 'node:module';
import type { AWS_LIMITS, limitsOf } from '../../core/aws/aws-limits.ts';
import { LEASE_LIMITS } from '../../core/aws/aws-limits.ts';

const require = createRequire(import.meta.url);
/** `require`, for a property has no time to wait for an import. */
const sdk = <Module>(name: string): Module => require(`@aws-sdk/client-${name}`);

type Settings = (typeof AWS_LIMITS | ReturnType<typeof limitsOf>) & {
  credentials?: { accessKeyId: string; secretAccessKey: string };
};

const makers = (settings: Settings) => {
  const lease = { ...settings, ...LEASE_LIMITS };
  return {
    sfn: () => new (sdk<typeof import('@aws-sdk/client-sfn')>('sfn').SFNClient)(settings),
    // The bucket's name goes into the path: in front of `localhost` it would make a host that no resolver finds.
    s3: () => {
      const forcePathStyle = 'credentials' in settings;
      return new (sdk<typeof import('@aws-sdk/client-s3')>('s3').S3Client)({ ...settings, forcePathStyle });
    },
    secrets: () =>
      new (sdk<typeof import('@aws-sdk/client-secrets-manager')>('secrets-manager').SecretsManagerClient)(lease),
    dynamo: () => new (sdk<typeof import('@aws-sdk/client-dynamodb')>('dynamodb').DynamoDBClient)(lease),
    logs: () =>
      new (sdk<typeof import('@aws-sdk/client-cloudwatch-logs')>('cloudwatch-logs').CloudWatchLogsClient)(settings),
    events: () => new (sdk<typeof import('@aws-sdk/client-eventbridge')>('eventbridge').EventBridgeClient)(settings),
    sns: () => new (sdk<typeof import('@aws-sdk/client-sns')>('sns').SNSClient)(settings),
    cloudformation: () =>
      new (sdk<typeof import('@aws-sdk/client-cloudformation')>('cloudformation').CloudFormationClient)(settings),
    cloudwatch: () => new (sdk<typeof import('@aws-sdk/client-cloudwatch')>('cloudwatch').CloudWatchClient)(settings),
    sqs: () => new (sdk<typeof import('@aws-sdk/client-sqs')>('sqs').SQSClient)(settings),
    ec2: () => new (sdk<typeof import('@aws-sdk/client-ec2')>('ec2').EC2Client)(settings),
  };
};

type Makers = ReturnType<typeof makers>;
/** The clients of the AWS services that commands use. */
export type Clients = { [Name in keyof Makers]: ReturnType<Makers[Name]> };

/** Each client is loaded and made at its first use: a command needs two or three, and all take longer than its work. */
export function lazyClients(settings: Settings): Clients {
  const made = {} as Clients;
  for (const [name, make] of Object.entries(makers(settings))) {
    const get = () => {
      const value = make();
      Object.defineProperty(made, name, { value, enumerable: true });
      return value;
    };
    Object.defineProperty(made, name, { get, enumerable: true, configurable: true });
  }
  return made;
}
