import { expect, test } from 'vitest';
import { dateProblems, misplacedDates, relativeDateOf } from '../../../core/config/relative-date.ts';
import { expectTexts } from '../../support/screen.ts';

test.each([
  [undefined, 'day', { from: 'day', days: 0, as: 'date' }],
  ['date', 'day-1d', { from: 'day', days: -1, as: 'date' }],
  ['instant', 'weekStart+6d', { from: 'weekStart', days: 6, as: 'instant' }],
  ['instant', 'monthStart-9999d', { from: 'monthStart', days: -9999, as: 'instant' }],
])('relativeDateOf reads the %s of %s', (as, $date, relative) => {
  const value = { ...(as && { as }), $date };
  expect(relativeDateOf(value)).toEqual(relative);
  expect(dateProblems([{ value }])).toEqual([]);
});

test.each([
  { $date: '' },
  { $date: 'yesterday' },
  { $date: 'day -1d' },
  { $date: 'day-1' },
  { $date: 'day-1w' },
  { $date: 'day-10000d' },
  { $date: 7 },
  { $date: { $date: 'day' } },
  { $date: 'day', as: 'time' },
  { $date: 'day', timeZone: 'UTC' },
])('reports %j, because the CRM would receive it literally', (value) => {
  expect(dateProblems([{ a: { b: [1, value] } }])).toEqual([
    { path: [0, 'a', 'b', 1], message: expect.stringContaining('must be {"$date": "day-1d"') },
  ]);
});

test.each([[{ date: 'day' }], [{ $dates: 'day' }], ['$date'], [null], [[]], [{ 'a.$date': 'day' }]])(
  '%j is an ordinary value, not a relative date',
  (value) => {
    expect(relativeDateOf(value)).toBeUndefined();
    expect(dateProblems([{ value }])).toEqual([]);
  },
);

test('reports a relative date in place of a whole filter', async () => {
  const problems = dateProblems([{ field: 'id' }, { $date: 'day' }]);

  expect(problems).toEqual([{ path: [1], message: expect.any(String) }]);
  await expectTexts('date-instead-of-filter', [['a date in place of a filter', problems[0]?.message ?? '']]);
});

test('reports a relative date outside of filters at any depth', () => {
  expect(misplacedDates({ range: { from: [{ $date: 'day' }] }, $date: undefined })).toHaveLength(1);
  expect(misplacedDates({ range: { from: [{ $date: 'day' }] } })).toEqual([
    { path: ['range', 'from', 0], message: expect.stringContaining('"$date"') },
  ]);
  expect(misplacedDates({ range: { from: ['day'] } })).toEqual([]);
});
