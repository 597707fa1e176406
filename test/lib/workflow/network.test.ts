import { describe, expect, test } from 'vitest';
import { fullDeployment, NETWORK } from '../../../scripts/deployments.ts';
import { synthesise } from '../../../scripts/synthesise.ts';
import { allOf, rightsIn } from '../support/template.ts';

const without = synthesise(fullDeployment());
const within = synthesise(fullDeployment({ network: NETWORK }));

const INTERFACES = [
  'ec2:AssignPrivateIpAddresses',
  'ec2:CreateNetworkInterface',
  'ec2:DeleteNetworkInterface',
  'ec2:DescribeNetworkInterfaces',
  'ec2:DescribeSubnets',
  'ec2:UnassignPrivateIpAddresses',
].join(' ');
const TRACES = 'xray:PutTelemetryRecords xray:PutTraceSegments';
const CALLING = ['ApplyChunk', 'CheckStatus', 'CreateExport', 'DownloadFile'];

test('exactly the functions that read the grant are in the subnets', () => {
  const readers = rightsIn(within).filter(([, , , actions]) => actions?.includes('secretsmanager:PutSecretValue'));
  const inSubnets = allOf(within, 'AWS::Lambda::Function').filter(([, { Properties }]) => Properties.VpcConfig);

  expect(readers.map(([role]) => role)).toEqual(CALLING.map((step) => `${step}Role`));
  expect(inSubnets.map(([id]) => id.replace(/Function[0-9A-F]{8}$/, '')).sort()).toEqual(CALLING);
  for (const [, { Properties, DependsOn }] of inSubnets) {
    const { subnetIds, securityGroupIds } = NETWORK;
    expect(Properties.VpcConfig).toEqual({ SubnetIds: subnetIds, SecurityGroupIds: securityGroupIds });
    expect(DependsOn, 'the rights to create its interfaces').toContainEqual(expect.stringContaining('DefaultPolicy'));
  }
});

test('these functions get the rights to create network interfaces, and their code is denied them', () => {
  const before = new Set(rightsIn(without).map(String));
  const added = rightsIn(within).filter((row) => !before.has(String(row)));

  const function_ = 'arn:aws:lambda:AWS::Region:AWS::AccountId:function:crm-export-example';
  expect(added).toEqual(
    CALLING.flatMap((step) => [
      [`${step}Role`, 'Allow', '*', `${INTERFACES} ${TRACES}`, '', 'its own'],
      [`${step}Role`, 'Deny', '*', INTERFACES, `ArnEquals lambda:SourceFunctionArn ${function_}-${step}`, 'its own'],
    ]),
  );
});

test('no other resource differs, and without the setting the template has no network', () => {
  // Both templates without policies, without parts that a network may change, and without digests.
  const rest = ({ Resources }: typeof within) => {
    const others = Object.entries(Resources).filter(([, { Type }]) => Type !== 'AWS::IAM::Policy');
    const text = JSON.stringify(others, (key, value) => (['VpcConfig', 'S3Key'].includes(key) ? undefined : value));
    return JSON.parse(text.replaceAll(/(CurrentVersion|Configuration)[0-9A-Fa-f]{8,40}"/g, '$1"'));
  };

  expect(rest(within)).toEqual(rest(without));
  expect(JSON.stringify(without)).not.toMatch(/VpcConfig|ec2:|AWS::EC2|NetworkSubnets/);
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
          AssertDescription: expect.stringMatching(`^network.subnetIds .* ${NETWORK.vpcId}\\.$`),
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
