import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  changesBetween,
  countChanges,
  driftOf,
  fieldsOf,
  type ListedField,
  listedOf,
} from '../../../core/columns/column-changes.ts';
import { fieldsNamedBy } from '../../../core/columns/left-out.ts';
import { isSafeName } from '../../../core/suggestion.ts';

const SINCE = { date: '2026-11-19', execution: 'night-0' };
const field = (name: string, type: string | null = 'text', label: string | null = null) => ({ name, type, label });

/** The manifest's entry of a run that requested these columns. */
const kept = (fields: ListedField[], columns: string[], except: string[] = []) =>
  fieldsOf({
    request: { columns },
    listed: listedOf(fields, { columns }),
    excepted: fieldsNamedBy(except, fields),
  });

describe('the fields of a manifest', () => {
  test('are the requested ones, then the others, without left-out columns', () => {
    const fields = [field('id', 'uuid', 'מזהה'), field('nationalId'), field('name')];

    expect(kept(fields, ['name'], ['nationalId'])).toEqual([field('name'), field('id', 'uuid', 'מזהה')]);
  });
});

test('changesBetween is symmetric and ignores order, and driftOf counts each change once', () => {
  const word = fc.constantFrom('text', 'number', null);
  const name = fc.oneof(fc.constantFrom('a', 'b', 'constructor', '__proto__'), fc.string({ minLength: 1 }));
  const list = fc.uniqueArray(fc.record({ name, type: word, label: word }), { selector: (one) => one.name });
  fc.assert(
    fc.property(list, list, (before, now) => {
      const changes = changesBetween(before, now);

      expect(changesBetween(before.toReversed(), now.toReversed()).added.toSorted()).toEqual(changes.added.toSorted());
      expect(changesBetween(now, before)).toMatchObject({ removed: changes.added, added: changes.removed });
      expect(changesBetween(now, now.toReversed())).toEqual({ added: [], removed: [], retyped: [] });
      const drift = driftOf(changes, SINCE);
      const all = Object.values(changes).flat();
      expect(countChanges(drift)).toBe(all.length);
      for (const text of [...drift.added, ...drift.removed]) expect(isSafeName(text)).toBe(true);
    }),
  );
});
