import { expect, test } from 'vitest';
import { listedOf } from '../../../core/columns/column-changes.ts';
import type { RunColumns } from '../../../core/columns/left-out.ts';
import { coveredColumns } from '../../../core/table/covered-columns.ts';
import { TableError } from '../../../core/table/table-error.ts';

/** A plan with these settings of hidden columns. */
const planOf = (
  except: string[],
  tables?: { except?: string[]; hash?: string[] },
): Parameters<typeof coveredColumns>[2] => ({
  columns: except.length > 0 ? { except } : 'all',
  tables: tables && { columns: {}, misfit: 'null', version: 1, ...tables },
});
const told = (fields: [name: string, label?: string][], leftOut: [entry: string, name: string][] = []): RunColumns => ({
  request: { columns: fields.map(([name]) => name) },
  listed: listedOf(
    fields.map(([name, label = null]) => ({ name, label, type: null })),
    { columns: fields.map(([name]) => name) },
  ),
  excepted: leftOut.map(([entry, name]) => ({ entry, name, label: null })),
});
const LISTED = told([['id'], ['idNumber', 'מספר זהות'], ['phone', 'Mobile phone']]);
const NAMES = ['id', 'idNumber', 'phone'];

test.each([
  ['its name', 'idNumber'],
  ['its label, written otherwise', '\u200fמספר-זהות'],
])('a column is left out by %s', (_, entry) => {
  expect([...coveredColumns(NAMES, [LISTED], planOf([entry])).left]).toEqual(['idNumber']);
});

test('a column that the CRM has renamed since is left out of the older file too', () => {
  const older = told([['id'], ['IdNumber']]);
  const newest = told([['id']], [['idNumber', 'idNumber']]);

  expect([...coveredColumns(['id', 'IdNumber'], [older, newest], planOf(['idNumber'])).left]).toEqual(['IdNumber']);
});

test('a column that has another label since is left out of the older file too, for the newest manifest knows it', () => {
  const older = told([['id'], ['idNumber', 'Teudat Zehut']]);
  const newest = told([['id']], [['National ID', 'idNumber']]);

  expect([...coveredColumns(['id', 'idNumber'], [older, newest], planOf(['National ID'])).left]).toEqual(['idNumber']);
});

test('an entry that no manifest knows makes no table: its column may be there under any name', () => {
  const covered = () => coveredColumns(NAMES, [LISTED], planOf(['nationalId']));

  expect(covered).toThrow(TableError);
  expect(covered).toThrow(/^No published file shows which column the entry "nationalId" of `columns\.except` means/);
});

test('an entry whose column the file does not have is known by what was left out of its request', () => {
  const { left } = coveredColumns(['id'], [told([['id']], [['taxId', 'taxId']])], planOf(['taxId']));

  expect([...left]).toEqual([]);
});

test('what the table alone leaves out or hashes is found by label and spelling as well', () => {
  const { left, hashed } = coveredColumns(
    NAMES,
    [LISTED],
    planOf([], { except: ['MOBILE PHONE'], hash: ['id number'] }),
  );

  expect([[...left], [...hashed]]).toEqual([['phone'], ['idNumber']]);
});

test.each(['except', 'hash'])('a column that `tables.%s` names and the file lacks makes no table', (key) => {
  const covered = () => coveredColumns(['id'], [told([['id'], ['phone']])], planOf([], { [key]: ['phone'] }));

  expect(covered).toThrow(new RegExp(`has no column "phone", which \`tables\\.${key}\` names`));
});
