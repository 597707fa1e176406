import { expect, test } from 'vitest';
import { retryAfterSeconds } from '../../transfer/base/retry-after.ts';

const NOW = new Date('2026-11-20T01:00:00.500Z');
const read = (value: string, sent?: string) => retryAfterSeconds(value, sent, NOW);

test.each([
  ['0', 0],
  ['7', 7],
  ['  12 ', 12],
  ['1.5', 2],
  ['5, 5', 5],
  ['5,30', 30],
])('reads %j as seconds', (value, seconds) => {
  expect(read(value)).toBe(seconds);
});

test.each([
  ['a date of RFC 9110', 'Fri, 20 Nov 2026 01:02:00 GMT'],
  ['an older date of RFC 850', 'Friday, 20-Nov-26 01:02:00 GMT'],
])('reads %s as the time until then, rounded up to whole seconds', (_, value) => {
  expect(read(value)).toBe(120);
});

test.each([
  ['two hours ahead', 'Fri, 20 Nov 2026 03:00:00 GMT', 'Fri, 20 Nov 2026 03:02:00 GMT'],
  ['a day behind', 'Thu, 19 Nov 2026 01:00:00 GMT', 'Thu, 19 Nov 2026 01:02:00 GMT'],
])('reads a date by the clock of a service that is %s', (_, sent, value) => {
  expect(read(value, sent)).toBe(120);
});

test('uses the clock here if the date of the answer cannot be read', () => {
  expect(read('Fri, 20 Nov 2026 01:02:00 GMT', 'today')).toBe(120);
});

test('reads a past date as 0', () => {
  expect(read('Fri, 20 Nov 2026 00:00:00 GMT')).toBe(0);
});

test.each([
  'soon',
  '',
  '-5',
  '1.5.2',
  '5 minutes',
  '1000000000',
  '9'.repeat(400),
  '2026-11-20T02:00:00Z',
  'Fri, 99 Nov 2026 99:00:00 GMT',
  // Date.parse reads a year in these texts, and a run would wait for it.
  'try 2099',
])('ignores %j', (value) => {
  expect(read(value)).toBeUndefined();
});

test('returns undefined without the header', () => {
  expect(retryAfterSeconds(null, null, NOW)).toBeUndefined();
});
