import { describe, expect, test } from 'vitest';
import { exceptedIn, labelsIn } from '../../../core/columns/left-out.ts';
import { isHeaderless, labelsOf, onlyOf, requiredOf, sheetsOf } from '../../../core/config/chosen-columns.ts';
import { deploymentSchema } from '../../../core/config/deployment.ts';
import { ENTITIES } from '../../../core/config/entities.ts';

const CRM = { baseUrl: 'https://crm.test/api/v1', authUrl: 'https://auth.test' };

/** The problems in the settings of leads, each with its path. */
function complaints(leads: object, others: object = {}): string[] {
  const { error } = deploymentSchema.safeParse({ crm: CRM, entities: { leads }, ...others });
  return error?.issues.map(({ path, message }) => `${path.join('.')}: ${message}`) ?? [];
}

const planOf = (leads: object) => deploymentSchema.parse({ crm: CRM, entities: { leads } }).entities.leads;

test('an entity has a complete plan, whether the configuration names it, or a part of its polling, or nothing', () => {
  const polling = { firstWaitSeconds: 10, largestWaitSeconds: 100, deadlineSeconds: 3600, createAgainSeconds: 300 };
  const { entities } = deploymentSchema.parse({
    crm: CRM,
    polling,
    entities: { leads: { polling: { deadlineSeconds: 60 } } },
  });

  const plan = {
    columns: 'all',
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

describe('columns as an object', () => {
  test('say what a list, or nothing, says', () => {
    const chosen = { only: ['id'], required: ['id'], labels: { Key: 'id' }, header: 'names' };

    expect(onlyOf(planOf({ columns: chosen }))).toEqual(['id']);
    expect(onlyOf(planOf({ columns: ['id'] }))).toEqual(['id']);
    expect(onlyOf(planOf({ columns: {} }))).toBeUndefined();
    expect(onlyOf(planOf({}))).toBeUndefined();
    expect(requiredOf(planOf({ columns: chosen }))).toEqual(['id']);
    expect(labelsOf(planOf({ columns: chosen }))).toEqual({ Key: 'id' });
    expect(labelsOf(planOf({}))).toEqual({});
    expect(isHeaderless(planOf({ columns: chosen }))).toBe(false);
    expect(isHeaderless(planOf({ columns: { header: 'none' } }))).toBe(true);
    expect(sheetsOf(planOf({ columns: { sheet: 'Leads', otherSheets: ['Legend'] } }))).toEqual({
      sheet: 'Leads',
      otherSheets: ['Legend'],
    });
    expect(sheetsOf(planOf({}))).toEqual({ sheet: undefined, otherSheets: [] });
  });

  test.each<[string, object, string]>([
    [
      'a column that only requests and except leaves out',
      { only: ['ID_number'], except: ['idNumber'] },
      'columns.only: names "ID_number", which `except` leaves out as "idNumber"',
    ],
    [
      'a required column that is not requested',
      { only: ['id'], required: ['name'] },
      'columns.required: names "name", which `only` does not request',
    ],
    ['a column twice', { only: ['id', 'id'] }, 'columns.only: names a column twice'],
    [
      'files without a header from which a column is left out',
      { header: 'none', except: ['id'] },
      'columns.header: must not be "none" beside `except`: nobody could see that a column is not there',
    ],
    [
      'texts of a header that there is not',
      { header: 'none', labels: { A: 'a' } },
      'columns.header: must not be "none" beside `labels`: there is no header that they could name',
    ],
    [
      'a path with a left-out column that belongs to no field',
      { except: ['idNumber'], labels: { 'lead.ID_NUMBER.text': null } },
      'columns.labels: maps "lead.ID_NUMBER.text" to null, which `except` leaves out',
    ],
    [
      'a sheet that is read and may be there besides',
      { sheet: 'Leads', otherSheets: ['Legend', 'Leads'] },
      'columns.otherSheets: names "Leads", which `sheet` reads',
    ],
    ['a text of nothing but separators', { labels: { '--': 'a' } }, 'columns.labels: has a text without letters'],
  ])('refuse %s', (_, columns, line) => {
    expect(complaints({ columns })).toEqual([`entities.leads.${line}`]);
  });

  test('may leave out by label', () => {
    expect(complaints({ columns: { except: ['מספר זהות', 'id_number', 'ת.ז.'] } })).toEqual([]);
  });
});

describe('kinds of files of which nothing is known', () => {
  test('are none unless the configuration names them', () => {
    expect(planOf({}).opaque).toEqual([]);
    expect(deploymentSchema.parse({ crm: CRM }).entities.leads.opaque).toEqual([]);
    expect(planOf({ opaque: ['xls', 'json', 'archive'] }).opaque).toEqual(['xls', 'json', 'archive']);
  });

  test.each<[string, object]>([
    ['`columns.except`', { columns: { except: ['id'] } }],
    ['`columns.required`', { columns: { required: ['id'] } }],
    ['`drift.retyped: "stop"`', { drift: { retyped: 'stop' } }],
    ['`guards.minRows`', { guards: { minRows: 0 } }],
    ['`tables`', { tables: {} }],
  ])('are refused beside %s', (what, settings) => {
    expect(complaints({ ...settings, opaque: ['json'] })).toEqual([
      expect.stringMatching(
        new RegExp(`^entities\\.leads\\.opaque: must be empty beside ${what.replace('.', '\\.')}: `),
      ),
    ]);
    expect(complaints({ ...settings, opaque: [] })).toEqual([]);
  });

  test.each(['xls', 'zip', 'json'])('%s is no format of content, and the sentence names the setting', (format) => {
    expect(complaints({}, { files: { formats: ['csv', format] } })).toEqual([
      'files.formats.1: must be "csv" or "xlsx"; `entities.ENTITY.opaque` publishes other kinds of files without checking them',
    ]);
  });
});

describe('a name in filters and sorts', () => {
  test.each([
    ['idNumber', 'itself'],
    ['ID_NUMBER', 'in other letters'],
    ['-lead.id-number', 'behind a sign and a path'],
    ['id number desc', 'before a direction'],
    ['ｉｄＮｕｍｂｅｒ', 'in full-width letters'],
    ['id\u00ADNumber', 'with a soft hyphen'],
  ])('%s: is found %s', (text) => {
    expect(exceptedIn([{ field: text }], ['idNumber'])).toEqual(['idNumber']);
    expect(exceptedIn([{ [text]: 1 }], ['idNumber'])).toEqual(['idNumber']);
  });

  test.each(['idNumberType', 'theIdNumber', 'id', 'number', '', 'id,number'])('%s: is another', (text) => {
    expect(exceptedIn([{ field: text }], ['idNumber'])).toEqual([]);
  });

  test('is looked for as a text, whatever signs it has', () => {
    expect(exceptedIn([{ field: 'a(b' }, { field: 'c+' }], ['a(b', 'c+', 'a.b'])).toEqual(['a(b', 'c+']);
  });

  test('a label is the whole of a text, or none', () => {
    expect(
      labelsIn([{ field: 'lead.מספר זהות' }, { by: '+Date of birth' }], ['מספר זהות', 'date-of-birth']),
    ).toHaveLength(2);
    expect(labelsIn([{ note: 'the date of birth is wrong' }], ['Date of birth'])).toEqual([]);
  });
});
