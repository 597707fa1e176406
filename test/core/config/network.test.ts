import { describe, expect, test } from 'vitest';
import { configurationProblems } from '../../../core/config/configuration.ts';
import { exampleDeployment, NETWORK } from '../../../scripts/deployments.ts';

const CRM = { baseUrl: 'https://crm.corp.internal/api/v1', authUrl: 'https://auth.corp.internal' };

function complaints(network: object | undefined, crm: object = {}, more: object = {}): string[] {
  return configurationProblems({ crm: { ...CRM, ...crm }, ...more, ...(network && { network }) });
}

describe('a network', () => {
  test('is one VPC, its subnets and its security groups', () => {
    expect(complaints(NETWORK)).toEqual([]);
  });

  test.each<[string, object, string]>([
    [
      'that is a name',
      { vpcId: 'production' },
      'network.vpcId: must be the id of a VPC, such as "vpc-0123456789abcdef0"',
    ],
    ['without a subnet', { subnetIds: [] }, 'network.subnetIds: Too small: expected array to have >=1 items'],
    [
      'whose subnet is a security group',
      { subnetIds: ['sg-0123456789abcdef0'] },
      'network.subnetIds[0]: must be the id of a subnet, such as "subnet-0123456789abcdef0"',
    ],
    [
      'with a subnet twice',
      { subnetIds: [...NETWORK.subnetIds, ...NETWORK.subnetIds] },
      'network.subnetIds: names an id twice',
    ],
    [
      'with more security groups than Lambda takes',
      { securityGroupIds: [1, 2, 3, 4, 5, 6].map((digit) => `sg-0123456789abcdef${digit}`) },
      'network.securityGroupIds: Too big: expected array to have <=5 items',
    ],
  ])('%s is refused in one line', (_, part, line) => {
    expect(complaints({ ...NETWORK, ...part })).toEqual([line]);
  });
});

describe('a private host', () => {
  const named = (...privateHosts: string[]) => ({ fileHosts: ['files.corp.internal'], privateHosts });

  test.each(['crm.corp.internal', 'auth.corp.internal', 'files.corp.internal'])('may be %s', (host) => {
    expect(complaints(NETWORK, named(host))).toEqual([]);
  });

  test.each(['.corp.internal', '10.0.0.1', 'crm', '[fd00::1]', 'https://crm.corp.internal', 'CRM.corp.internal', ''])(
    'is one whole name, not %j',
    (host) => {
      expect(complaints(NETWORK, named(host))).toEqual([
        expect.stringMatching(/^crm\.privateHosts\[0\]: must be a whole host name in lower case, such as /),
      ]);
    },
  );

  test('that nothing calls is refused: it would be a mistake in its name', () => {
    expect(complaints(NETWORK, named('file.corp.internal'))).toEqual([
      'crm.privateHosts: names file.corp.internal, which is neither a host of the CRM nor one of `crm.fileHosts`',
    ]);
  });

  test('without a network is refused, but on one machine', () => {
    expect(complaints(undefined, named('files.corp.internal'))).toEqual([
      'crm.privateHosts: needs `network`: outside of your subnets no function reaches a private address',
    ]);
    expect(complaints(undefined, named('files.corp.internal'), { local: true })).toEqual([]);
  });

  test('is none unless it is named', () => {
    expect(exampleDeployment().crm.privateHosts).toBeUndefined();
    expect(exampleDeployment().network).toBeUndefined();
  });
});
