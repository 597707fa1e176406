import fc from 'fast-check';
import { expect, test } from 'vitest';
import { countKeys } from '../../../core/updates/json-keys.ts';

test.each([
  ['{}', 0],
  ['{"a":1,"a":2}', 2],
  ['{"a" :1,"a"\t:2}', 2],
  ['{"a":"\\":","b":1}', 2],
  ['{"a\\\\":"b","c":{"d":"e: f"}}', 3],
  ['{"a":"x\\\\"}', 1],
  ['["a","b"]', 0],
])('%s has %i keys', (json, keys) => {
  expect(countKeys(json)).toBe(keys);
});

test('every key of any object is counted, whatever is in texts', () => {
  const text = fc.string({ unit: fc.constantFrom('"', '\\', ':', ' ', 'a', '{', ',') });
  fc.assert(
    fc.property(fc.dictionary(text, text), fc.constantFrom(undefined, 2), (object, indent) => {
      expect(countKeys(JSON.stringify(object, undefined, indent))).toBe(Object.keys(object).length);
    }),
  );
});
