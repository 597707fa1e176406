import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { fieldsOf, listedOf } from '../../../core/columns/column-changes.ts';
import { chooseColumns, columnsFor, type PublishedColumns } from '../../../core/columns/columns.ts';
import { fieldsNamedBy, fieldsNamedInRuns } from '../../../core/columns/left-out.ts';
import type { EntityPlan } from '../../../core/config/entity-settings.ts';
import type { ExportInput } from '../../../core/export/input.ts';
import { planFor } from '../../../core/export/plan.ts';
import { deployment } from '../../support/builders.ts';
import { failureOf } from '../../support/failures.ts';
import { expectTexts } from '../../support/screen.ts';

const field = (name: string, label: string | null = null) => ({ name, label, type: null });
const FIELDS = [
  field('id', 'מזהה'),
  field('firstName', 'שם פרטי'),
  field('IdNumber', 'מספר זהות'),
  field('phone', 'טלפון'),
];

const planWith = (settings: object): EntityPlan => deployment({ entities: { leads: settings } }).entities.leads;
const except = (...entries: string[]) => planWith({ columns: { except: entries } });
const leftOutOf = (plan: EntityPlan, fields: typeof FIELDS, published?: PublishedColumns) =>
  chooseColumns(planFor(plan, { entity: 'leads' }), fields, published);

describe('an entry of columns.except', () => {
  test.each([
    ['its exact name', 'IdNumber'],
    ['its name in another letter case', 'idNumber'],
    ['its name with separators', 'id_number'],
    ['its name in full-width letters', '\uFF29\uFF44\uFF2Eumber'],
    ['its label', 'מספר זהות'],
    ['its label with another separator', 'מספר-זהות'],
  ])('matches a column by %s', (_, entry) => {
    expect(fieldsNamedBy([entry], FIELDS)).toEqual([{ entry, name: 'IdNumber', label: 'מספר זהות' }]);
  });

  test('leaves out only the exact name if there is one, otherwise all columns it may mean, with a warning', () => {
    const fields = [field('idNumber'), field('id_number'), field('x', 'ID number')];

    const found = leftOutOf(except('id_number'), [...fields, field('id')]);
    expect(found).toMatchObject({ leftOut: [{ name: 'id_number' }], warnings: [] });
    const { leftOut, warnings } = leftOutOf(except('IDNUMBER'), [...fields, field('id')]);
    expect(leftOut.map(({ name }) => name)).toEqual(['idNumber', 'id_number', 'x']);
    expect(warnings).toHaveLength(1);
  });

  test('matches any name that differs only by letter case, separators or marks', () => {
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
        expect(fieldsNamedBy([text], [field('other1'), field(listed)])).toHaveLength(1);
      }),
    );
  });
});

describe('the requested columns', () => {
  const requested = async (columns: ExportInput['columns']) =>
    chooseColumns(planFor(planWith({}), { entity: 'leads', columns }), FIELDS, undefined).requested;

  test('are all that the CRM lists, in its order', async () => {
    expect(await requested('all')).toEqual(['id', 'firstName', 'IdNumber', 'phone']);
  });

  test('are those of a list, in the order of the list', async () => {
    expect(await requested(['phone', 'id'])).toEqual(['phone', 'id']);
  });

  test('that the CRM does not list are refused, each with the nearest name', async () => {
    const { message } = await failureOf(requested(['id', 'fristName', 'zzzzzzzz', 'PHONE']), 'ConfigInvalid');

    await expectTexts('columns-not-listed', [['requested columns', message]]);
  });

  test('that the CRM does not list make a message of less than 2,000 characters', async () => {
    const asked = Array.from({ length: 1000 }, (_, place) => `column-${place}-${'x'.repeat(200)}`);

    expect((await failureOf(requested(asked), 'ConfigInvalid')).message.length).toBeLessThan(2000);
  });
});

const last = (given: Partial<PublishedColumns> = {}): PublishedColumns => ({
  since: { date: '2026-11-19', execution: 'night-0' },
  fields: [field('id'), field('firstName'), field('phone')],
  leftOut: [{ entry: 'idNumber', name: 'IdNumber', label: 'מספר זהות' }],
  ...given,
});
const WITHOUT = FIELDS.filter(({ name }) => name !== 'IdNumber');

