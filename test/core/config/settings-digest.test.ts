import { expect, test } from 'vitest';
import { settingsDigest } from '../../../core/config/settings-digest.ts';
import { deployment } from '../../support/builders.ts';

const digestOf = (leads: object) => settingsDigest(deployment({ entities: { leads } }).entities.leads);
const BASE = { columns: { except: ['a', 'b'] }, tables: { except: ['c'], hash: ['d'] } };

test('the digest does not depend on the order of names, nor on settings that hide nothing', () => {
  const digest = digestOf(BASE);

  expect(digest).toMatch(/^[0-9a-f]{16}$/);
  expect(digestOf({ ...BASE, columns: { except: ['b', 'a'] } })).toBe(digest);
  expect(digestOf({ ...BASE, tables: { ...BASE.tables, columns: { x: 'integer' } } })).toBe(digest);
  expect(digestOf({ ...BASE, columns: { except: ['a', 'b'], required: ['x'] } })).toBe(digest);
});

test.each([
  ['a column that requests leave out', { ...BASE, columns: { except: ['a'] } }],
  ['a column that the table leaves out', { ...BASE, tables: { except: ['c', 'e'], hash: ['d'] } }],
  ['a hashed column', { ...BASE, tables: { except: ['c'] } }],
  ['a column that is hashed in place of being left out', { ...BASE, tables: { hash: ['c', 'd'] } }],
  ['where a column is left out', { columns: { except: ['a', 'b', 'c'] }, tables: { hash: ['d'] } }],
])('the digest is another with %s', (_, leads) => {
  expect(digestOf(leads)).not.toBe(digestOf(BASE));
});
