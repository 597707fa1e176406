import { type CloudWatchClient, paginateDescribeAlarms } from '@aws-sdk/client-cloudwatch';
import type { Target } from '../support/target.ts';

/** Names of the alarms that are raised now, by the topic that they are mailed to: of all deployments, by one call. */
export async function raisedAlarms(cloudwatch: CloudWatchClient): Promise<Map<string, string[]>> {
  const raised = new Map<string, string[]>();
  const wanted = { AlarmNamePrefix: 'crm-export-', StateValue: 'ALARM' as const };
  for await (const { MetricAlarms = [] } of paginateDescribeAlarms({ client: cloudwatch }, wanted)) {
    for (const { AlarmName = '', AlarmActions = [] } of MetricAlarms) {
      for (const topic of AlarmActions) raised.set(topic, [...(raised.get(topic) ?? []), AlarmName]);
    }
  }
  return raised;
}

/** Names of those of one deployment, without the name of its stack; `null` where they are not known. */
export function alarmsOf(
  raised: Map<string, string[]> | null,
  { stack, AlarmTopicArn }: Pick<Target, 'stack' | 'AlarmTopicArn'>,
): string[] | null {
  const names = raised?.get(AlarmTopicArn) ?? [];
  return raised && names.map((name) => (name.startsWith(`${stack}-`) ? name.slice(stack.length + 1) : name));
}
