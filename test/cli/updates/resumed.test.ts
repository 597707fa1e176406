import { expect, test } from 'vitest';
import { resumedName } from '../../../cli/updates/update-status.ts';
import { batchNameSchema } from '../../../core/batch/batch-results.ts';

test('a resumed batch gets the suffix -r2, and the next one -r3', () => {
  expect(resumedName('update-20261120T094133-9bef26')).toBe('update-20261120T094133-9bef26-r2');
  expect(resumedName('update-20261120T094133-9bef26-r2')).toBe('update-20261120T094133-9bef26-r3');
  expect(resumedName('a-r9')).toBe('a-r10');
});

test('resumed names of the longest batch names are distinct and valid', () => {
  const long = (end: string) => 'x'.repeat(59) + end;
  const names = [long('a'), long('b'), resumedName(long('a')), resumedName(resumedName(long('a')))].map(resumedName);

  expect(new Set(names).size).toBe(4);
  for (const name of names) expect(batchNameSchema.safeParse(name).success, name).toBe(true);
});
