import { CloudFormationClient, CreateStackCommand, DescribeStacksCommand } from '@aws-sdk/client-cloudformation';
import { expect, test } from 'vitest';
import { exampleDeployment } from '../../scripts/deployments.ts';
import { synthesise } from '../../scripts/synthesise.ts';
import { localPlace, newVpc } from './support/vpc.ts';

/** Tests the rule of the template on networks of the local cloud. `tables.test.ts` deploys into subnets of the VPC. */

test('a deployment with a subnet of another VPC is refused before anything is created', async () => {
  const cloudformation = new CloudFormationClient(localPlace());
  const [vpc, other] = await Promise.all([newVpc(), newVpc()]);
  const [ours, foreign] = await Promise.all([vpc.subnet(), other.subnet()]);
  const subnetIds = [ours.subnetId, foreign.subnetId];
  const network = { vpcId: vpc.vpcId, subnetIds, securityGroupIds: [vpc.group] };
  const { Parameters = {}, Rules = {} } = synthesise(exampleDeployment({ network }));
  // Only the rule, with one free resource.
  const template = {
    Parameters: Object.fromEntries(Object.entries(Parameters).filter(([id]) => id.startsWith('NetworkSubnets'))),
    Rules: { NetworkSubnetsInVpc: Rules.NetworkSubnetsInVpc },
    Resources: { Handle: { Type: 'AWS::CloudFormation::WaitConditionHandle' } },
  };
  const StackName = 'network-foreign';

  await expect(
    cloudformation.send(new CreateStackCommand({ StackName, TemplateBody: JSON.stringify(template) })),
  ).rejects.toThrow(vpc.vpcId);

  await expect(cloudformation.send(new DescribeStacksCommand({ StackName }))).rejects.toMatchObject({
    name: 'ValidationError',
  });
});