describe('an entry of columns.except that matches no listed column', () => {
  test('stops the run, and the message suggests the nearest name', async () => {
    const step = async () => leftOutOf(except('idNumbr', 'firstName'), FIELDS);
    const { message } = await failureOf(step(), 'ConfigInvalid');

    await expectTexts('left-out-not-listed', [['a left-out column', message]]);
  });

  test('only causes a warning if it matched a field at the last published export and no field was added since', () => {
    expect(leftOutOf(except('idNumber'), WITHOUT, last())).toMatchObject({
      leftOut: [{ entry: 'idNumber', name: 'IdNumber', label: 'מספר זהות' }],
      warnings: [expect.any(String)],
    });
  });

  test('causes no warning while it names the column of the last export, or if that column is gone', () => {
    expect(leftOutOf(except('idNumber'), FIELDS, last())).toMatchObject({
      leftOut: [{ name: 'IdNumber' }],
      warnings: [],
    });
    const other = [{ entry: 'phone', name: 'gone', label: 'phone' }];
    expect(leftOutOf(except('phone'), FIELDS, last({ leftOut: other }))).toMatchObject({ warnings: [] });
  });

  test.each<[string, PublishedColumns | undefined, typeof FIELDS]>([
    ['no export is published', undefined, WITHOUT],
    ['a field was added since', last(), [...WITHOUT, field('nationalId')]],
    ['the last export left out no column', last({ leftOut: [] }), WITHOUT],
    ['another entry matched it', last({ leftOut: [{ entry: 'IDNUMBER', name: 'IdNumber', label: null }] }), WITHOUT],
  ])('stops the run if %s', async (_, published, fields) => {
    const step = async () => leftOutOf(except('idNumber'), fields, published);

    expect((await failureOf(step(), 'ConfigInvalid')).message).toContain('"idNumber"');
  });

  test('stops the run even if another entry only causes a warning', async () => {
    const plan = except('idNumber', 'nothing');
    const published = last();
    const step = async () => leftOutOf(plan, WITHOUT, published);

    expect((await failureOf(step(), 'ConfigInvalid')).message).toContain('"nothing"');
  });
});

describe('a left-out column, in any spelling', () => {
  const choose = async (settings: object, input: Partial<ExportInput> = {}) =>
    chooseColumns(planFor(planWith(settings), { entity: 'leads', ...input }), FIELDS, undefined);
  const columns = { except: ['id_number'] };

  test.each<[string, Partial<ExportInput>]>([
    ['request it', { columns: ['id', 'IdNumber'] }],
    ['filter by it', { filters: [{ field: 'IdNumber' }] }],
    ['filter by it in another spelling', { filters: [{ field: 'lead.ID-NUMBER' }] }],
    ['filter by its label', { filters: [{ field: 'מספר זהות:' }] }],
    ['filter by it with a soft hyphen', { filters: [{ field: 'Id\u00adNumber' }] }],
    ['filter by its label in a path', { filters: [{ field: 'lead.מספר זהות' }] }],
    ['sort by its label', { sorts: [{ by: '-מספר זהות' }] }],
    ['sort by its label after signs', { sorts: [{ by: ' >מספר זהות' }] }],
  ])('is refused in an input that would %s', async (_, input) => {
    expect((await failureOf(choose({ columns }, input), 'InvalidInput')).message).toContain('(columns.except)');
  });

  test.each<[string, object]>([
    ['columns', { columns: { except: ['מספר זהות'], only: ['id', 'IdNumber'] } }],
    ['required columns', { columns: { except: ['מספר זהות'], required: ['IdNumber'] } }],
    ['filters', { columns: { except: ['מספר זהות'] }, filters: [{ field: 'idNumber' }] }],
    ['filters by its label', { columns, filters: [{ 'מספר זהות': 1 }] }],
  ])('is refused in %s of the configuration', async (_, settings) => {
    expect((await failureOf(choose(settings), 'ConfigInvalid')).message).toContain('"IdNumber"');
  });

  test('is not refused if the input replaces the filters that name it, nor if its label is part of a sentence', async () => {
    const settings = { columns, filters: [{ 'מספר זהות': 1 }] };

    const filters = [{ note: 'אין מספר זהות' }];
    expect((await choose(settings, { filters })).requested).toHaveLength(3);
    await failureOf(choose({ columns: { except: ['מספר זהות'] } }, { filters }), 'InvalidInput');
  });

  test('is not refused for signs in filters, even if its label has no letters', async () => {
    const fields = [field('id'), field('IdNumber', '-')];
    const input = { filters: [{ field: 'id', operator: '>=', value: '' }] };
    const plan = planFor(planWith({ columns }), { entity: 'leads', ...input });

    expect(await chooseColumns(plan, fields, undefined)).toMatchObject({ requested: ['id'] });
  });

  test('stays left out, with a warning, if its label moves to another column, which is left out too', async () => {
    const plan = except('מספר זהות');
    const moved = [field('id'), field('IdNumber', 'Number'), field('phone', 'מספר זהות')];
    const leftOut = [{ entry: 'מספר זהות', name: 'IdNumber', label: 'מספר זהות' }];

    const { requested, warnings } = leftOutOf(plan, moved, last({ leftOut }));

    expect(requested).toEqual(['id']);
    const several = leftOutOf(except('IDNUMBER'), [field('id_number'), field('x', 'ID number'), field('id')]);
    const gone = leftOutOf(except('idNumber'), WITHOUT, last());
    await expectTexts('left-out-warnings', [
      ['its label has moved to another column', warnings.join('\n')],
      ['it names several columns', several.warnings.join('\n')],
      ['the CRM no longer lists it', gone.warnings.join('\n')],
    ]);
  });

  test('stops the run if all columns are left out, because an empty request may mean every column', async () => {
    const step = async () => leftOutOf(except('idNumber'), [field('idNumber')]);

    const { message } = await failureOf(step(), 'ConfigInvalid');

    await expectTexts('all-columns-left-out', [['every column is left out', message]]);
  });
});

