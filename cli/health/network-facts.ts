import {
  DescribeSecurityGroupsCommand,
  DescribeSubnetsCommand,
  paginateDescribeRouteTables,
  paginateDescribeVpcEndpoints,
  type RouteTable,
  type VpcEndpoint,
} from '@aws-sdk/client-ec2';
import type { Deployment } from '../../core/config/deployment.ts';
import type { Target } from '../support/target.ts';

export type Network = NonNullable<Deployment['network']>;

/** Data from EC2 about a network. */
export interface NetworkFacts {
  /** The VPC of each existing subnet and security group, by id. */
  vpcs: Map<string, string>;
  routeTables: RouteTable[];
  endpoints: VpcEndpoint[];
}

/** Reads the existing parts of a network; missing parts are left out. */
export async function networkFacts({ ec2 }: Pick<Target, 'ec2'>, network: Network): Promise<NetworkFacts> {
  const { vpcId, subnetIds, securityGroupIds } = network;
  // Uses a filter, because a missing id in a filter is not an error.
  const by = (Name: string, ...Values: string[]) => ({ Filters: [{ Name, Values }] });
  const { Subnets = [] } = await ec2.send(new DescribeSubnetsCommand(by('subnet-id', ...subnetIds)));
  const { SecurityGroups = [] } = await ec2.send(
    new DescribeSecurityGroupsCommand(by('group-id', ...securityGroupIds)),
  );
  const facts: NetworkFacts = { vpcs: new Map(), routeTables: [], endpoints: [] };
  for (const { SubnetId = '', VpcId = '' } of Subnets) facts.vpcs.set(SubnetId, VpcId);
  for (const { GroupId = '', VpcId = '' } of SecurityGroups) facts.vpcs.set(GroupId, VpcId);
  for await (const page of paginateDescribeRouteTables({ client: ec2 }, by('vpc-id', vpcId))) {
    facts.routeTables.push(...(page.RouteTables ?? []));
  }
  for await (const page of paginateDescribeVpcEndpoints({ client: ec2 }, by('vpc-id', vpcId))) {
    facts.endpoints.push(...(page.VpcEndpoints ?? []));
  }
  return facts;
}
