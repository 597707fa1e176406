import {
  CloudFormationClient,
  CreateStackCommand,
  DescribeStacksCommand,
  waitUntilStackCreateComplete,
} from '@aws-sdk/client-cloudformation';
import { beforeAll, describe, expect, test } from 'vitest';
import { exampleDeployment } from '../../scripts/deployments.ts';
import { synthesise } from '../../scripts/synthesise.ts';
import { localPlace, newVpc, type Vpc } from './support/vpc.ts';

/** Tests the rule of the template on networks of the local cloud. */

let vpc: Vpc;
let other: Vpc;

beforeAll(async () => {
  [vpc, other] = await Promise.all([newVpc(), newVpc()]);
});

const networkOf = (...subnetIds: string[]) => ({ vpcId: vpc.vpcId, subnetIds, securityGroupIds: [vpc.group] });

describe('a deployment', () => {
  const cloudformation = new CloudFormationClient(localPlace());

  /** Deploys only the rule, with one free resource. */
  async function deploy(StackName: string, ...subnetIds: string[]) {
    const { Parameters = {}, Rules = {} } = synthesise(exampleDeployment({ network: networkOf(...subnetIds) }));
    const ours = Object.entries(Parameters).filter(([id]) => id.startsWith('NetworkSubnets'));
    const template = {
      Parameters: Object.fromEntries(ours),
      Rules: { NetworkSubnetsInVpc: Rules.NetworkSubnetsInVpc },
      Resources: { Handle: { Type: 'AWS::CloudFormation::WaitConditionHandle' } },
    };
    await cloudformation.send(new CreateStackCommand({ StackName, TemplateBody: JSON.stringify(template) }));
    await waitUntilStackCreateComplete({ client: cloudformation, maxWaitTime: 30, minDelay: 1 }, { StackName });
  }

  test('with a subnet of another VPC is refused before anything is created', async () => {
    const [ours, foreign] = await Promise.all([vpc.subnet(), other.subnet()]);

    await expect(deploy('network-foreign', ours.subnetId, foreign.subnetId)).rejects.toThrow(
      `network.subnetIds of the configuration names a subnet that is not in ${vpc.vpcId}.`,
    );
    const StackName = 'network-foreign';
    await expect(cloudformation.send(new DescribeStacksCommand({ StackName }))).rejects.toThrow('does not exist');
  });

  test('with subnets of the VPC succeeds', async () => {
    const [one, two] = await Promise.all([vpc.subnet(), vpc.subnet()]);

    await deploy('network-own', one.subnetId, two.subnetId);
  });
});
