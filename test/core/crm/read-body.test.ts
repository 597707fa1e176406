import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isWithoutAddress, shapeOf } from '../../../core/crm/read-body.ts';

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
  expect(isWithoutAddress(nested(100_000, '{}'))).toBe(true);
});
