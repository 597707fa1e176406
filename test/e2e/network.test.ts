import {
  CloudFormationClient,
  CreateStackCommand,
  DescribeStacksCommand,
  waitUntilStackCreateComplete,
} from '@aws-sdk/client-cloudformation';
import {
  CreateInternetGatewayCommand,
  CreateNatGatewayCommand,
  CreateSubnetCommand,
  CreateVpcEndpointCommand,
  EC2Client,
} from '@aws-sdk/client-ec2';
import { beforeAll, describe, expect, test } from 'vitest';
import { type Network, networkFindings } from '../../cli/health/network-checks.ts';
import { exampleDeployment } from '../../scripts/deployments.ts';
import { synthesise } from '../../scripts/synthesise.ts';
import { localPlace, newVpc, type Vpc } from './support/vpc.ts';

/** Tests networks of the local cloud: the report of `doctor`, and the rule of the template. */

const ec2 = new EC2Client(localPlace());

let vpc: Vpc;
let other: Vpc;

beforeAll(async () => {
  [vpc, other] = await Promise.all([newVpc(), newVpc()]);
});

const networkOf = (...subnetIds: string[]): Network => ({ vpcId: vpc.vpcId, subnetIds, securityGroupIds: [vpc.group] });

/** The report of doctor about a deployed network, or about one in the configuration only. */
async function look(network: Network, { crm = {}, planned = false } = {}) {
  const { crm: example } = exampleDeployment();
  const deployment = exampleDeployment({ network, crm: { ...example, ...crm } });
  return networkFindings({ ec2 }, planned ? exampleDeployment() : deployment, deployment);
}

describe('doctor says of a subnet', () => {
  test('that a route to a NAT gateway is a way out', async () => {
    const { subnetId } = await vpc.subnet();
    const { NatGateway } = await ec2.send(new CreateNatGatewayCommand({ SubnetId: subnetId }));
    const NatGatewayId = NatGateway?.NatGatewayId ?? '';
    const inside = await vpc.subnet({ NatGatewayId });

    expect(await look(networkOf(inside.subnetId))).toEqual([
      expect.objectContaining({
        of: inside.subnetId,
        verdict: 'holds',
        found: `${inside.subnetId} leads to the NAT gateway ${NatGatewayId}.`,
      }),
    ]);
  });

  test('that a route to an internet gateway is none', async () => {
    const { InternetGateway } = await ec2.send(new CreateInternetGatewayCommand({}));
    const { subnetId } = await vpc.subnet({ GatewayId: InternetGateway?.InternetGatewayId });

    expect(await look(networkOf(subnetId))).toEqual([
      expect.objectContaining({
        verdict: 'broken',
        found: `${subnetId} has no way out: no route to a NAT gateway. An internet gateway is none, because functions have no public address. It has no endpoint for S3, DynamoDB, Secrets Manager.`,
        advice: expect.stringContaining('Give the subnet a route 0.0.0.0/0 to a NAT gateway'),
      }),
    ]);
  });

  test('that it has none without a route of its own, for the main table of the VPC counts then', async () => {
    const block = { VpcId: vpc.vpcId, CidrBlock: '10.77.200.0/24' };
    const SubnetId = (await ec2.send(new CreateSubnetCommand(block))).Subnet?.SubnetId ?? '';

    expect(await look(networkOf(SubnetId))).toMatchObject([
      { verdict: 'broken', found: expect.stringContaining('has no way out: no route to a NAT gateway. It has no') },
    ]);
  });

  test('that what is behind another gateway cannot be told, which fails nothing', async () => {
    const { subnetId } = await vpc.subnet({ TransitGatewayId: 'tgw-0123456789abcdef0' });

    expect(await look(networkOf(subnetId))).toMatchObject([
      {
        verdict: 'unknown',
        found: expect.stringContaining(`leads to tgw-0123456789abcdef0, and what is behind it cannot be told here.`),
      },
    ]);
  });

  test('which endpoints it lacks, until a CRM of the same network needs nothing else', async () => {
    const { subnetId, routeTableId } = await vpc.subnet();
    const endpoint = (service: string, more: object) =>
      ec2.send(
        new CreateVpcEndpointCommand({ VpcId: vpc.vpcId, ServiceName: `com.amazonaws.us-east-1.${service}`, ...more }),
      );
    const gateway = { VpcEndpointType: 'Gateway', RouteTableIds: [routeTableId] };
    await endpoint('s3', gateway);
    await endpoint('dynamodb', gateway);
    const internal = { fileHosts: [], privateHosts: ['crm.example.com', 'auth.example.com'] };

    expect(await look(networkOf(subnetId), { crm: internal })).toMatchObject([
      { verdict: 'broken', found: expect.stringContaining('It has no endpoint for Secrets Manager.') },
    ]);
    await endpoint('secretsmanager', { VpcEndpointType: 'Interface', SubnetIds: [subnetId], PrivateDnsEnabled: true });
    expect(await look(networkOf(subnetId), { crm: internal })).toMatchObject([{ verdict: 'holds' }]);
    expect(await look(networkOf(subnetId))).toMatchObject([{ verdict: 'broken' }]);
  });

  test('that it is in another VPC, or nowhere; a security group likewise', async () => {
    const { subnetId } = await other.subnet();
    const gone = 'subnet-00000000000000000';

    expect(await look({ ...networkOf(subnetId, gone), securityGroupIds: [other.group] })).toMatchObject([
      { verdict: 'broken', found: `${subnetId} is in ${other.vpcId}, not in ${vpc.vpcId}.` },
      { verdict: 'broken', found: `There is no ${gone} in this account and region.` },
      { verdict: 'broken', found: `${other.group} is in ${other.vpcId}, not in ${vpc.vpcId}.` },
    ]);
  });

  test('that is not deployed yet what would be wrong, and no night fails by it', async () => {
    const { subnetId } = await other.subnet();

    expect(await look(networkOf(subnetId), { planned: true })).toMatchObject([
      {
        verdict: 'warning',
        exitCode: 0,
        found: `${subnetId} is in ${other.vpcId}, not in ${vpc.vpcId}. So it would be after the next deployment.`,
      },
    ]);
  });
});

test('doctor asks nothing of EC2 where there is no network', async () => {
  const none = exampleDeployment();

  expect(await networkFindings({} as { ec2: EC2Client }, none, none)).toEqual([]);
});

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

  test('with a subnet of another VPC is refused in one sentence, before anything is created', async () => {
    const [ours, foreign] = await Promise.all([vpc.subnet(), other.subnet()]);

    await expect(deploy('network-foreign', ours.subnetId, foreign.subnetId)).rejects.toThrow(
      `network.subnetIds of the configuration names a subnet that is not in ${vpc.vpcId}.`,
    );
    const StackName = 'network-foreign';
    await expect(cloudformation.send(new DescribeStacksCommand({ StackName }))).rejects.toThrow('does not exist');
  });

  test('with subnets of the VPC goes on', async () => {
    const [one, two] = await Promise.all([vpc.subnet(), vpc.subnet()]);

    await deploy('network-own', one.subnetId, two.subnetId);
  });
});
