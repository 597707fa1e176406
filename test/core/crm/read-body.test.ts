import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isWithoutAddress, shapeOf } from '../../../core/crm/read-body.ts';
import { CANARY } from '../../support/builders.ts';

test.each<[unknown, string]>([
  [null, 'null'],
  [CANARY, 'a string'],
  [7, 'a number'],
  [true, 'a boolean'],
  [[], 'an empty array'],
  [[CANARY, 1], 'an array of 2, first a string'],
  [[{ id: CANARY }], 'an array of 1, first an object with the keys id'],
  [[[CANARY]], 'an array of 1, first another array'],
  [{}, 'an object without keys'],
  [{ id: CANARY, name: CANARY }, 'an object with the keys id, name'],
])('shapeOf describes %j without its values', (value, shape) => {
  expect(shapeOf(value)).toBe(shape);
});

test('shapeOf returns less than 1,000 characters for any value', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(shapeOf(value).length).toBeLessThan(1000);
    }),
  );
  expect(shapeOf(JSON.parse('['.repeat(5000) + ']'.repeat(5000))).length).toBeLessThan(1000);
});

test('isWithoutAddress looks for an address in a body of any depth', () => {
  const nested = (depth: number, inner: string) =>
    JSON.parse(`${'{"data":'.repeat(depth)}${inner}${'}'.repeat(depth)}`);

  expect(isWithoutAddress(nested(3, '{"state":"WRITING"}'))).toBe(true);
  expect(isWithoutAddress(nested(3, '{"link":"https://files.example/7"}'))).toBe(false);
  expect(isWithoutAddress(nested(100_000, '{}'))).toBe(false);
});
