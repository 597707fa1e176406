import type { PropertyDifference, StackResourceDrift } from '@aws-sdk/client-cloudformation';
import { ListTargetsByRuleCommand } from '@aws-sdk/client-eventbridge';
import { GetBucketNotificationConfigurationCommand } from '@aws-sdk/client-s3';
import * as z from 'zod/mini';
import { jsonOrUndefined, parseJson } from '../../../core/json.ts';
import type { Target } from '../../support/target.ts';

type Drift = Pick<
  StackResourceDrift,
  'ResourceType' | 'PhysicalResourceId' | 'ExpectedProperties' | 'ActualProperties'
>;

/** What CloudFormation reports of a fresh stack, although it is in the account as in the template. */
interface KnownDifference {
  type: string;
  path: RegExp;
  /** Who has seen it. */
  source: string;
  /** Whether it is none in this account. */
  isNone: (difference: PropertyDifference, drift: Drift, target: Target) => boolean | Promise<boolean>;
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
    isNone: async ({ DifferenceType }, { PhysicalResourceId: Bucket }, { s3 }) => {
      const look = new GetBucketNotificationConfigurationCommand({ Bucket });
      return DifferenceType === 'REMOVE' && (await s3.send(look)).EventBridgeConfiguration !== undefined;
    },
  },
  {
    type: 'AWS::Events::Rule',
    path: /^\/Targets\/\d+\/DeadLetterConfig(\/Arn)?$/,
    source: 'https://github.com/aws-cloudformation/cloudformation-coverage-roadmap/issues/2006',
    isNone: async ({ DifferenceType, ExpectedValue = '' }, { PhysicalResourceId: Rule }, { events }) => {
      const { Targets = [] } = await events.send(new ListTargetsByRuleCommand({ Rule }));
      const queues = Targets.map(({ DeadLetterConfig }) => DeadLetterConfig?.Arn ?? '');
      return DifferenceType === 'REMOVE' && queues.some((queue) => queue !== '' && ExpectedValue.includes(queue));
    },
  },
  {
    type: 'AWS::Lambda::Function',
    path: /^\/VpcConfig\/(SubnetIds|SecurityGroupIds)(\/\d+)?$/,
    // Lambda answers both lists in an order of its own.
    source: 'https://github.com/pipe-cd/pipecd/pull/6535',
    isNone: (_, { ExpectedProperties, ActualProperties }) => {
      const network = networkOf(ExpectedProperties);
      return network !== undefined && network === networkOf(ActualProperties);
    },
  },
];

const networkSchema = z.object({ SubnetIds: z.array(z.string()), SecurityGroupIds: z.array(z.string()) });

function networkOf(properties: string | undefined): string | undefined {
  const { SubnetIds, SecurityGroupIds } =
    parseJson(z.object({ VpcConfig: networkSchema }), properties)?.VpcConfig ?? {};
  return SubnetIds && SecurityGroupIds && JSON.stringify([SubnetIds.toSorted(), SecurityGroupIds.toSorted()]);
}

function keyIdOf(key: string): string | undefined {
  return key.split('/').at(-1);
}

/** Whether a difference that CloudFormation reports is none: of values, or of what it is known to report always. */
export async function isNone(drift: Drift, difference: PropertyDifference, target: Target): Promise<boolean> {
  const { PropertyPath = '', ExpectedValue, ActualValue, DifferenceType } = difference;
  if (
    DifferenceType === 'NOT_EQUAL' &&
    ExpectedValue !== undefined &&
    scalarOf(ExpectedValue) === scalarOf(ActualValue)
  )
    return true;
  const known = KNOWN_DIFFERENCES.find(({ type, path }) => type === drift.ResourceType && path.test(PropertyPath));
  return known?.isNone(difference, drift, target) ?? false;
}

/** A number or truth value, and its text, are one. */
function scalarOf(text = ''): string {
  const value = jsonOrUndefined(text);
  return value === undefined || typeof value === 'object' ? text : String(value);
}
