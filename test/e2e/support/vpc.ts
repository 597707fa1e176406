import { CreateSecurityGroupCommand, CreateSubnetCommand, CreateVpcCommand, EC2Client } from '@aws-sdk/client-ec2';
import { inject } from 'vitest';

/** The settings with which clients reach the local cloud. */
export function localPlace() {
  const credentials = { accessKeyId: '000000000000', secretAccessKey: 'local' };
  return { endpoint: inject('cloud').endpoint, region: 'us-east-1', credentials };
}

/** A VPC of the local cloud, with a security group. */
export async function newVpc() {
  const ec2 = new EC2Client(localPlace());
  const vpcId = (await ec2.send(new CreateVpcCommand({ CidrBlock: '10.77.0.0/16' }))).Vpc?.VpcId ?? '';
  const named = { GroupName: `calling-${vpcId}`, Description: 'lets https out', VpcId: vpcId };
  const group = (await ec2.send(new CreateSecurityGroupCommand(named))).GroupId ?? '';
  let subnets = 0;
  return {
    vpcId,
    group,
    subnet: async () => {
      subnets += 1;
      const block = { VpcId: vpcId, CidrBlock: `10.77.${subnets}.0/24` };
      return { subnetId: (await ec2.send(new CreateSubnetCommand(block))).Subnet?.SubnetId ?? '' };
    },
  };
}
