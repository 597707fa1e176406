import {
  DescribeSecurityGroupsCommand,
  DescribeSubnetsCommand,
  paginateDescribeRouteTables,
  paginateDescribeVpcEndpoints,
  type Route,
  type RouteTable,
  type VpcEndpoint,
} from '@aws-sdk/client-ec2';
import type { Deployment } from '../../core/config/deployment.ts';
import type { Target } from '../support/target.ts';
import { about, broken, type Finding, holds, unknown } from './check.ts';

/** Whether the functions in the user's own subnets have a way to the CRM and to AWS. */

type Network = NonNullable<Deployment['network']>;

export async function networkFindings(
  target: Pick<Target, 'ec2'>,
  network: Network,
  crm: Deployment['crm'],
): Promise<Finding[]> {
  const facts = await networkFacts(target.ec2, network);
  return [...network.subnetIds, ...network.securityGroupIds].flatMap((id) => {
    const vpc = facts.vpcs.get(id);
    if (vpc !== network.vpcId) {
      const found = vpc
        ? `${id} is in ${vpc}, not in ${network.vpcId}.`
        : `There is no ${id} in this account and region.`;
      return [about(id, broken(found, 'Correct `network` in the configuration and deploy.'))];
    }
    return network.subnetIds.includes(id) ? [about(id, subnetFinding(id, facts, isInternal(crm)))] : [];
  });
}

/** Reads the existing parts of a network; missing parts are left out. `vpcs` maps the id of each part to its VPC. */
async function networkFacts(client: Target['ec2'], { vpcId, subnetIds, securityGroupIds }: Network) {
  // Uses a filter, because a missing id in a filter is not an error.
  const by = (Name: string, ...Values: string[]) => ({ Filters: [{ Name, Values }] });
  const { Subnets = [] } = await client.send(new DescribeSubnetsCommand(by('subnet-id', ...subnetIds)));
  const ofGroups = new DescribeSecurityGroupsCommand(by('group-id', ...securityGroupIds));
  const { SecurityGroups = [] } = await client.send(ofGroups);
  const inVpc = by('vpc-id', vpcId);
  const tables: RouteTable[] = [];
  for await (const { RouteTables = [] } of paginateDescribeRouteTables({ client }, inVpc)) tables.push(...RouteTables);
  const endpoints: VpcEndpoint[] = [];
  for await (const page of paginateDescribeVpcEndpoints({ client }, inVpc))
    endpoints.push(...(page.VpcEndpoints ?? []));
  const vpcs = new Map([
    ...Subnets.map(({ SubnetId, VpcId }) => [SubnetId, VpcId] as const),
    ...SecurityGroups.map(({ GroupId, VpcId }) => [GroupId, VpcId] as const),
  ]);
  return { vpcs, tables, endpoints };
}

type NetworkFacts = Awaited<ReturnType<typeof networkFacts>>;

/** Whether all hosts that functions call are in the user's own network. */
function isInternal({ baseUrl, authUrl, fileHosts, privateHosts = [] }: Deployment['crm']): boolean {
  const hosts = [...[baseUrl, authUrl].map((address) => URL.parse(address)?.hostname ?? ''), ...fileHosts];
  return hosts.every((host) => privateHosts.includes(host));
}

/** The AWS services that functions in the subnets call, by the last part of the endpoint's service name. */
const AWS_SERVICES = { s3: 'S3', dynamodb: 'DynamoDB', secretsmanager: 'Secrets Manager' };
const ADVICE =
  'Give the subnet a route 0.0.0.0/0 to a NAT gateway (docs/configuration.md, "A network of your own"), or name other subnets.';

function subnetFinding(id: string, { tables, endpoints }: NetworkFacts, internal: boolean): Finding {
  const table = routeTableOf(id, tables);
  // The functions do not use IPv6.
  const routes = (table?.Routes ?? []).filter((one) => one.State !== 'blackhole' && !one.DestinationIpv6CidrBlock);
  const outward = routes.find(({ DestinationCidrBlock }) => DestinationCidrBlock === '0.0.0.0/0');
  if (outward?.NatGatewayId) return holds(`${id} leads to the NAT gateway ${outward.NatGatewayId}.`);
  const missing = Object.entries(AWS_SERVICES).flatMap(([service, name]) =>
    endpoints.some((one) => serves(one, service, table)) ? [] : [name],
  );
  const lacking =
    missing.length > 0
      ? ` The subnet has no endpoint for ${missing.join(', ')}.`
      : ' The subnet has endpoints for all AWS services that the functions call.';
  // If the default route leads to an internet gateway, the other routes do not lead to AWS.
  const toInternet = outward?.GatewayId?.startsWith('igw-') === true;
  const gateway = toInternet && missing.length > 0 ? undefined : routes.map(gatewayOf).find(Boolean);
  if (gateway) {
    const found = `${id} leads to ${gateway}. The command cannot see beyond it.${lacking}`;
    return unknown(found, 'To test the route, run the command verify, which makes an export.');
  }
  const igw = toInternet ? ' An internet gateway is not a way out, because functions have no public address.' : '';
  const found = `${id} has no way out: no route to a NAT gateway.${igw}${lacking}`;
  if (missing.length > 0 || !internal) return broken(found, ADVICE);
  return holds(`${found} Every host of the CRM is in \`crm.privateHosts\`.`);
}

/** The route table of a subnet, or else the main one of the VPC. */
function routeTableOf(id: string, tables: RouteTable[]): RouteTable | undefined {
  const own = tables.find(({ Associations = [] }) => Associations.some(({ SubnetId }) => SubnetId === id));
  return own ?? tables.find(({ Associations = [] }) => Associations.some(({ Main }) => Main));
}

/** The target of a route that may be a way out: not the VPC itself, its internet gateway or a gateway endpoint. */
function gatewayOf({ GatewayId = '', DestinationPrefixListId: list, ...route }: Route): string | undefined {
  if (/^(local$|igw-)/.test(GatewayId) || (list && GatewayId.startsWith('vpce-'))) return undefined;
  const connected = route.TransitGatewayId ?? route.VpcPeeringConnectionId ?? route.CoreNetworkArn;
  return GatewayId || (connected ?? route.NetworkInterfaceId ?? route.NatGatewayId ?? route.LocalGatewayId);
}

function serves(endpoint: VpcEndpoint, service: string, table: RouteTable | undefined): boolean {
  const { ServiceName = '', State = '', VpcEndpointType, RouteTableIds = [], PrivateDnsEnabled = true } = endpoint;
  if (!ServiceName.endsWith(`.${service}`) || !/^available$/i.test(State)) return false;
  return VpcEndpointType === 'Gateway' ? RouteTableIds.includes(table?.RouteTableId ?? '') : PrivateDnsEnabled;
}
