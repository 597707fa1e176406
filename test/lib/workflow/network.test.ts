import { describe, expect, test } from 'vitest';
import { fullDeployment, NETWORK } from '../../../scripts/deployments.ts';
import { synthesise } from '../../../scripts/synthesise.ts';
import { resolved } from '../../../scripts/template.ts';
import { allOf, statementsOf } from '../support/template.ts';

const without = synthesise(fullDeployment());
const within = synthesise(fullDeployment({ network: NETWORK }));

const INTERFACES = [
  'ec2:AssignPrivateIpAddresses',
  'ec2:CreateNetworkInterface',
  'ec2:DeleteNetworkInterface',
  'ec2:DescribeNetworkInterfaces',
  'ec2:DescribeSubnets',
  'ec2:UnassignPrivateIpAddresses',
];
const CALLING = ['ApplyChunk', 'CheckStatus', 'CreateExport', 'DownloadFile'];

/** The functions in the subnets, by step name. */
const inSubnets = allOf(within, 'AWS::Lambda::Function').filter(([, { Properties }]) => Properties.VpcConfig);

test('exactly the functions that read the grant are in the subnets', () => {
  const readers = allOf(within, 'AWS::IAM::Policy').filter(([, policy]) =>
    statementsOf(policy).some(({ Action }) => [Action].flat().includes('secretsmanager:PutSecretValue')),
  );

  expect(inSubnets.map(([id]) => id.replace(/Function[0-9A-F]{8}$/, '')).sort()).toEqual(CALLING);
  expect(readers.map(([id]) => id.replace(/RoleDefaultPolicy[0-9A-F]{8}$/, '')).sort()).toEqual(CALLING);
  for (const [, { Properties }] of inSubnets) {
    const { subnetIds, securityGroupIds } = NETWORK;
    expect(Properties.VpcConfig).toEqual({ SubnetIds: subnetIds, SecurityGroupIds: securityGroupIds });
  }
});

test('no other resource differs, and without the setting the template has no network', () => {
  // Both templates without the parts that a network may change, and without digests of code and configuration.
  const rest = ({ Resources }: typeof within) => {
    const text = JSON.stringify(Resources, (key, value) => (['VpcConfig', 'S3Key'].includes(key) ? undefined : value));
    const plain = text.replaceAll(/(CurrentVersion|Configuration)[0-9A-Fa-f]{8,40}"/g, '$1"');
    return Object.fromEntries(
      Object.entries<(typeof Resources)[string]>(JSON.parse(plain)).map(([id, resource]) => {
        if (resource.Type !== 'AWS::IAM::Policy') return [id, resource];
        const ours = (action: string) => !action.startsWith('ec2:');
        const statements = statementsOf(resource)
          .map((statement) => ({ ...statement, Action: [statement.Action].flat().filter(ours) }))
          .filter(({ Action }) => Action.length > 0);
        return [id, { ...resource, Properties: { ...resource.Properties, PolicyDocument: statements } }];
      }),
    );
  };

  expect(rest(within)).toEqual(rest(without));
  expect(JSON.stringify(without)).not.toMatch(/VpcConfig|ec2:|AWS::EC2|NetworkSubnets/);
  expect(Object.values(within.Resources).filter(({ Type }) => Type.startsWith('AWS::EC2'))).toEqual([]);
});

describe('each function in the subnets', () => {
  test.each(inSubnets)('%s depends on the rights to create its network interfaces', (_, { DependsOn = [] }) => {
    const policies = DependsOn.map((id) => within.Resources[id]).filter((one) => one?.Type === 'AWS::IAM::Policy');
    const allowed = policies.flatMap((policy) => (policy ? statementsOf(policy) : [])).filter(isAllowed);

    expect(
      allowed
        .flatMap(({ Action }) => Action)
        .filter((action) => action.startsWith('ec2:'))
        .sort(),
    ).toEqual(INTERFACES);
  });

  test.each(inSubnets)('%s is denied these rights for its own code', (_, { Properties, DependsOn = [] }) => {
    const policies = DependsOn.map((id) => within.Resources[id]).filter((one) => one?.Type === 'AWS::IAM::Policy');
    const denied = policies.flatMap((policy) => (policy ? statementsOf(policy) : [])).filter((one) => !isAllowed(one));

    expect(denied.map(({ Action }) => Action.sort())).toEqual([INTERFACES]);
    expect(denied[0].Resource).toBe('*');
    expect(resolved(denied[0].Condition.ArnEquals['lambda:SourceFunctionArn'])).toBe(
      `arn:aws:lambda:AWS::Region:AWS::AccountId:function:${Properties.FunctionName}`,
    );
  });

  function isAllowed({ Effect }: { Effect: string }): boolean {
    return Effect === 'Allow';
  }
});

describe('the rule that CloudFormation checks before it creates resources', () => {
  const [[parameter, { Type, Default }] = ['', { Type: '', Default: '' }]] = Object.entries(
    within.Parameters ?? {},
  ).filter(([id]) => id.startsWith('Network'));

  test('requires that every subnet is in the VPC', () => {
    expect({ Type, Default }).toEqual({ Type: 'List<AWS::EC2::Subnet::Id>', Default: NETWORK.subnetIds.join(',') });
    expect(within.Rules?.NetworkSubnetsInVpc).toEqual({
      Assertions: [
        {
          Assert: { 'Fn::EachMemberEquals': [{ 'Fn::ValueOf': [parameter, 'VpcId'] }, NETWORK.vpcId] },
          AssertDescription: `network.subnetIds of the configuration names a subnet that is not in ${NETWORK.vpcId}.`,
        },
      ],
    });
  });

  test('checks the subnets of this deployment, not those of the previous one', () => {
    const [subnet = ''] = NETWORK.subnetIds;
    const other = synthesise(fullDeployment({ network: { ...NETWORK, subnetIds: [subnet] } }));

    expect(Object.keys(other.Parameters ?? {})).not.toContain(parameter);
  });
});
