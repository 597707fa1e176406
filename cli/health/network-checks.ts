import type { Route, RouteTable, VpcEndpoint } from '@aws-sdk/client-ec2';
import type { Deployment } from '../../core/config/deployment.ts';
import { canonicalText } from '../../core/json.ts';
import type { Target } from '../support/target.ts';
import {
  about,
  asRemark,
  broken,
  type Check,
  type Finding,
  holds,
  ifSeen,
  nameCalls,
  unknown,
} from './health-check.ts';
import type { Network, NetworkFacts } from './network-facts.ts';

interface NetworkContext {
  target: Pick<Target, 'ec2'>;
  deployment: Deployment | undefined;
  known: { file: Deployment | undefined } | undefined;
}

const ANYTHING = '`*`';

/** Checks the deployed network, and with warnings only a network that only the configuration file has. */
export const NETWORK_CHECK: Check<NetworkContext> = ifSeen({
  id: 'network',
  question: 'Have the functions in your subnets a way to the CRM and to AWS?',
  rights: ['Subnets', 'SecurityGroups', 'RouteTables', 'VpcEndpoints'].map(
    (what) => `ec2:Describe${what} on ${ANYTHING}`,
  ),
  look: async ({ target, deployment, known }) => {
    const file = known?.file;
    const isDeployed = canonicalText(file?.network) === canonicalText(deployment?.network);
    const deployed = deployment?.network ? await findings(target, deployment.network, deployment) : [];
    const planned = file?.network && !isDeployed ? await findings(target, file.network, file) : [];
    return [...deployed, ...planned.map((one) => asRemark(one, ' So it would be after the next deployment.'))];
  },
});

async function findings(target: Pick<Target, 'ec2'>, network: Network, { crm }: Deployment): Promise<Finding[]> {
  nameCalls(target as Target, ['ec2']);
  // Loaded only if there is a network to check: this client takes as long to load as all others together.
  const { networkFacts } = await import('./network-facts.ts');
  const facts = await networkFacts(target, network);
  const strangers = [...network.subnetIds, ...network.securityGroupIds].flatMap((id) =>
    strangerFinding(id, network, facts),
  );
  const ours = network.subnetIds.filter((id) => facts.vpcs.get(id) === network.vpcId);
  return [...strangers, ...ours.map((id) => about(id, subnetFinding(id, facts, isInternal(crm))))];
}

const CORRECT = 'Correct `network` in the configuration and deploy.';

/** A broken finding for an id that is not in the VPC. */
function strangerFinding(id: string, { vpcId }: Network, { vpcs }: NetworkFacts): Finding[] {
  const vpc = vpcs.get(id);
  if (vpc === vpcId) return [];
  const found = vpc ? `${id} is in ${vpc}, not in ${vpcId}.` : `There is no ${id} in this account and region.`;
  return [about(id, broken(found, CORRECT))];
}

/** Whether all hosts that functions call are in the user's own network. */
function isInternal({ baseUrl, authUrl, fileHosts, privateHosts = [] }: Deployment['crm']): boolean {
  const hosts = [...[baseUrl, authUrl].map((address) => URL.parse(address)?.hostname ?? ''), ...fileHosts];
  return hosts.every((host) => privateHosts.includes(host));
}

function subnetFinding(id: string, facts: NetworkFacts, internal: boolean): Finding {
  const table = routeTableOf(id, facts.routeTables);
  // The functions do not use IPv6.
  const routes = (table?.Routes ?? []).filter((one) => one.State !== 'blackhole' && !one.DestinationIpv6CidrBlock);
  const outward = routes.find(({ DestinationCidrBlock }) => DestinationCidrBlock === '0.0.0.0/0');
  if (outward?.NatGatewayId) return holds(`${id} leads to the NAT gateway ${outward.NatGatewayId}.`);
  const missing = AWS_SERVICES.filter(([service]) => !facts.endpoints.some((one) => serves(one, service, table)));
  const names = missing.map(([, name]) => name).join(', ');
  // If the default route leads to an internet gateway, no other route leads to AWS.
  const toInternet = outward?.GatewayId?.startsWith('igw-') === true;
  const behind = toInternet && missing.length > 0 ? undefined : routes.map(gatewayOf).find(Boolean);
  const lacking =
    missing.length > 0 ? ` It has no endpoint for ${names}.` : ' It has endpoints for all that AWS needs.';
  if (behind) return unknown(`${id} leads to ${behind}, and what is behind it cannot be told here.${lacking}`, TRY);
  const igw = toInternet ? ' An internet gateway is none, because functions have no public address.' : '';
  const found = `${id} has no way out: no route to a NAT gateway.${igw}${lacking}`;
  if (missing.length > 0 || !internal) return broken(found, ADVICE);
  return holds(`${found} Every host of the CRM is in \`crm.privateHosts\`.`);
}

const TRY = 'verify makes an export this way.';
const ADVICE =
  'Give the subnet a route 0.0.0.0/0 to a NAT gateway (docs/configuration.md, "A network of your own"), or name other subnets.';

/** The AWS services that functions in the subnets call, by the last part of the endpoint's service name. */
const AWS_SERVICES = [
  ['s3', 'S3'],
  ['dynamodb', 'DynamoDB'],
  ['secretsmanager', 'Secrets Manager'],
] as const;

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
