import { RemovalPolicy, Stack } from 'aws-cdk-lib';
import { LogGroup, type RetentionDays } from 'aws-cdk-lib/aws-logs';
import { LogLevel, type StateMachineProps } from 'aws-cdk-lib/aws-stepfunctions';
import type { Construct } from 'constructs';
import type { Deployment } from '../../core/config/deployment.ts';
import type { EncryptionKey } from './encryption-key.ts';

/** What a machine needs to be watched. */
export interface WatchProps {
  deployment: Pick<Deployment, 'logRetentionDays'>;
  key: EncryptionKey;
}

/**
 * A machine's tracing and log group: every event, without the states' data but with error and cause of what failed. With another
 * prefix its name would go into a policy of limited length (https://docs.aws.amazon.com/step-functions/latest/dg/bp-cwl.html).
 */
export function watched(
  scope: Construct,
  machineName: string,
  { deployment, key }: WatchProps,
): Pick<StateMachineProps, 'logs' | 'tracingEnabled'> {
  const destination = new LogGroup(scope, 'LogGroup', {
    logGroupName: `/aws/vendedlogs/states/${machineName}`,
    retention: deployment.logRetentionDays as RetentionDays,
    encryptionKey: key.key,
    removalPolicy: RemovalPolicy.DESTROY,
  });
  return { logs: { destination, level: LogLevel.ALL, includeExecutionData: false }, tracingEnabled: true };
}

/** The label of the map over chunks: the names of its children have it, and their metrics. */
export const MAP_LABEL = 'ApplyChunks';

/** The name of a machine: two deployments in one account must not meet. */
export function machineNameOf(scope: Construct, id: string): string {
  return `${Stack.of(scope).stackName}-${id}`;
}
