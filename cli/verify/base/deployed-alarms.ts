import { type MetricAlarm, paginateDescribeAlarms } from '@aws-sdk/client-cloudwatch';
import { textOf } from '../../checks/deployed-stack.ts';
import type { Verifying } from './verifying.ts';

export const ALARM_RIGHTS = ['cloudwatch:DescribeAlarms on `*`, for the alarms of all deployments'];

/** The alarms of the template, as they are in the account. */
export async function deployedAlarms({ target, stack }: Pick<Verifying, 'target' | 'stack'>): Promise<MetricAlarm[]> {
  const names = stack.ofType('AWS::CloudWatch::Alarm').map((alarm) => textOf(alarm, 'AlarmName'));
  const alarms: MetricAlarm[] = [];
  // Names of another deployment may begin so too: those of `prod-2`, where this is `prod`.
  const look = { AlarmNamePrefix: `${target.stack}-` };
  for await (const page of paginateDescribeAlarms({ client: target.cloudwatch }, look)) {
    alarms.push(...(page.MetricAlarms ?? []).filter(({ AlarmName = '' }) => names.includes(AlarmName)));
  }
  return alarms;
}
