import { createRequire } from 'node:module';
import type { CloudWatchLogsClient } from '@aws-sdk/client-cloudwatch-logs';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import type { LambdaClient } from '@aws-sdk/client-lambda';
import type { S3Client } from '@aws-sdk/client-s3';
import type { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import type { SFNClient } from '@aws-sdk/client-sfn';
import type { SNSClient } from '@aws-sdk/client-sns';
import type { AWS_LIMITS } from '../../core/aws/aws-limits.ts';
import { LEASE_LIMITS } from '../../core/aws/aws-limits.ts';

/** The clients of the AWS services that commands use. */
export interface Clients {
  sfn: SFNClient;
  s3: S3Client;
  secrets: SecretsManagerClient;
  dynamo: DynamoDBClient;
  logs: CloudWatchLogsClient;
  events: EventBridgeClient;
  sns: SNSClient;
  lambda: LambdaClient;
}

interface Sdk {
  'client-sfn': typeof import('@aws-sdk/client-sfn');
  'client-s3': typeof import('@aws-sdk/client-s3');
  'client-secrets-manager': typeof import('@aws-sdk/client-secrets-manager');
  'client-dynamodb': typeof import('@aws-sdk/client-dynamodb');
  'client-cloudwatch-logs': typeof import('@aws-sdk/client-cloudwatch-logs');
  'client-eventbridge': typeof import('@aws-sdk/client-eventbridge');
  'client-sns': typeof import('@aws-sdk/client-sns');
  'client-lambda': typeof import('@aws-sdk/client-lambda');
}

const require = createRequire(import.meta.url);
/** `require`, for a property has no time to wait for an import. */
const sdk = <Name extends keyof Sdk>(name: Name): Sdk[Name] => require(`@aws-sdk/${name}`);

type Settings = typeof AWS_LIMITS & { credentials?: { accessKeyId: string; secretAccessKey: string } };

/** Each client is loaded and made at its first use: a command needs two or three, and all take longer than its work. */
export function lazyClients(settings: Settings): Clients {
  const lease = { ...settings, ...LEASE_LIMITS };
  return lazily<Clients>({
    sfn: () => new (sdk('client-sfn').SFNClient)(settings),
    // With the bucket in front of its name, localhost is not found.
    s3: () => new (sdk('client-s3').S3Client)({ ...settings, forcePathStyle: 'credentials' in settings }),
    secrets: () => new (sdk('client-secrets-manager').SecretsManagerClient)(lease),
    dynamo: () => new (sdk('client-dynamodb').DynamoDBClient)(lease),
    logs: () => new (sdk('client-cloudwatch-logs').CloudWatchLogsClient)(settings),
    events: () => new (sdk('client-eventbridge').EventBridgeClient)(settings),
    sns: () => new (sdk('client-sns').SNSClient)(settings),
    lambda: () => new (sdk('client-lambda').LambdaClient)(settings),
  });
}

/** An object whose properties are made at their first use, once. */
function lazily<T extends object>(makers: { [Key in keyof T]: () => T[Key] }): T {
  const made = {} as T;
  for (const key of Object.keys(makers) as (keyof T)[]) {
    const get = () => {
      const value = makers[key]();
      Object.defineProperty(made, key, { value, enumerable: true });
      return value;
    };
    Object.defineProperty(made, key, { get, enumerable: true, configurable: true });
  }
  return made;
}
