import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { EntityPlan } from '../../../core/config/entity-settings.ts';
import { chooseColumns } from '../../../core/export/choose-columns.ts';
import type { ExportInput } from '../../../core/export/input.ts';
import { type LastPublished, leftOutOf, leftOutOfManifest, meantBy } from '../../../core/export/left-out.ts';
import { planDigest, planOf } from '../../../core/export/plan.ts';
import { deployment } from '../../support/builders.ts';
import { failureOf } from '../../support/failures.ts';

const field = (name: string, label: string | null = null) => ({ name, label, type: null });
const FIELDS = [
  field('id', 'מזהה'),
  field('firstName', 'שם פרטי'),
  field('IdNumber', 'מספר זהות'),
  field('phone', 'טלפון'),
];

const planWith = (settings: object): EntityPlan => deployment({ entities: { leads: settings } }).entities.leads;
const except = (...entries: string[]) => planWith({ columns: { except: entries } });

describe('an entry of columns.except', () => {
  test.each([
    ['its exact name', 'IdNumber'],
    ['a name in other letters', 'idNumber'],
    ['a name with separators', 'id_number'],
    ['a name in full-width letters', '\uFF29\uFF44\uFF2Eumber'],
    ['its label', 'מספר זהות'],
    ['its label, written otherwise', 'מספר-זהות'],
  ])('is found by %s', (_, entry) => {
    expect(meantBy([entry], FIELDS)).toEqual({
      leftOut: [{ entry, name: 'IdNumber', label: 'מספר זהות' }],
      unknown: [],
      remarks: [],
    });
  });

  test.each(['IdNumber', 'id_number', '"idNumber "', 'ID NUMBER'])('is found where the CRM lists it as %s', (name) => {
    expect(meantBy(['idNumber'], [field('id'), field(name)]).leftOut).toEqual([
      { entry: 'idNumber', name, label: null },
    ]);
  });

  test('is exact where there is such a name, and else leaves out all that it may mean, and says so', () => {
    const fields = [field('idNumber'), field('id_number'), field('x', 'ID number')];

    expect(meantBy(['id_number'], fields)).toMatchObject({ leftOut: [{ name: 'id_number' }], remarks: [] });
    const { leftOut, remarks } = meantBy(['IDNUMBER'], fields);
    expect(leftOut.map(({ name }) => name)).toEqual(['idNumber', 'id_number', 'x']);
    expect(remarks).toEqual([
      '"IDNUMBER" of columns.except means 3 columns, which are all left out: "idNumber", "id_number", "x".',
    ]);
  });

  test('whatever it is, leaves out a column that it names once both are folded', () => {
    const name = fc.stringMatching(/^[a-zA-Z][a-zA-Z_-]{0,12}$/);
    const written = name.chain((text) =>
      fc.record({
        text: fc.constant(text),
        listed: fc.constantFrom(
          text.toUpperCase(),
          text.toLowerCase(),
          text.replaceAll(/[_-]/g, ' '),
          ` ${text}`,
          `\u200F${text}`,
        ),
      }),
    );
    fc.assert(
      fc.property(written, ({ text, listed }) => {
        expect(meantBy([text], [field('other1'), field(listed)]).leftOut).toHaveLength(1);
      }),
    );
  });
});

const last = (given: Partial<LastPublished> = {}): LastPublished => ({
  date: '2026-11-19',
  plan: planDigest('leads', planOf(except('idNumber'))),
  fields: [field('id'), field('firstName'), field('phone')],
  leftOut: [{ entry: 'idNumber', name: 'IdNumber', label: 'מספר זהות' }],
  ...given,
});
const WITHOUT = FIELDS.filter(({ name }) => name !== 'IdNumber');

