import fc from 'fast-check';
import { expect, test } from 'vitest';
import { SeenIds } from '../../../core/updates/seen-ids.ts';
import { idOf } from './support/lines.ts';

test('an id is new once, and afterwards is on its first line', () => {
  const seen = new SeenIds();

  expect(seen.seenBefore(idOf(255), 3)).toBeUndefined();
  expect(seen.seenBefore(idOf(255), 4)).toBe(3);
  expect(seen.seenBefore(idOf(255).toUpperCase(), 5)).toBe(3);
});

test('whatever the ids, it remembers what a Map remembers', () => {
  const counted = fc.nat(300).map(idOf);
  const nil = fc.constant('00000000-0000-0000-0000-000000000000');
  fc.assert(
    fc.property(fc.array(fc.oneof(counted, fc.uuid(), nil), { maxLength: 600, size: 'max' }), (ids) => {
      const seen = new SeenIds();
      const map = new Map<string, number>();
      ids.forEach((id, index) => {
        expect(seen.seenBefore(id, index + 1)).toBe(map.get(id));
        if (!map.has(id)) map.set(id, index + 1);
      });
    }),
    { numRuns: 50 },
  );
});

test('ids that are counted up stay apart while the tables grow', () => {
  const seen = new SeenIds();
  for (let n = 1; n <= 50_000; n += 1) if (seen.seenBefore(idOf(n), n) !== undefined) throw new Error(`${n} is new`);

  for (let n = 1; n <= 50_000; n += 1) if (seen.seenBefore(idOf(n), 99_999) !== n) throw new Error(`${n} is known`);
  expect(seen.seenBefore(idOf(50_001), 1)).toBeUndefined();
});
