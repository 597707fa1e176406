import { expect, test } from 'vitest';
import { deployedBy, deployedOf, differencesFrom, mailDigest, metadataOf } from '../../../core/config/deployed.ts';
import { type Deployment, deploymentSchema } from '../../../core/config/deployment.ts';
import { ENTITIES, type Entity } from '../../../core/config/entities.ts';
import { timingOf } from '../../../core/config/timing.ts';

const crm = { baseUrl: 'https://crm.example.com/api/v1', authUrl: 'https://auth.example.com' };
const filters = [{ field: 'email', operator: 'eq', value: 'someone@example.org' }];
const deployment = (changes: object = {}): Deployment =>
  deploymentSchema.parse({
    crm,
    alarms: { email: ['night@example.com'] },
    entities: { leads: { filters, extra: { token: 'someone-else' } } },
    ...changes,
  });

const deployed = deployedOf(deployment());

test('deployedOf contains all settings with defaults, and hides email addresses, filters and extra keys', () => {
  expect(deployed.crm).toEqual(deployment().crm);
  expect(Object.keys(deployed.entities)).toEqual([...ENTITIES]);
  expect(deployed.entities.meetings).toMatchObject({ columns: 'all', enabled: true, polling: deployment().polling });
  const digest = expect.stringMatching(/^[0-9a-f]{8}$/);
  expect(deployed.entities.leads).toMatchObject({ filters: [{ digest, dependsOnDate: false }], extra: { digest } });
  expect(deployed.entities.meetings).not.toHaveProperty('filters');
  expect(deployed.alarms.email).toEqual([mailDigest('NIGHT@example.com')]);
  expect(JSON.stringify(deployed)).not.toMatch(/night@|someone/);
});

test('deployedOf shows whether a filter depends on the date', () => {
  const dated = [{ field: 'createdAt', value: { $date: 'day-1d' } }];
  const { leads } = deployedOf(deployment({ entities: { leads: { filters: dated } } })).entities;
  expect(leads.filters).toMatchObject([{ dependsOnDate: true }]);
});

test('deployedBy returns what metadataOf wrote, even with Hebrew letters and a key "Ref"', () => {
  const columns = { only: Array.from({ length: 500 }, (_, n) => `שדה_${n}`), labels: { 'טלפון נייד': 'שדה_1' } };
  const changes = { timeZone: 'Asia/Jerusalem', entities: { leads: { columns, filters, sorts: [{ Ref: 'x' }] } } };
  const told = deployedOf(deployment(changes));
  const metadata = metadataOf(told);

  expect(JSON.stringify(metadata)).toMatch(/^\{"\w+":"[\w+/=]+"\}$/);
  expect(deployedBy(metadata)).toEqual(told);
});

test('a start in local time keeps the zone offsets of its deployment, even if zone data change', () => {
  const night = deployment({ timeZone: 'Africa/Casablanca', nightly: { at: '02:30' } });
  const told = deployedBy(metadataOf(deployedOf({ ...night, zoneOffsets: [0, 60, 120] })));
  expect(told && timingOf(told, 'leads').starts).toEqual(['00:30', '01:30', '02:30']);
});

function withoutEntity(entity: Entity): Record<string, string> {
  const { [entity]: _, ...entities } = deployed.entities;
  return metadataOf({ ...deployed, entities: entities as typeof deployed.entities });
}

test.each([
  ['no metadata', undefined],
  ['metadata of other tools', { 'AWS::CloudFormation::Interface': {} }],
  ['metadata of another form', { CrmExportConfiguration1: { Ref: 'x' } }],
  ['a configuration without one of the entities', withoutEntity('meetings')],
])('deployedBy returns undefined for a template with %s', (_, metadata) => {
  expect(deployedBy(metadata)).toBeUndefined();
});

test('differencesFrom returns nothing for another order of keys or other zone data', () => {
  expect(differencesFrom({ ...deployed, zoneOffsets: [0] }, deployment())).toEqual([]);
  const turned = [{ value: 'someone@example.org', operator: 'eq', field: 'email' }];
  const entities = { leads: { filters: turned, extra: { token: 'someone-else' } } };
  expect(differencesFrom(deployed, deployment({ $schema: './x.json', entities }))).toEqual([]);
});

test('differencesFrom lists a setting that only the deployed release has', () => {
  const more = { ...deployed, quarantine: { days: 3 } };
  const values = { deployed: 3, file: undefined };
  expect(differencesFrom(more, deployment())).toEqual([{ path: 'quarantine.days', values }]);
});

const entities = { leads: { filters, extra: { token: 'someone-else' } } };

test.for<[string, object, object[]]>([
  [
    'a changed address',
    { crm: { ...crm, authUrl: 'https://new.example.com' } },
    [{ path: 'crm.authUrl', values: { deployed: 'https://auth.example.com', file: 'https://new.example.com' } }],
  ],
  [
    'customer updates, which add a scope',
    { customerUpdates: true },
    [
      {
        path: 'crm.scopes',
        values: {
          deployed: ['openid', 'profile', 'global:export'],
          file: ['openid', 'profile', 'global:export', 'customers:update'],
        },
      },
      { path: 'customerUpdates', values: { deployed: false, file: true } },
    ],
  ],
  [
    'a new part of a plan',
    { entities: { ...entities, meetings: { tables: { version: 2 } } } },
    [
      { path: 'entities.meetings.tables.columns', values: { deployed: undefined, file: {} } },
      { path: 'entities.meetings.tables.misfit', values: { deployed: undefined, file: 'null' } },
      { path: 'entities.meetings.tables.version', values: { deployed: undefined, file: 2 } },
    ],
  ],
  [
    'filters of an entity whose name has two words',
    { entities: { ...entities, 'agent-numbers': { filters, extra: { token: 'someone-else' } } } },
    [{ path: 'entities.agent-numbers.filters' }, { path: 'entities.agent-numbers.extra' }],
  ],
  [
    'filters and extra keys, without their values',
    { entities: {} },
    [{ path: 'entities.leads.filters' }, { path: 'entities.leads.extra' }],
  ],
  [
    'waits of all entities, only once',
    { polling: { firstWaitSeconds: 7 } },
    [{ path: 'polling.firstWaitSeconds', values: { deployed: 15, file: 7 } }],
  ],
  [
    'waits of one entity',
    { entities: { ...entities, meetings: { polling: { firstWaitSeconds: 7 } } } },
    [{ path: 'entities.meetings.polling.firstWaitSeconds', values: { deployed: 15, file: 7 } }],
  ],
  ['email addresses, without their values', { alarms: {} }, [{ path: 'alarms.email' }]],
])('differencesFrom lists %s', ([, changes, expected]) => {
  const found = differencesFrom(deployed, deployment(changes));
  expect(found.toSorted(byPath)).toEqual(expected.toSorted(byPath));
});

const byPath = (one: object, other: object) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1);
