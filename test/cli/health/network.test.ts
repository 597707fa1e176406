import { EC2Client } from '@aws-sdk/client-ec2';
import { expect, test } from 'vitest';
import { checksSchema } from '../../../cli/health/check.ts';
import { networkFindings } from '../../../cli/health/network-checks.ts';
import { exampleDeployment, NETWORK } from '../../../scripts/deployments.ts';
import { tempFile } from '../../support/project.ts';
import { denied, xml } from '../support/cloud/answers.ts';
import { aws } from '../support/cloud/cloud.ts';
import type { Part } from '../support/cloud/world.ts';
import { expectFindings } from '../support/findings.ts';

const [subnet = ''] = NETWORK.subnetIds;
const [group = ''] = NETWORK.securityGroupIds;
const network = { ...NETWORK, subnetIds: [subnet] };
const CRM = { ...exampleDeployment().crm, privateHosts: ['crm.example.com', 'auth.example.com'] };

const listed = (operation: string, list: string, ...items: string[]) => ({
  [operation]: xml(
    `<${operation}Response><${list}>${items.map((item) => `<item>${item}</item>`).join('')}</${list}></${operation}Response>`,
  ),
});

const VPC = `<vpcId>${network.vpcId}</vpcId>`;
const TABLE = 'rtb-0123456789abcdef0';
const subnets = (...items: string[]) => listed('DescribeSubnets', 'subnetSet', ...items);
const groups = (...items: string[]) => listed('DescribeSecurityGroups', 'securityGroupInfo', ...items);
const bare = {
  ...subnets(`<subnetId>${subnet}</subnetId>${VPC}`),
  ...groups(`<groupId>${group}</groupId>${VPC}`),
  ...listed('DescribeRouteTables', 'routeTableSet'),
  ...listed('DescribeVpcEndpoints', 'vpcEndpointSet'),
};

/** A route table with these routes, which the subnet or only the VPC names. */
const routes = (association: string, ...targets: string[]) =>
  listed(
    'DescribeRouteTables',
    'routeTableSet',
    `<routeTableId>${TABLE}</routeTableId><associationSet><item>${association}</item></associationSet>` +
      `<routeSet>${targets.map((target) => `<item>${target}<state>active</state></item>`).join('')}</routeSet>`,
  );
const OWN = `<subnetId>${subnet}</subnetId>`;
const MAIN = '<main>true</main>';
const block = (cidr: string) => `<destinationCidrBlock>${cidr}</destinationCidrBlock>`;
const NAT = `${block('0.0.0.0/0')}<natGatewayId>nat-0123456789abcdef0</natGatewayId>`;
const IGW = `${block('0.0.0.0/0')}<gatewayId>igw-0123456789abcdef0</gatewayId>`;
const PEERING = `${block('10.0.0.0/8')}<vpcPeeringConnectionId>pcx-0123456789abcdef0</vpcPeeringConnectionId>`;
const TRANSIT = `${block('0.0.0.0/0')}<transitGatewayId>tgw-0123456789abcdef0</transitGatewayId>`;

const endpoint = (service: string, more: string) =>
  `<serviceName>com.amazonaws.eu-west-1.${service}</serviceName><state>available</state>${more}`;
/** @param names whether AWS's host names resolve to the endpoint */
const byInterface = (service: string, names = true) =>
  endpoint(service, `<vpcEndpointType>Interface</vpcEndpointType><privateDnsEnabled>${names}</privateDnsEnabled>`);
const byGateway = (service: string, table = TABLE) =>
  endpoint(
    service,
    `<vpcEndpointType>Gateway</vpcEndpointType><routeTableIdSet><item>${table}</item></routeTableIdSet>`,
  );
const endpoints = (...items: string[]) => listed('DescribeVpcEndpoints', 'vpcEndpointSet', ...items);
const THROUGH_ENDPOINTS = endpoints(byGateway('s3'), byGateway('dynamodb'), byInterface('secretsmanager'));

async function findingsOf(parts: Part, { privateHosts = CRM.privateHosts } = {}) {
  const cloud = await aws(parts, bare);
  return networkFindings({ ec2: cloud.client(EC2Client) }, network, { ...CRM, privateHosts });
}

const halfEndpoints = endpoints(byGateway('s3', 'rtb-1'), byGateway('dynamodb'), byInterface('secretsmanager'));
const withoutNames = endpoints(byInterface('s3'), byInterface('dynamodb', false), byInterface('secretsmanager'));
const foreignGroup = groups(`<groupId>${group}</groupId><vpcId>vpc-1</vpcId>`);

const ROWS: [string, Part, { privateHosts: string[] }?][] = [
  ['a route to a NAT gateway', routes(OWN, NAT)],
  ['a subnet without a route table, which uses that of the VPC', routes(MAIN, NAT)],
  ['a route to an internet gateway', routes(OWN, IGW)],
  ['no route', {}],
  ['a route to a transit gateway', routes(OWN, TRANSIT)],
  ['a peering next to an internet gateway', routes(OWN, PEERING, IGW)],
  ['a peering with endpoints', { ...routes(OWN, PEERING, IGW), ...THROUGH_ENDPOINTS }],
  ['endpoints, for a CRM in the network', { ...routes(OWN), ...THROUGH_ENDPOINTS }],
  ['a gateway endpoint of another route table', { ...routes(OWN), ...halfEndpoints }],
  ['an interface endpoint without private DNS names', withoutNames],
  ['a subnet of another VPC', subnets(`<subnetId>${subnet}</subnetId><vpcId>vpc-1</vpcId>`)],
  ['a subnet that does not exist', subnets()],
  [
    'endpoints for a public CRM, and a security group of another VPC',
    { ...foreignGroup, ...THROUGH_ENDPOINTS, ...routes(OWN) },
    { privateHosts: [] },
  ],
];

test('each network of the functions has a finding: whether it has a way out', async () => {
  const findings = ROWS.map(async ([what, part, crm]) => [what, ...(await findingsOf(part, crm))] as const);

  await expectFindings('network-findings', await Promise.all(findings));
});

test('before a first deployment, checks the network of the configuration', async () => {
  const file = tempFile(JSON.stringify({ crm: { ...CRM, privateHosts: [] }, network }), 'own.json');
  const cloud = await aws(denied('DescribeStacks'), bare);

  const { stdout } = await cloud.cli('doctor', '--configuration', file, '--json');
  const { checks } = checksSchema.parse(JSON.parse(stdout));

  expect(checks.map(({ id, verdict }) => `${id} ${verdict}`)).toEqual([
    'configuration holds',
    expect.stringMatching(/^stack /),
    `network.${subnet} broken`,
  ]);
});
