import { expect, test } from 'vitest';
import { listedOf } from '../../../core/columns/column-changes.ts';
import type { RunColumns } from '../../../core/columns/left-out.ts';
import { chosenColumnsOf } from '../../../core/config/chosen-columns.ts';
import { CONTENT_NOT_READ } from '../../../core/gate/facts.ts';
import { hiddenColumns } from '../../../core/table/table-columns.ts';
import { TableError } from '../../../core/table/table-error.ts';
import { manifestOf } from '../../support/manifests.ts';

/** A plan with these settings of hidden columns. */
const planOf = (
  except: string[],
  tables?: { except?: string[]; hash?: string[] },
): Parameters<typeof hiddenColumns>[1] => ({
  columns: chosenColumnsOf({ except }),
  tables: tables && { columns: {}, misfit: 'null', version: 1, ...tables },
});
const runColumns = (
  fields: [name: string, label?: string][],
  leftOut: [entry: string, name: string][] = [],
): RunColumns => ({
  request: { columns: fields.map(([name]) => name) },
  listed: listedOf(
    fields.map(([name, label = null]) => ({ name, label, type: null })),
    { columns: fields.map(([name]) => name) },
  ),
  excepted: leftOut.map(([entry, name]) => ({ entry, name, label: null })),
});
/** The hidden columns of a file with these names. @param runs its own run, then the newest one */
const hiddenOf = (header: string[], [run, newest]: [RunColumns, RunColumns?], plan: ReturnType<typeof planOf>) =>
  hiddenColumns({ ...manifestOf({ file: { header } }), run }, plan, newest);
const LISTED = runColumns([['id'], ['idNumber', 'מספר זהות'], ['phone', 'Mobile phone']]);
const NAMES = ['id', 'idNumber', 'phone'];

test.each([
  ['its name', 'idNumber'],
  ['its label in another spelling', '\u200fמספר-זהות'],
])('leaves out a column by %s', (_, entry) => {
  expect(hiddenOf(NAMES, [LISTED], planOf([entry])).except).toEqual(['idNumber']);
});

test('leaves out a renamed column of an older file', () => {
  const older = runColumns([['id'], ['IdNumber']]);
  const newest = runColumns([['id']], [['idNumber', 'idNumber']]);

  expect(hiddenOf(['id', 'IdNumber'], [older, newest], planOf(['idNumber'])).except).toEqual(['IdNumber']);
});

test('leaves out a column of an older file by the label that it has in the newest manifest', () => {
  const older = runColumns([['id'], ['idNumber', 'Teudat Zehut']]);
  const newest = runColumns([['id']], [['National ID', 'idNumber']]);

  expect(hiddenOf(['id', 'idNumber'], [older, newest], planOf(['National ID'])).except).toEqual(['idNumber']);
});

test('throws TableError for an entry that no manifest knows, because its column may have any name', () => {
  const hidden = () => hiddenOf(NAMES, [LISTED], planOf(['nationalId']));

  expect(hidden).toThrow(TableError);
  expect(hidden).toThrow('"nationalId"');
});

test('accepts an entry whose column was left out of the request', () => {
  const { except } = hiddenOf(['id'], [runColumns([['id']], [['taxId', 'taxId']])], planOf(['taxId']));

  expect(except).toEqual([]);
});

test('matches tables.except and tables.hash by label and in another spelling', () => {
  const hidden = hiddenOf(NAMES, [LISTED], planOf([], { except: ['MOBILE PHONE'], hash: ['id number'] }));

  expect(hidden).toEqual({ except: ['phone'], hash: ['idNumber'] });
});

test.each(['except', 'hash'])('throws if the file does not have the column that `tables.%s` names', (key) => {
  const hidden = () => hiddenOf(['id'], [runColumns([['id'], ['phone']])], planOf([], { [key]: ['phone'] }));

  expect(hidden).toThrow(TableError);
  expect(hidden).toThrow(`tables.${key}`);
});

const unread = { ...CONTENT_NOT_READ, width: 3 };

test.each([
  ['has no header', { header: null, content: { ...unread, headed: false } }],
  ['has a header that was released', { header: null, content: { ...unread, firstRecord: 'f' } }],
  [
    'has a header like one that was released',
    { header: NAMES, content: { ...unread, headed: true, firstRecord: 'f' } },
  ],
])('throws if the file %s: any of its columns may be one that is left out or hashed', (_, file) => {
  const manifest = { ...manifestOf({ file }), run: LISTED };

  for (const plan of [planOf(['phone']), planOf([], { except: ['phone'] }), planOf([], { hash: ['phone'] })])
    expect(() => hiddenColumns(manifest, plan)).toThrow(TableError);
  expect(hiddenColumns(manifest, planOf([])).except).toEqual([]);
});
