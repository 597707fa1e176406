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

/** What EC2 knows of a network. */
export interface NetworkFacts {
  /** The VPC of each subnet and security group that is there, by its id. */
  vpcs: Map<string, string>;
  routeTables: RouteTable[];
  endpoints: VpcEndpoint[];
}

/** Reads what there is of a network; what is not there is left out. */
export async function networkFacts({ ec2 }: Pick<Target, 'ec2'>, network: Network): Promise<NetworkFacts> {
  const { vpcId, subnetIds, securityGroupIds } = network;
  // By a filter: an id that is not there is no error then.
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
