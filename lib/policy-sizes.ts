import type { Stack } from 'aws-cdk-lib';
import { CfnKey } from 'aws-cdk-lib/aws-kms';
import { CfnBucketPolicy } from 'aws-cdk-lib/aws-s3';
import { ConfigurationError } from '../core/config/configuration.ts';

/** https://docs.aws.amazon.com/AmazonS3/latest/userguide/using-iam-policies.html */
const OF_BUCKET = 20 * 1024;
/** https://docs.aws.amazon.com/kms/latest/developerguide/resource-limits.html */
const OF_KEY = 32 * 1024;

/** The longest that stands in place of a reference: the ARN of a role whose name has 64 characters. */
const ARN = 'a'.repeat(95);
const PSEUDO: Record<string, string> = {
  'AWS::Partition': 'aws-us-gov',
  'AWS::Region': 'ap-southeast-1',
  'AWS::AccountId': '111122223333',
  'AWS::URLSuffix': 'amazonaws.com.cn',
};

/**
 * Refuses what AWS would refuse in the middle of a deployment.
 * @throws ConfigurationError with the size that a policy may have once its references are names
 */
export function refuseLargePolicies(stack: Stack): void {
  for (const resource of stack.node.findAll()) {
    if (resource instanceof CfnBucketPolicy) refuse(stack, 'the bucket', resource.policyDocument, OF_BUCKET);
    if (resource instanceof CfnKey) refuse(stack, 'the key', resource.keyPolicy, OF_KEY);
  }
}

function refuse(stack: Stack, whose: string, policy: unknown, most: number): void {
  const size = Buffer.byteLength(JSON.stringify(named(stack.resolve(policy))));
  if (size <= most) return;
  const [has, allowed] = [size, most].map((bytes) => bytes.toLocaleString('en'));
  throw new ConfigurationError(
    `readers: the policy of ${whose} may have ${has} bytes then, and AWS takes ${allowed}: name accounts or an organization in place of single roles, or "all" in place of entities`,
  );
}

/** A resolved value with a text for every reference. */
function named(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(named);
  if (typeof value !== 'object' || value === null) return value;
  const [[key, argument] = ['', undefined], ...more] = Object.entries(value);
  if (more.length === 0 && key === 'Ref') return PSEUDO[String(argument)] ?? ARN;
  if (more.length === 0 && key === 'Fn::GetAtt') return ARN;
  if (more.length === 0 && key === 'Fn::Join' && Array.isArray(argument)) {
    const parts: unknown = named(argument[1]);
    return Array.isArray(parts) ? parts.join(String(argument[0])) : ARN;
  }
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, named(part)]));
}