describe('a text that columns.labels maps to null', () => {
  const chosen = async (settings: object) =>
    chooseColumns(planFor(planWith(settings), { entity: 'leads' }), FIELDS, undefined);

  test('causes no warning while the CRM does not list it', async () => {
    expect((await chosen({ columns: { labels: { Remarks: null } } })).warnings).toEqual([]);
  });

  test('says nothing of a text that it maps to a hashed column', async () => {
    const { warnings } = await chosen({ columns: { labels: { Phone: 'phone' } }, tables: { hash: ['phone'] } });
    expect(warnings).toEqual([]);
  });

  test.each([
    ['its name', 'PHONE'],
    ['its label', 'טלפון'],
  ])('means the listed column, with a warning, once the CRM lists one by %s', async (_, text) => {
    const { warnings } = await chosen({ columns: { labels: { [text]: null } } });

    await expectTexts('label-listed-now', [['a text that is a column now', warnings.join('\n').replace(text, 'TEXT')]]);
  });

  test.each<[string, object]>([
    ['the label of a left-out column', { columns: { except: ['idNumber'], labels: { 'מספר זהות': null } } }],
    ['a path with its label', { columns: { labels: { 'lead.טלפון.text': null } }, tables: { hash: ['phone'] } }],
    ['the label of a hashed column', { columns: { labels: { 'טלפון:': null } }, tables: { hash: ['phone'] } }],
  ])('is refused if it is %s', async (_, settings) => {
    expect((await failureOf(chosen(settings), 'ConfigInvalid')).message).toContain('maps "');
  });
});

test('the fields of a manifest are the requested ones, then the others, without left-out columns', () => {
  const fields = [field('id', 'מזהה'), field('nationalId'), field('name')];
  const request = { columns: ['name'] };
  const excepted = fieldsNamedBy(['nationalId'], fields);

  expect(fieldsOf({ request, listed: listedOf(fields, request), excepted })).toEqual([
    field('name'),
    field('id', 'מזהה'),
  ]);
});

test('fieldsNamedInRuns finds an entry in the fields, left-out columns and file columns of earlier runs', () => {
  const request = { columns: ['id', 'phone'] };
  const run = {
    request,
    listed: listedOf([field('id'), field('phone', 'טלפון')], request),
    excepted: [{ entry: 'x', name: 'IdNumber', label: null }],
  };
  const namesOf = (entry: string) =>
    fieldsNamedInRuns(entry, ['id', 'phone', 'e_mail', 'City'], [run]).map(({ name }) => name);

  const known = ['טלפון', 'idNumber', 'email', 'city', 'gone'].map(namesOf);
  expect(known).toEqual([['phone'], ['IdNumber'], ['e_mail'], ['City'], []]);
  expect(namesOf('x')).toEqual(['IdNumber']);
});

