import { CfnWaitConditionHandle, type Stack } from 'aws-cdk-lib';
import { deployedOf, digestOf, metadataOf } from '../core/config/deployed.ts';
import type { Deployment } from '../core/config/deployment.ts';
import { offsetsNow } from '../core/config/timing.ts';

/**
 * Tells the configuration in the template, where the operator's command reads it (`docs/adr/0009`). CloudFormation takes no update of
 * `Metadata` alone, so with every change one resource that is nothing goes, and another comes.
 */
export function tellConfiguration(stack: Stack, deployment: Deployment): void {
  const deployed = deployedOf({ ...deployment, zoneOffsets: offsetsNow(deployment.timeZone) });
  stack.templateOptions.metadata = metadataOf(deployed);
  new CfnWaitConditionHandle(stack, `Configuration${digestOf(deployed)}`);
}
