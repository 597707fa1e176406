import { CloudFormationClient, CreateStackCommand } from '@aws-sdk/client-cloudformation';
import { metadataOf } from '../../../core/config/deployed.ts';
import { localPlace } from './vpc.ts';

/** Creates a stack with this configuration and these outputs, by which the command finds a deployment. */
export async function createOutputsStack(
  deployment: string,
  configuration: Parameters<typeof metadataOf>[0],
  outputs: Record<string, string>,
): Promise<void> {
  const TemplateBody = JSON.stringify({
    Metadata: metadataOf(configuration),
    Resources: { Handle: { Type: 'AWS::CloudFormation::WaitConditionHandle' } },
    Outputs: Object.fromEntries(Object.entries(outputs).map(([name, Value]) => [name, { Value }])),
  });
  const client = new CloudFormationClient(localPlace());
  await client.send(new CreateStackCommand({ StackName: `crm-export-${deployment}`, TemplateBody }));
}
