import { ArnFormat, type Stack } from 'aws-cdk-lib';

/** The alarms of a stack, as a pattern: their names begin with the stack's. */
export function alarmArns(stack: Stack): string {
  return stack.formatArn({
    service: 'cloudwatch',
    resource: 'alarm',
    resourceName: `${stack.stackName}-*`,
    arnFormat: ArnFormat.COLON_RESOURCE_NAME,
  });
}
