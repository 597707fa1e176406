import { expect, test } from 'vitest';
import { settingsDigest } from '../../../core/config/settings-digest.ts';
import { deployment } from '../../support/builders.ts';

const digestOf = (leads: object) => settingsDigest(deployment({ entities: { leads } }).entities.leads);
const BASE = { columns: { except: ['a', 'b'] }, tables: { except: ['c'], hash: ['d'] } };

test('the digest does not depend on the order of names, nor on settings that hide no column', () => {
  const digest = digestOf(BASE);

  expect(digest).toMatch(/^[0-9a-f]{16}$/);
  expect(digestOf({ ...BASE, columns: { except: ['b', 'a'] } })).toBe(digest);
  expect(digestOf({ ...BASE, tables: { ...BASE.tables, columns: { x: 'integer' } } })).toBe(digest);
  expect(digestOf({ ...BASE, columns: { except: ['a', 'b'], required: ['x'] } })).toBe(digest);
});

test.each([
  ['another list of columns left out of requests', { ...BASE, columns: { except: ['a'] } }],
  ['another list of columns left out of the table', { ...BASE, tables: { except: ['c', 'e'], hash: ['d'] } }],
  ['no hashed column', { ...BASE, tables: { except: ['c'] } }],
  ['a column that is hashed instead of left out', { ...BASE, tables: { hash: ['c', 'd'] } }],
  [
    'a column left out of requests instead of the table',
    { columns: { except: ['a', 'b', 'c'] }, tables: { hash: ['d'] } },
  ],
])('the digest changes with %s', (_, leads) => {
  expect(digestOf(leads)).not.toBe(digestOf(BASE));
});
