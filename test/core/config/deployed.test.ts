import { expect, test } from 'vitest';
import { deployedCrm, deployedOutputs, differencesFrom } from '../../../core/config/deployed.ts';
import { type Deployment, deploymentSchema } from '../../../core/config/deployment.ts';

const crm = { baseUrl: 'https://crm.example.com/api/v1', authUrl: 'https://auth.example.com' };
const filters = [{ field: 'email', operator: 'eq', value: 'someone@example.org' }];
const deployment = (changes: object = {}): Deployment =>
  deploymentSchema.parse({
    crm,
    alarms: { email: ['night@example.com'] },
    entities: { leads: { filters } },
    ...changes,
  });

const outputs = deployedOutputs(deployment());

test('the outputs tell the addresses and hide people and filters', () => {
  expect(deployedCrm(outputs)).toEqual({
    ...crm,
    scopes: ['openid', 'profile', 'global:export'],
    clientAuthentication: 'basic',
  });
  expect(JSON.stringify(outputs)).not.toMatch(/night@|someone/);
  expect(outputs.ConfigurationDigests).toMatch(/^(\S+:[0-9a-f]{8} )+\S+:[0-9a-f]{8}$/);
});

test('an equal configuration has no difference, in whatever order its keys stand', () => {
  expect(differencesFrom(outputs, deployment())).toEqual([]);
  const turned = [{ value: 'someone@example.org', operator: 'eq', field: 'email' }];
  expect(
    differencesFrom(outputs, deployment({ $schema: './x.json', entities: { leads: { filters: turned } } })),
  ).toEqual([]);
});

test('what only the deployed configuration has is a difference', () => {
  const more = { ...outputs, ConfigurationDigests: `${outputs.ConfigurationDigests} quarantine:01234567` };
  expect(differencesFrom(more, deployment())).toEqual([{ key: 'quarantine' }]);
});

test.for<[string, object, object[]]>([
  [
    'an address, with both values',
    { crm: { ...crm, authUrl: 'https://new.example.com' } },
    [{ key: 'crm.authUrl', deployed: 'https://auth.example.com', file: 'https://new.example.com' }],
  ],
  [
    'customer updates, which add a scope',
    { customerUpdates: true },
    [
      {
        key: 'crm.scopes',
        deployed: 'openid profile global:export',
        file: 'openid profile global:export customers:update',
      },
      { key: 'customerUpdates' },
    ],
  ],
  ['a field of the interface', { crm: { ...crm, emailField: 'mail' } }, [{ key: 'crm.emailField' }]],
  [
    'the plan of one entity',
    { entities: { leads: { filters }, meetings: { enabled: false } } },
    [{ key: 'entities.meetings' }],
  ],
  ['a plan that is gone', { entities: {} }, [{ key: 'entities.leads' }]],
  [
    'waits and the zone',
    { polling: { firstWaitSeconds: 7 }, timeZone: 'Asia/Jerusalem' },
    [{ key: 'timeZone' }, { key: 'polling' }],
  ],
  ['addresses of people', { alarms: {} }, [{ key: 'alarms' }]],
])('a difference is named: %s', ([, changes, expected]) => {
  const found = differencesFrom(outputs, deployment(changes));
  expect(found).toHaveLength(expected.length);
  expect(found).toEqual(expect.arrayContaining(expected));
});
