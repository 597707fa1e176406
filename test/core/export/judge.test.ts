import { expect, test } from 'vitest';
import { unchangedSince } from '../../../core/export/judge.ts';
import { factsOf, historyOf, night } from '../../support/gate.ts';

const file = { bytes: 1000, crc32: 'n1' };
const of = (...nights: ReturnType<typeof night>[]) => ({ ...historyOf(), comparedWith: nights });

test('a file of the size and CRC-32 of the night before is unchanged since then, or since that one was', () => {
  const before = night(factsOf(10), 1);

  expect(unchangedSince(of(before), '2026-11-20', file)).toBe('2026-11-19');
  const longer = { ...before, unchangedSince: '2026-11-02' };
  expect(unchangedSince(of(longer), '2026-11-20', file)).toBe('2026-11-02');
});

test('other bytes, or none before them, are not unchanged; later dates do not count', () => {
  expect(unchangedSince(of(), '2026-11-20', file)).toBeNull();
  expect(unchangedSince(of(night(factsOf(10), 2)), '2026-11-20', file)).toBeNull();
  expect(unchangedSince(of(night(factsOf(10), 1)), '2026-11-19', file)).toBeNull();
});
