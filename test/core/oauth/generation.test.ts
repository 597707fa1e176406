import { expect, test } from 'vitest';
import { BEFORE_THE_FIRST, successorOf } from '../../../core/oauth/generation.ts';

test('the successor of a generation has one name, which every release finds again', () => {
  expect(successorOf('a')).toBe(successorOf('a'));
  expect(successorOf(BEFORE_THE_FIRST)).toBe('955d4beb-ff2d-2c5d-b4c0-f282f3db267c');
});

test('a chain of successors has a new name each time, of the shape and length that Secrets Manager takes', () => {
  const names = new Set<string>();
  for (let name = BEFORE_THE_FIRST; names.size < 100; ) {
    name = successorOf(name);
    expect(name).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    names.add(name);
  }
  expect(names.size).toBe(100);
});
