import { expect, test } from 'vitest';
import { BEFORE_THE_FIRST, isDue, isExpired, successorOf } from '../../../core/oauth/grant.ts';

test('successorOf returns the same name in every release', () => {
  expect(successorOf('a')).toBe(successorOf('a'));
  expect(successorOf(BEFORE_THE_FIRST)).toBe('955d4beb-ff2d-2c5d-b4c0-f282f3db267c');
});

test('successorOf returns a new name each time, in a form that Secrets Manager accepts', () => {
  const names = new Set<string>();
  for (let name = BEFORE_THE_FIRST; names.size < 100; ) {
    name = successorOf(name);
    expect(name).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    names.add(name);
  }
  expect(names.size).toBe(100);
});

const OBTAINED = Date.parse('2026-11-20T01:00:00.000Z');

function judged(lifeSeconds: number | null, ageSeconds: number, rejected?: string) {
  const expiresAt = lifeSeconds === null ? null : new Date(OBTAINED + lifeSeconds * 1000).toISOString();
  const tokens = {
    refreshToken: 'r',
    accessToken: 'a',
    obtainedAt: new Date(OBTAINED).toISOString(),
    expiresAt,
    scope: '',
    earlierObtainedAt: [],
  };
  const now = new Date(OBTAINED + ageSeconds * 1000);
  return { due: isDue(tokens, rejected, { now: () => now }), expired: isExpired(tokens, now) };
}

test.each([
  [3600, 0, false, false],
  [3600, 3299, false, false],
  [3600, 3300, true, false],
  [3600, 3569, true, false],
  [3600, 3570, true, true],
  [3600, 9999, true, true],
  [600, 479, false, false],
  [600, 480, true, false],
  [600, 570, true, true],
  [2, 1.5, false, false],
  [2, 1.6, true, true],
  [null, 0, false, false],
  [null, 3299, false, false],
  [null, 3300, true, false],
  [null, 99_999_999, true, false],
])('a token with a lifetime of %s seconds after %s seconds: due %s, expired %s', (life, age, due, expired) => {
  expect(judged(life, age)).toEqual({ due, expired });
});

test('a rejected token is due at any age, and another token is not', () => {
  expect(judged(3600, 0, 'a').due).toBe(true);
  expect(judged(3600, 0, 'b').due).toBe(false);
});