describe('an entry that names nothing that the CRM lists', () => {
  test('stops the run, with the nearest name', async () => {
    const step = async () => leftOutOf(except('idNumbr', 'firstName'), 'leads', FIELDS, undefined);

    expect((await failureOf(step(), 'ConfigInvalid')).message).toBe(
      'columns.except of leads names "idNumbr" (did you mean "IdNumber"?), which is no column in the list of the CRM (GET /leads/fields, 4 columns). Nothing is requested: the column may be there under another name. Correct the entry, or remove it.',
    );
  });

  test('goes on with a warning where it named a field at the last published export and no field has come since', () => {
    expect(leftOutOf(except('idNumber'), 'leads', WITHOUT, last())).toEqual({
      leftOut: [{ entry: 'idNumber', name: 'IdNumber', label: 'מספר זהות' }],
      remarks: [
        'The CRM no longer lists what columns.except names: "idNumber". No column has come since the export of 2026-11-19.',
      ],
    });
  });

  test.each<[string, LastPublished | undefined, typeof FIELDS]>([
    ['nothing is published', undefined, WITHOUT],
    ['a field has come since', last(), [...WITHOUT, field('nationalId')]],
    ['the last export is of another plan', last({ plan: 'a'.repeat(64) }), WITHOUT],
    ['its fields are not known', last({ fields: null }), WITHOUT],
    ['nothing was left out of it', last({ leftOut: [] }), WITHOUT],
    [
      'another entry named the field',
      last({ leftOut: [{ entry: 'IDNUMBER', name: 'IdNumber', label: null }] }),
      WITHOUT,
    ],
  ])('stops the run where %s', async (_, published, fields) => {
    const step = async () => leftOutOf(except('idNumber'), 'leads', fields, published);

    expect((await failureOf(step(), 'ConfigInvalid')).message).toContain('"idNumber"');
  });

  test('one of two is enough to stop it', async () => {
    const plan = except('idNumber', 'nothing');
    const published = last({ plan: planDigest('leads', planOf(plan)) });
    const step = async () => leftOutOf(plan, 'leads', WITHOUT, published);

    expect((await failureOf(step(), 'ConfigInvalid')).message).toMatch(/names "nothing", which/);
  });
});

describe('a column that is left out, however it is written', () => {
  const choose = async (settings: object, input: Partial<ExportInput> = {}) =>
    chooseColumns(planWith(settings), { entity: 'leads', ...input }, FIELDS, undefined);
  const columns = { except: ['id_number'] };

  test('is not requested', async () => {
    expect((await choose({ columns })).columns).toEqual(['id', 'firstName', 'phone']);
  });

  test.each<[string, Partial<ExportInput>]>([
    ['ask for it', { columns: ['id', 'IdNumber'] }],
    ['filter by it', { filters: [{ field: 'IdNumber' }] }],
    ['filter by it in other letters', { filters: [{ field: 'lead.ID-NUMBER' }] }],
    ['filter by its label', { filters: [{ field: 'מספר זהות:' }] }],
    ['sort by its label', { sorts: [{ by: '-מספר זהות' }] }],
  ])('cannot be had by an input that would %s', async (_, input) => {
    expect((await failureOf(choose({ columns }, input), 'InvalidInput')).message).toContain('(columns.except)');
  });

  test.each<[string, object]>([
    ['columns', { columns: { except: ['מספר זהות'], only: ['id', 'IdNumber'] } }],
    ['required columns', { columns: { except: ['מספר זהות'], required: ['IdNumber'] } }],
    ['filters', { columns: { except: ['מספר זהות'] }, filters: [{ field: 'idNumber' }] }],
    ['filters by its label', { columns, filters: [{ 'מספר זהות': 1 }] }],
  ])('cannot be had by %s of the configuration', async (_, settings) => {
    expect((await failureOf(choose(settings), 'ConfigInvalid')).message).toContain('"IdNumber"');
  });

  test('filters of the configuration do not stop an input with others; its label within a sentence names nothing', async () => {
    const settings = { columns, filters: [{ 'מספר זהות': 1 }] };

    expect((await choose(settings, { filters: [{ note: 'אין מספר זהות' }] })).columns).toHaveLength(3);
  });

  test('a listed column with almost the same name may be requested where the entry is exact', async () => {
    const fields = [field('nationalId'), field('national_id')];
    const chosen = chooseColumns(
      planWith({ columns: { except: ['nationalId'] } }),
      { entity: 'leads', columns: ['national_id'] },
      fields,
      undefined,
    );

    expect(chosen.columns).toEqual(['national_id']);
  });
});

test('what is left out today is found in the manifest of an earlier run: by its fields, what it left out, its request and header', () => {
  const manifest = {
    fields: [field('id'), field('phone', 'טלפון')],
    leftOut: [{ entry: 'x', name: 'IdNumber', label: null }],
    request: { columns: ['id', 'phone', 'e_mail'] },
    file: { header: ['id', 'City'] },
  };

  const found = leftOutOfManifest(['טלפון', 'idNumber', 'email', 'city', 'gone'], manifest);

  expect(found.map(({ name }) => name)).toEqual(['phone', 'IdNumber', 'e_mail', 'City', 'gone']);
});
