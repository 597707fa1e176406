import { expect, test } from 'vitest';
import { unchangedSince } from '../../../core/export/judge.ts';
import { factsOf, historyOf, night } from '../../support/gate.ts';

const file = { bytes: 1000, crc32: 'n1' };
const of = (...nights: ReturnType<typeof night>[]) => ({ ...historyOf(), comparedWith: nights });

test('unchangedSince returns the first of the nights with the same size and CRC-32', () => {
  const before = night(factsOf(10), 1);

  expect(unchangedSince(of(before), '2026-11-20', file)).toBe('2026-11-19');
  const longer = { ...before, unchangedSince: '2026-11-02' };
  expect(unchangedSince(of(longer), '2026-11-20', file)).toBe('2026-11-02');
});

test('unchangedSince returns null without an earlier night of the same bytes', () => {
  expect(unchangedSince(of(), '2026-11-20', file)).toBeNull();
  expect(unchangedSince(of(night(factsOf(10), 2)), '2026-11-20', file)).toBeNull();
  expect(unchangedSince(of(night(factsOf(10), 1)), '2026-11-19', file)).toBeNull();
});
