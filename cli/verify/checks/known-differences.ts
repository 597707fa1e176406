import type { PropertyDifference, StackResourceDrift } from '@aws-sdk/client-cloudformation';
import { ListTargetsByRuleCommand } from '@aws-sdk/client-eventbridge';
import { GetBucketNotificationConfigurationCommand } from '@aws-sdk/client-s3';
import { jsonOrUndefined } from '../../../core/json.ts';
import type { Target } from '../../support/target.ts';

/** What CloudFormation reports of a fresh stack, although it is in the account as in the template. */
interface KnownDifference {
  type: string;
  path: RegExp;
  /** Who has seen it. */
  source: string;
  /** Whether it is none in this account. */
  isNone: (difference: PropertyDifference, PhysicalResourceId: string, target: Target) => boolean | Promise<boolean>;
}

export const KNOWN_DIFFERENCES_RIGHTS = [
  's3:GetBucketNotification on the bucket',
  'events:ListTargetsByRule on the rules',
];

const KNOWN_DIFFERENCES: KnownDifference[] = [
  {
    type: 'AWS::DynamoDB::GlobalTable',
    path: /^\/Replicas\/\d+\/SSESpecification\/KMSMasterKeyId$/,
    source: 'https://github.com/aws/aws-cdk/issues/35136',
    // The id of a key, and its ARN.
    isNone: ({ ExpectedValue = '', ActualValue = '' }) => keyIdOf(ExpectedValue) === keyIdOf(ActualValue),
  },
  {
    type: 'AWS::S3::Bucket',
    path: /^\/NotificationConfiguration(\/EventBridgeConfiguration)?(\/EventBridgeEnabled)?$/,
    source: 'https://github.com/aws-cloudformation/cloudformation-coverage-roadmap/issues/1072',
    isNone: async ({ DifferenceType }, Bucket, { s3 }) => {
      const look = new GetBucketNotificationConfigurationCommand({ Bucket });
      return DifferenceType === 'REMOVE' && (await s3.send(look)).EventBridgeConfiguration !== undefined;
    },
  },
  {
    type: 'AWS::Events::Rule',
    path: /^\/Targets\/\d+\/DeadLetterConfig(\/Arn)?$/,
    source: 'https://github.com/aws-cloudformation/cloudformation-coverage-roadmap/issues/2006',
    isNone: async ({ DifferenceType, ExpectedValue = '' }, Rule, { events }) => {
      const { Targets = [] } = await events.send(new ListTargetsByRuleCommand({ Rule }));
      const queues = Targets.map(({ DeadLetterConfig }) => DeadLetterConfig?.Arn ?? '');
      return DifferenceType === 'REMOVE' && queues.some((queue) => queue !== '' && ExpectedValue.includes(queue));
    },
  },
];

function keyIdOf(key: string): string | undefined {
  return key.split('/').at(-1);
}

/** Whether a difference that CloudFormation reports is none: of values, or of what it is known to report always. */
export async function isNone(
  { ResourceType, PhysicalResourceId = '' }: Pick<StackResourceDrift, 'ResourceType' | 'PhysicalResourceId'>,
  difference: PropertyDifference,
  target: Target,
): Promise<boolean> {
  const { PropertyPath = '', ExpectedValue, ActualValue, DifferenceType } = difference;
  if (
    DifferenceType === 'NOT_EQUAL' &&
    ExpectedValue !== undefined &&
    scalarOf(ExpectedValue) === scalarOf(ActualValue)
  )
    return true;
  const known = KNOWN_DIFFERENCES.find(({ type, path }) => type === ResourceType && path.test(PropertyPath));
  return known?.isNone(difference, PhysicalResourceId, target) ?? false;
}

/** A number or truth value, and its text, are one. */
function scalarOf(text = ''): string {
  const value = jsonOrUndefined(text);
  return value === undefined || typeof value === 'object' ? text : String(value);
}
