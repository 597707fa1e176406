import { expect, it, test } from 'vitest';
import type { TableSettings } from '../../../core/config/table-settings.ts';
import { tableColumnName, tableColumns } from '../../../core/table/table-columns.ts';
import { TableError } from '../../../core/table/table-error.ts';

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

test.each<[string, string[], Partial<TableSettings>, RegExp]>([
  ['two fields that differ only in letter case', ['Name', 'name'], {}, /"Name" and "name" would both be named "name"/],
  ['a field with the changed name of another field', ['date', 'date_'], {}, /both be named "date_"/],
  ['settings that leave out all columns', ['id'], { except: ['id'] }, /^The settings leave out all columns/],
  ['a typed hashed column', ['id'], { hash: ['id'], columns: { ID: 'integer' } }, /"id" is hashed, so it has no type/],
])('tableColumns refuses %s', (_, fields, settings, message) => {
  const columns = () => columnsOf(fields, settings);

  expect(columns).toThrow(TableError);
  expect(columns).toThrow(message);
});

it('tableColumns returns no column for a field without a name', () => {
  expect(columnsOf(['', 'id', ' '])).toMatchObject([{ name: 'id', place: 1 }]);
});
