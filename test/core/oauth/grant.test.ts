import { expect, test } from 'vitest';
import { BEFORE_THE_FIRST, successorOf, type TokenFreshness, tokenFreshness } from '../../../core/oauth/grant.ts';

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

function freshness(lifeSeconds: number | null, ageSeconds: number, rejected?: string): TokenFreshness {
  const expiresAt = lifeSeconds === null ? null : new Date(OBTAINED + lifeSeconds * 1000).toISOString();
  const tokens = {
    refreshToken: 'r',
    accessToken: 'a',
    obtainedAt: new Date(OBTAINED).toISOString(),
    expiresAt,
    scope: '',
    earlierObtainedAt: [],
  };
  return tokenFreshness(tokens, new Date(OBTAINED + ageSeconds * 1000), { rejected });
}

test.each<[number | null, number, TokenFreshness]>([
  [3600, 3299, 'fresh'],
  [3600, 3300, 'ageing'],
  [3600, 3569, 'ageing'],
  [3600, 3570, 'stale'],
  [600, 479, 'fresh'],
  [600, 480, 'ageing'],
  [2, 1.5, 'fresh'],
  [2, 1.6, 'stale'],
  [null, 3299, 'fresh'],
  [null, 3300, 'ageing'],
  [null, 99_999_999, 'ageing'],
])('a token with a lifetime of %s seconds is, after %s seconds, %s', (life, age, expected) => {
  expect(freshness(life, age)).toBe(expected);
});

test('a rejected token is stale at any age, and another token is not', () => {
  expect(freshness(3600, 0, 'a')).toBe('stale');
  expect(freshness(3600, 0, 'b')).toBe('fresh');
});
