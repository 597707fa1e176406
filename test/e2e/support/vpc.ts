import { CreateSecurityGroupCommand, CreateSubnetCommand, CreateVpcCommand, EC2Client } from '@aws-sdk/client-ec2';
import { inject } from 'vitest';

/** The settings with which clients reach the local cloud. */
export function localPlace() {
  const credentials = { accessKeyId: '000000000000', secretAccessKey: 'local' };
  return { endpoint: inject('cloud').endpoint, region: 'us-east-1', credentials };
}

/** The setting `network` with a new VPC of the local cloud. */
export async function newNetwork() {
  const ec2 = new EC2Client(localPlace());
  const vpcId = (await ec2.send(new CreateVpcCommand({ CidrBlock: '10.77.0.0/16' }))).Vpc?.VpcId ?? '';
  const named = { GroupName: `calling-${vpcId}`, Description: 'lets https out', VpcId: vpcId };
  const { GroupId = '' } = await ec2.send(new CreateSecurityGroupCommand(named));
  const { Subnet } = await ec2.send(new CreateSubnetCommand({ VpcId: vpcId, CidrBlock: '10.77.1.0/24' }));
  return { vpcId, subnetIds: [Subnet?.SubnetId ?? ''], securityGroupIds: [GroupId] };
}
