import { describe, expect, test } from 'vitest';
import { exceptedIn, labelsIn } from '../../../core/columns/left-out.ts';
import { deploymentSchema } from '../../../core/config/deployment.ts';
import { ENTITIES } from '../../../core/config/entities.ts';

const CRM = { baseUrl: 'https://crm.test/api/v1', authUrl: 'https://auth.test' };

const COLUMNS = { except: [], required: [], labels: {}, header: 'names', otherSheets: [] };
const planOf = (leads: object) => deploymentSchema.parse({ crm: CRM, entities: { leads } }).entities.leads;

test('an entity has a complete plan even if the configuration names only a part of it, or nothing', () => {
  const polling = { firstWaitSeconds: 10, largestWaitSeconds: 100, deadlineSeconds: 3600, createAgainSeconds: 300 };
  const { entities } = deploymentSchema.parse({
    crm: CRM,
    polling,
    entities: { leads: { polling: { deadlineSeconds: 60 } } },
  });

  const plan = {
    columns: COLUMNS,
    extra: {},
    enabled: true,
    guards: { maxShrink: 0.5, maxGrowth: 10, maxIrregularShare: 0.01 },
    drift: { added: 'warn', removed: 'warn', retyped: 'warn' },
    opaque: [],
  };
  expect(Object.keys(entities).sort()).toEqual([...ENTITIES].sort());
  expect(entities.leads).toEqual({ ...plan, polling: { ...polling, deadlineSeconds: 60 } });
  expect(entities.contacts).toEqual({ ...plan, polling });
});

test.each<[unknown, object?]>([['all', {}], [['id'], { only: ['id'] }], [{ labels: { Key: 'id' }, sheet: 'Leads' }]])(
  'columns have defaults if they are given as %j',
  (columns, chosen = columns as object) => {
    expect(planOf({ columns }).columns).toEqual({ ...COLUMNS, ...chosen });
  },
);

describe('a name in filters and sorts', () => {
  test.each([
    ['idNumber', 'its exact name'],
    ['ID_NUMBER', 'its name in another spelling'],
    ['-lead.id-number', 'after a sign and a path'],
    ['id number desc', 'before a direction'],
    ['ｉｄＮｕｍｂｅｒ', 'in full-width letters'],
    ['id\u00ADNumber', 'with a soft hyphen'],
  ])('is found in "%s": %s', (text) => {
    expect(exceptedIn([{ field: text }], ['idNumber'])).toEqual(['idNumber']);
    expect(exceptedIn([{ [text]: 1 }], ['idNumber'])).toEqual(['idNumber']);
  });

  test.each(['idNumberType', 'theIdNumber', 'id', 'number', '', 'id,number'])('is not found in "%s"', (text) => {
    expect(exceptedIn([{ field: text }], ['idNumber'])).toEqual([]);
  });

  test('is matched as plain text even if it contains characters of a regular expression', () => {
    expect(exceptedIn([{ field: 'a(b' }, { field: 'c+' }], ['a(b', 'c+', 'a.b'])).toEqual(['a(b', 'c+']);
  });

  test('a label is found after a sign or a path, but not within a sentence', () => {
    expect(
      labelsIn([{ field: 'lead.מספר זהות' }, { by: '+Date of birth' }], ['מספר זהות', 'date-of-birth']),
    ).toHaveLength(2);
    expect(labelsIn([{ note: 'a date of birth, which is wrong' }], ['Date of birth'])).toEqual([]);
  });
});
