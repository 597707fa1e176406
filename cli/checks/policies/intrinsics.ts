import type { DeployedStack, Resource } from '../deployed-stack.ts';
import { CannotTell } from '../finding.ts';

/** Where a stack is: of it are the parts of an ARN that its template does not name. */
export interface Place {
  partition: string;
  region: string;
  account: string;
}

/** @param arn of any resource of the stack */
export function placeOf(arn: string): Place {
  const [, partition = '', , region = '', account = ''] = arn.split(':');
  return { partition, region, account };
}

/** A value of a template with its references replaced by what they name in the account. @throws CannotTell where one is not known here */
export function resolve(value: unknown, stack: DeployedStack, place: Place): unknown {
  if (Array.isArray(value)) return value.map((one) => resolve(one, stack, place));
  if (typeof value !== 'object' || value === null) return value;
  const [[name, of] = ['', undefined], ...more] = Object.entries(value);
  if (more.length === 0 && (name === 'Ref' || name.startsWith('Fn::'))) return called(name, of, stack, place);
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, resolve(one, stack, place)]));
}

function called(name: string, of: unknown, stack: DeployedStack, place: Place): unknown {
  if (name === 'Ref') return pseudo(place)[String(of)] ?? referred(of, stack).physicalId;
  const [first, second] = [resolve(of, stack, place)].flat();
  if (name === 'Fn::Join' && Array.isArray(second)) return second.join(String(first));
  if (name === 'Fn::Split') return String(second).split(String(first));
  if (name === 'Fn::Select' && Array.isArray(second)) return second[Number(first)];
  if (name === 'Fn::GetAtt' && second === 'Arn') return arnOf(referred(first, stack), place);
  throw new CannotTell(`the template says ${name} where this check does not know what that is`);
}

/** https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/pseudo-parameter-reference.html */
function pseudo({ partition, region, account }: Place): Record<string, string> {
  return {
    'AWS::AccountId': account,
    'AWS::Partition': partition,
    'AWS::Region': region,
    'AWS::URLSuffix': partition === 'aws-cn' ? 'amazonaws.com.cn' : 'amazonaws.com',
  };
}

function referred(logicalId: unknown, stack: DeployedStack): Resource {
  const resource = stack.named(String(logicalId));
  if (resource?.physicalId) return resource;
  throw new CannotTell(`the template names ${logicalId}, which the stack does not have`);
}

function arnOf({ type, physicalId }: Resource, { partition, region, account }: Place): string {
  if (physicalId.startsWith('arn:')) return physicalId;
  // The physical id of a queue is its address.
  const id = type === 'AWS::SQS::Queue' ? physicalId.split('/').at(-1) : physicalId;
  const arns: Record<string, string> = {
    'AWS::DynamoDB::GlobalTable': `dynamodb:${region}:${account}:table/${id}`,
    'AWS::Events::Rule': `events:${region}:${account}:rule/${id}`,
    'AWS::IAM::Role': `iam::${account}:role/${id}`,
    'AWS::KMS::Key': `kms:${region}:${account}:key/${id}`,
    'AWS::Logs::LogGroup': `logs:${region}:${account}:log-group:${id}:*`,
    'AWS::S3::Bucket': `s3:::${id}`,
    'AWS::SQS::Queue': `sqs:${region}:${account}:${id}`,
  };
  const rest = arns[type];
  if (rest === undefined) throw new CannotTell(`the template names a ${type}, whose ARN this check does not know`);
  return `arn:${partition}:${rest}`;
}
