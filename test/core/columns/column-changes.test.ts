import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  changesBetween,
  countChanges,
  driftOf,
  driftTexts,
  fieldsOf,
  type ListedField,
  listedOf,
} from '../../../core/columns/column-changes.ts';
import { fieldsNamedBy } from '../../../core/columns/left-out.ts';
import { isSafeName } from '../../../core/suggestion.ts';

const SINCE = { date: '2026-11-19', execution: 'night-0' };
const field = (name: string, type: string | null = 'text', label: string | null = null) => ({ name, type, label });
const many = (count: number) => Array.from({ length: count }, (_, place) => field(`column${place}`, 'text', 'תווית'));

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

  test('lose types, then labels if there are too many, and are null if the names alone are too many', () => {
    const columns = (count: number) => many(count).map(({ name }) => name);

    expect(kept(many(100), columns(100))?.[7]).toEqual(field('column7', 'text', 'תווית'));
    expect(kept(many(2000), columns(2000))?.[7]).toEqual(field('column7', null, 'תווית'));
    expect(kept(many(3000), columns(3000))?.[2999]).toEqual(field('column2999', null, null));
    expect(kept(many(9000), ['column0'])).toBeNull();
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

test('driftTexts names ten columns of each kind and counts the rest', () => {
  const drift = driftOf({ added: many(12).map((one) => one.name), removed: [], retyped: [] }, SINCE);

  const [text, ...others] = driftTexts({ ...drift, unnamed: 3 });

  expect(text).toMatch(
    /^Columns that the CRM lists newly since the export of 2026-11-19: "column0", .*"column9" and 2 more\.$/,
  );
  expect(others).toEqual(['Further changes of columns that are not named: 3.']);
});
