import { join } from 'node:path';
import { EC2Client } from '@aws-sdk/client-ec2';
import { expect, test } from 'vitest';
import { checksSchema, missingRight } from '../../../cli/health/check.ts';
import { addDoctor } from '../../../cli/health/doctor.ts';
import { networkFindings } from '../../../cli/health/network-checks.ts';
import { exampleDeployment, NETWORK } from '../../../scripts/deployments.ts';
import { tree } from '../../lib/support/files.ts';
import { denied, Reply, xml } from '../support/cloud/answers.ts';
import { aws } from '../support/cloud/cloud.ts';
import type { Part } from '../support/cloud/world.ts';
import { useCommands } from '../support/run-cli.ts';

useCommands({ doctor: addDoctor });

/** Tests answers that the local cloud does not give; the rest is in `test/e2e/network.test.ts`. */

const [subnet = ''] = NETWORK.subnetIds;
const [group = ''] = NETWORK.securityGroupIds;
const network = { ...NETWORK, subnetIds: [subnet] };
const CRM = { ...exampleDeployment().crm, privateHosts: ['crm.example.com', 'auth.example.com'] };

const listed = (operation: string, list: string, ...items: string[]) => ({
  [operation]: xml(
    `<${operation}Response><${list}>${items.map((item) => `<item>${item}</item>`).join('')}</${list}></${operation}Response>`,
  ),
});

/** A VPC that reaches AWS only by interface endpoints. @param names whether AWS's host names resolve to them */
const endpointsWith = (names: boolean) =>
  ['s3', 'dynamodb', 'secretsmanager'].map(
    (service) =>
      `<serviceName>com.amazonaws.eu-west-1.${service}</serviceName><vpcEndpointType>Interface</vpcEndpointType>` +
      `<state>available</state><privateDnsEnabled>${names}</privateDnsEnabled>`,
  );

const VPC = `<vpcId>${network.vpcId}</vpcId>`;
/** A VPC with only the subnet and the group. */
const bare = {
  ...listed('DescribeSubnets', 'subnetSet', `<subnetId>${subnet}</subnetId>${VPC}`),
  ...listed('DescribeSecurityGroups', 'securityGroupInfo', `<groupId>${group}</groupId>${VPC}`),
  ...listed('DescribeRouteTables', 'routeTableSet'),
  ...listed('DescribeVpcEndpoints', 'vpcEndpointSet'),
};

async function look(...parts: Part[]) {
  const cloud = await aws(...parts, bare);
  const deployment = exampleDeployment({ network, crm: CRM });
  return networkFindings({ ec2: cloud.client(EC2Client) }, deployment, deployment);
}

test("an interface endpoint counts where AWS's own names lead to it", async () => {
  const through = (names: boolean) => look(listed('DescribeVpcEndpoints', 'vpcEndpointSet', ...endpointsWith(names)));

  expect(await through(true)).toMatchObject([{ verdict: 'holds', of: subnet }]);
  expect(await through(false)).toMatchObject([
    { verdict: 'broken', found: expect.stringContaining('It has no endpoint for S3, DynamoDB, Secrets Manager.') },
  ]);
});

/** The main route table of the VPC with these routes. */
const routes = (...targets: string[]) =>
  listed(
    'DescribeRouteTables',
    'routeTableSet',
    '<routeTableId>rtb-0123456789abcdef0</routeTableId><associationSet><item><main>true</main></item></associationSet>' +
      `<routeSet>${targets.map((target) => `<item>${target}<state>active</state></item>`).join('')}</routeSet>`,
  );
const block = (cidr: string) => `<destinationCidrBlock>${cidr}</destinationCidrBlock>`;

test('behind a route to an internet gateway, one to another network is no way to AWS', async () => {
  const peering = `${block('10.0.0.0/8')}<vpcPeeringConnectionId>pcx-0123456789abcdef0</vpcPeeringConnectionId>`;
  const internet = `${block('0.0.0.0/0')}<gatewayId>igw-0123456789abcdef0</gatewayId>`;

  expect(await look(routes(peering, internet))).toMatchObject([
    {
      verdict: 'broken',
      found: expect.stringMatching(/has no way out: .* An internet gateway is none.* no endpoint for S3/),
    },
  ]);
  const throughEndpoints = listed('DescribeVpcEndpoints', 'vpcEndpointSet', ...endpointsWith(true));
  expect(await look(routes(peering, internet), throughEndpoints)).toMatchObject([
    { verdict: 'unknown', found: expect.stringContaining('leads to pcx-0123456789abcdef0') },
  ]);
});

test('without the right to look the error names the call', async () => {
  const refusal = new Reply((response) => {
    const error = '<Error><Code>UnauthorizedOperation</Code><Message>You are not authorized.</Message></Error>';
    response.writeHead(403, { 'content-type': 'text/xml' }).end(`<Response><Errors>${error}</Errors></Response>`);
  });

  expect(await look({ DescribeRouteTables: refusal }).catch(missingRight)).toBe('ec2:DescribeRouteTables');
});

test('before a first deployment the network of the configuration is looked at', async () => {
  const file = join(tree({ 'own.json': JSON.stringify({ crm: { ...CRM, privateHosts: [] }, network }) }), 'own.json');
  const cloud = await aws(denied('DescribeStacks'), bare);

  const { stdout } = await cloud.cli('doctor', '--configuration', file, '--json');
  const { checks } = checksSchema.parse(JSON.parse(stdout));

  expect(checks.map(({ id, verdict }) => `${id} ${verdict}`)).toEqual([
    'configuration holds',
    expect.stringMatching(/^stack /),
    `network.${subnet} warning`,
  ]);
  expect(checks[2]?.found).toMatch(
    /has no way out: no route to a NAT gateway\..* So it would be after the next deployment\.$/,
  );
});
