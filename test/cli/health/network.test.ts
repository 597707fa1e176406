import { join } from 'node:path';
import { EC2Client } from '@aws-sdk/client-ec2';
import { expect, test } from 'vitest';
import { checksSchema } from '../../../cli/health/check.ts';
import { networkFindings } from '../../../cli/health/network-checks.ts';
import { exampleDeployment, NETWORK } from '../../../scripts/deployments.ts';
import { tree } from '../../lib/support/files.ts';
import { denied, xml } from '../support/cloud/answers.ts';
import { aws } from '../support/cloud/cloud.ts';
import type { Part } from '../support/cloud/world.ts';

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

test.each<[string, Part, string, RegExp]>([
  ['a route to a NAT gateway is a way out', routes(OWN, NAT), 'holds', /leads to the NAT gateway nat-/],
  ['a subnet without a route table uses that of the VPC', routes(MAIN, NAT), 'holds', /leads to the NAT gateway nat-/],
  [
    'a route to an internet gateway is no way out',
    routes(OWN, IGW),
    'broken',
    /An internet gateway is no way out, .*endpoint for S3/,
  ],
  [
    'without a route there is no way out',
    {},
    'broken',
    /no route to a NAT gateway\. It has no endpoint for S3, DynamoDB, Secrets M/,
  ],
  ['a route to a transit gateway is unknown', routes(OWN, TRANSIT), 'unknown', /leads to tgw-0123/],
  ['a peering next to an internet gateway is no way to AWS', routes(OWN, PEERING, IGW), 'broken', /no endpoint for S3/],
  [
    'a peering with endpoints may lead to the CRM',
    { ...routes(OWN, PEERING, IGW), ...THROUGH_ENDPOINTS },
    'unknown',
    /leads to pcx-0123/,
  ],
  ['endpoints are enough for a CRM in the network', { ...routes(OWN), ...THROUGH_ENDPOINTS }, 'holds', /^/],
  [
    'a gateway endpoint counts only for its route tables',
    { ...routes(OWN), ...endpoints(byGateway('s3', 'rtb-1'), byGateway('dynamodb'), byInterface('secretsmanager')) },
    'broken',
    /It has no endpoint for S3\./,
  ],
  [
    'an interface endpoint counts only with private DNS names',
    endpoints(byInterface('s3'), byInterface('dynamodb', false), byInterface('secretsmanager')),
    'broken',
    /It has no endpoint for DynamoDB\./,
  ],
  [
    'a subnet of another VPC is broken',
    subnets(`<subnetId>${subnet}</subnetId><vpcId>vpc-1</vpcId>`),
    'broken',
    /is in vpc-1, not in vpc-/,
  ],
  [
    'a subnet that does not exist is broken',
    subnets(),
    'broken',
    /^There is no subnet-\w+ in this account and region\.$/,
  ],
])('%s', async (_, parts, verdict, found) => {
  expect(await findingsOf(parts)).toMatchObject([{ of: subnet, verdict, found: expect.stringMatching(found) }]);
});

test('names a security group of another VPC, and finds endpoints not enough for a public CRM', async () => {
  const foreign = groups(`<groupId>${group}</groupId><vpcId>vpc-1</vpcId>`);
  const findings = await findingsOf({ ...foreign, ...THROUGH_ENDPOINTS, ...routes(OWN) }, { privateHosts: [] });

  expect(findings).toMatchObject([
    { of: subnet, verdict: 'broken' },
    { of: group, verdict: 'broken', found: expect.stringContaining('is in vpc-1, not in vpc-') },
  ]);
});

test('before a first deployment, checks the network of the configuration', async () => {
  const file = join(tree({ 'own.json': JSON.stringify({ crm: { ...CRM, privateHosts: [] }, network }) }), 'own.json');
  const cloud = await aws(denied('DescribeStacks'), bare);

  const { stdout } = await cloud.cli('doctor', '--configuration', file, '--json');
  const { checks } = checksSchema.parse(JSON.parse(stdout));

  expect(checks.map(({ id, verdict }) => `${id} ${verdict}`)).toEqual([
    'configuration holds',
    expect.stringMatching(/^stack /),
    `network.${subnet} broken`,
  ]);
  expect(checks[2]?.found).toMatch(/has no way out: no route to a NAT gateway\./);
});
