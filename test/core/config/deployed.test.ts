import { expect, test } from 'vitest';
import { deployedBy, deployedOf, differencesFrom, metadataOf } from '../../../core/config/deployed.ts';
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

test('deployedOf contains all settings with defaults, and hides filters and extra keys', () => {
  const { entities, ...others } = deployment();
  const digest = expect.stringMatching(/^[0-9a-f]{8}$/);

  expect(deployed).toEqual({
    ...others,
    entities: expect.objectContaining({ meetings: { ...entities.meetings, extra: { digest } } }),
  });
  expect(Object.keys(deployed.entities)).toEqual([...ENTITIES]);
  expect(deployed.entities.leads).toMatchObject({ filters: [{ digest, dependsOnDate: false }], extra: { digest } });
  expect(JSON.stringify(deployed)).not.toMatch(/someone/);
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

test.each([
  ['all', undefined],
  [['id'], ['id']],
])('deployedBy reads columns in the form %j of an earlier release', (columns, only) => {
  const told = JSON.parse(JSON.stringify(deployed));
  told.entities.leads.columns = columns;

  expect(deployedBy(metadataOf(told))?.entities.leads.columns).toMatchObject({ only, except: [] });
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

const changed = (path: string, was: unknown, file: unknown) => ({ path, values: { deployed: was, file } });
const moved = (authUrl: string) => ({ crm: { ...crm, authUrl } });
const NEW_URL = 'https://new.example.com';
const leads = 'entities.leads';
const meetings = 'entities.meetings';
const slow = { polling: { firstWaitSeconds: 7 } };
const agents = { 'agent-numbers': { filters, extra: { token: 'someone-else' } } };

test.for<[string, object, object[]]>([
  ['a changed address', moved(NEW_URL), [changed('crm.authUrl', crm.authUrl, NEW_URL)]],
  [
    'a new part of a plan',
    { entities: { ...entities, meetings: { tables: { version: 2 } } } },
    [
      changed(`${meetings}.tables.columns`, undefined, {}),
      changed(`${meetings}.tables.misfit`, undefined, 'null'),
      changed(`${meetings}.tables.version`, undefined, 2),
    ],
  ],
  [
    'filters of an entity whose name has two words',
    { entities: { ...entities, ...agents } },
    [{ path: 'entities.agent-numbers.filters' }, { path: 'entities.agent-numbers.extra' }],
  ],
  ['filters and extra keys, no values', { entities: {} }, [{ path: `${leads}.filters` }, { path: `${leads}.extra` }]],
  ['waits of all entities, only once', slow, [changed('polling.firstWaitSeconds', 15, 7)]],
  ['one wait', { entities: { ...entities, meetings: slow } }, [changed(`${meetings}.polling.firstWaitSeconds`, 15, 7)]],
  ['email addresses, without their values', { alarms: {} }, [{ path: 'alarms.email' }]],
])('differencesFrom lists %s', ([, changes, expected]) => {
  const found = differencesFrom(deployed, deployment(changes));
  expect(found.toSorted(byPath)).toEqual(expected.toSorted(byPath));
});

const byPath = (one: object, other: object) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1);