describe('the listed columns, compared with those of the last published export', () => {
  const typed = (name: string, type: string | null = 'text', label: string | null = null) => ({ name, type, label });
  const [id, name, phone] = [typed('id', 'uuid', 'מזהה'), typed('name', 'text', 'שם'), typed('phone')];
  const email = typed('email');
  const national = typed('nationalId', 'text', 'תעודת זהות');
  const nationalLeftOut = { entry: 'nationalId', name: 'nationalId', label: 'תעודת זהות' };
  const before: PublishedColumns = { ...last(), fields: [id, name, phone], leftOut: [] };
  const NOTHING = { added: [], removed: [], retyped: [], unnamed: 0 };
  const compare = (fields: (typeof id)[], settings: object = {}, input: object = {}, published = before) =>
    columnsFor(planFor(planWith(settings), { entity: 'leads', date: '2026-11-20', ...input }), fields, published);

  const CHANGES: [what: string, fields: (typeof id)[], changes: object][] = [
    ['are the same in any order', [phone, name, id], {}],
    ['have a new one', [id, name, phone, email], { added: ['email'] }],
    ['have one less', [id, name], { removed: ['phone'] }],
    [
      'contain a column of another type; an unknown type is not a change',
      [typed('id', null, 'מזהה'), typed('name', 'html', 'שם'), phone],
      { retyped: [{ name: 'name', from: 'text', to: 'html' }] },
    ],
    ['do not contain a column with another label', [id, typed('name', 'text', 'שם מלא'), phone], {}],
  ];

  test.each(CHANGES)('%s', (_, fields, changes) => {
    const { drift, warnings, schemaChanges, requested } = compare(fields);

    expect(drift).toEqual({ since: before.since, ...NOTHING, ...changes });
    expect([schemaChanges, warnings.length]).toEqual(Array(2).fill(Object.keys(changes).length));
    expect(requested).toEqual(fields.map((field) => field.name));
  });

  test('have a warning for each kind of change', async () => {
    const changed = CHANGES.filter(([, , changes]) => Object.keys(changes).length > 0);

    await expectTexts(
      'changed-columns',
      changed.map(([what, fields]) => [what, compare(fields).warnings.join('\n')]),
    );
  });

  test('count a renamed column as removed and added, without a warning if drift accepts both', () => {
    const renamed = [id, name, typed('mobile')];
    const drift = { added: ['mobile'], removed: ['phone'] };

    expect(compare(renamed)).toMatchObject({ drift, schemaChanges: 2 });
    const accepting = { drift: { added: 'accept', removed: 'accept' } };
    expect(compare(renamed, accepting)).toMatchObject({ drift, warnings: [], schemaChanges: 0 });
  });

  test.each([
    ['added', [id, name, phone, email], '"email"'],
    ['removed', [id, name], '"phone"'],
    ['retyped', [id, typed('name', 'html', 'שם'), phone], '"name" (html, was text)'],
  ])(
    'stop the run if a column is %s and drift says "stop"; the cause names it and how to accept it',
    async (kind, fields, named) => {
      const stopping = { drift: { [kind]: 'stop' } };

      const { message } = await failureOf((async () => compare(fields, stopping))(), 'SchemaChanged');

      expect(message).toContain(`${named}. (drift.${kind})`);
      expect(message).toContain(' --accept-schema');
      expect(compare(fields, stopping, { acceptSchema: true })).toMatchObject({ schemaChanges: 1 });
    },
  );

  test('stop the run if a required column is missing, even if the change is accepted', async () => {
    const required = { columns: { required: ['phone'] } };
    const step = async () => compare([id, name], required, { acceptSchema: true });

    expect((await failureOf(step(), 'SchemaChanged')).message).toContain('leads must have "phone"');
  });

  test('do not count a column that is newly left out, or no longer left out', () => {
    const stopping = { drift: { added: 'stop', removed: 'stop' } };
    const excepting = { ...stopping, columns: { except: ['nationalId', 'PHONE'] } };
    const withoutNational = { ...before, leftOut: [nationalLeftOut] };

    expect(compare([id, name, phone, national], excepting)).toMatchObject({
      drift: NOTHING,
      leftOut: [nationalLeftOut, { entry: 'PHONE', name: 'phone', label: null }],
      requested: ['id', 'name'],
    });
    expect(compare([id, name, phone, national], stopping, {}, withoutNational)).toMatchObject({
      drift: NOTHING,
      warnings: [],
      requested: ['id', 'name', 'phone', 'nationalId'],
    });
  });

  test('count 3,000 changes, and name 50 of them', () => {
    const many = Array.from({ length: 3000 }, (_, place) => typed(`column${place}`));

    const { drift, schemaChanges, warnings } = compare([id, name, phone, ...many]);

    expect(schemaChanges).toBe(3000);
    expect(drift?.added).toHaveLength(50);
    expect(drift?.unnamed).toBe(2950);
    expect(warnings[0]).toMatch(/"column9" and 2990 more\.$/);
  });

  test('count a name that is not plain without quoting it', () => {
    const secret = 'sk-4eC39HqLyjWDarjtT1zdp7dc';

    const { drift, warnings, schemaChanges } = compare([id, name, phone, typed(secret)]);

    expect({ drift, schemaChanges }).toMatchObject({ drift: { ...NOTHING, unnamed: 1 }, schemaChanges: 1 });
    expect(JSON.stringify([drift, warnings])).not.toContain(secret);
  });
});
