import { expect, test } from 'vitest';
import { tableIdentity } from '../../../core/table/table-identity.ts';
import { deployment } from '../../support/builders.ts';

const MADE_OF = { plan: 'plan-1', hashKey: 'k'.repeat(64) };
const TABLES = { columns: { x: 'integer', y: 'date' }, except: ['c', 'e'], hash: ['d', 'f'] };
const BASE = { columns: { except: ['a', 'b'], labels: { Mobile: 'cell', Name: 'n' } }, tables: TABLES };

const identityOf = (leads: object = BASE, madeOf: Parameters<typeof tableIdentity>[1] = MADE_OF) =>
  tableIdentity(deployment({ entities: { leads } }).entities.leads, madeOf);

test('the identity of a table does not depend on the order of keys or names, nor on settings that change no row', () => {
  const identity = identityOf();

  expect(identity).toMatch(/^[0-9a-f]{16}$/);
  const turned = { hash: ['f', 'd'], except: ['e', 'c'], columns: { y: 'date', x: 'integer' } };
  expect(identityOf({ tables: turned, columns: { labels: { Name: 'n', Mobile: 'cell' }, except: ['b', 'a'] } })).toBe(
    identity,
  );
  expect(identityOf({ ...BASE, columns: { ...BASE.columns, required: ['x'] } })).toBe(identity);
  expect(identityOf({ ...BASE, changes: { key: 'id', ignore: ['x'] }, guards: {}, enabled: false })).toBe(identity);
});

const changed = (tables: object) => ({ ...BASE, tables: { ...TABLES, ...tables } });

test.each<[string, object]>([
  ['the type of a column', changed({ columns: { x: 'double', y: 'date' } })],
  ['a format of dates', changed({ columns: { x: 'integer', y: { type: 'date', format: 'DD/MM/YYYY' } } })],
  ['a column that is left out of the table', changed({ except: ['c'] })],
  ['a hashed column', changed({ hash: ['d'] })],
  ['the handling of values that do not fit', changed({ misfit: 'stop' })],
  ['the version', changed({ version: 2 })],
  ['a column that is left out of requests', { ...BASE, columns: { ...BASE.columns, except: ['a'] } }],
  ['a label of headers', { ...BASE, columns: { ...BASE.columns, labels: { Mobile: 'phone', Name: 'n' } } }],
])('the identity changes with a setting: %s', (_, leads) => {
  expect(identityOf(leads)).not.toBe(identityOf());
});

test('the identity changes if files have no header', () => {
  const tables = { columns: {} };
  expect(identityOf({ tables, columns: { header: 'none' } })).not.toBe(identityOf({ tables, columns: {} }));
});

test('the identity changes with the plan of the file, and with the hash key if columns are hashed', () => {
  expect(identityOf(BASE, { ...MADE_OF, plan: 'plan-2' })).not.toBe(identityOf());
  expect(identityOf(BASE, { ...MADE_OF, hashKey: 'j'.repeat(64) })).not.toBe(identityOf());
  const unhashed = { ...BASE, tables: { ...TABLES, hash: undefined } };
  expect(identityOf(unhashed, { ...MADE_OF, hashKey: null })).toBe(identityOf(unhashed));
});
