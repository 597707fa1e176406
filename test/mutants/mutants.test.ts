import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { MUTANTS } from './mutants.ts';

const ROOT = join(import.meta.dirname, '../..');

test('every invariant has a mutant', () => {
  const all = Array.from({ length: 14 }, (_, index) => `I${index + 1}`);

  expect([...new Set(MUTANTS.map(({ invariant }) => invariant))]).toEqual(all);
});

test.each(MUTANTS.map((mutant) => [mutant.invariant, mutant.loses, mutant] as const))(
  '%s without %s: the line is in its file once',
  (_, __, { file, find }) => {
    expect(readFileSync(join(ROOT, file), 'utf8').split(find)).toHaveLength(2);
  },
);
