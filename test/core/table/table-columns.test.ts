import { expect, it, test } from 'vitest';
import type { TableSettings } from '../../../core/config/table-settings.ts';
import { tableColumnName, tableColumns } from '../../../core/table/table-columns.ts';
import { TableError } from '../../../core/table/table-error.ts';
import { expectMessages } from '../../support/screen.ts';

test.each([
  ['firstName', 'firstname'],
  [' Full name ', 'full_name'],
  ['שם מלא', 'שם_מלא'],
  ['a-b.c', 'a_b_c'],
  ['Cafe\u0301', 'caf\u00e9'],
  ['Date', 'date_'],
  ['entity', 'entity_'],
])('the field %j becomes the column %j', (field, name) => {
  expect(tableColumnName(field)).toBe(name);
});

const columnsOf = (fields: string[], settings: Partial<TableSettings> = {}) =>
  tableColumns(fields, { columns: {}, ...settings });

it('tableColumns returns every field as text, in the order of the file', () => {
  expect(columnsOf(['id', 'Name'])).toEqual([
    { name: 'id', place: 0, type: 'text', hashed: false },
    { name: 'name', place: 1, type: 'text', hashed: false },
  ]);
});

it('tableColumns applies except, hash and types in any letter case', () => {
  const settings = { columns: { Total: 'integer' as const }, except: ['NOTES'], hash: ['idnumber'] };

  expect(columnsOf(['notes', 'idNumber', 'total'], settings)).toEqual([
    { name: 'idnumber', place: 1, type: 'text', hashed: true },
    { name: 'total', place: 2, type: 'integer', hashed: false },
  ]);
});

test('tableColumns refuses columns that cannot be told apart, and settings that contradict each other', async () => {
  const refused: [what: string, fields: string[], settings?: Partial<TableSettings>][] = [
    ['two fields that differ only in letter case', ['Name', 'name']],
    ['a field with the changed name of another field', ['date', 'date_']],
    ['settings that leave out all columns', ['id'], { except: ['id'] }],
    ['a typed hashed column', ['id'], { hash: ['id'], columns: { ID: 'integer' } }],
  ];
  const told = refused.map(async ([what, ...given]) => {
    const error = await (async () => columnsOf(...given))().catch((thrown: unknown) => thrown);
    expect(error, what).toBeInstanceOf(TableError);
    return [what, (error as TableError).message] as const;
  });
  await expectMessages('table-columns-refused', await Promise.all(told));
});

it('tableColumns returns no column for a field without a name', () => {
  expect(columnsOf(['', 'id', ' '])).toMatchObject([{ name: 'id', place: 1 }]);
});
