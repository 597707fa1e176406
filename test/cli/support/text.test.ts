import { expect, test } from 'vitest';
import { bytesText, durationText, printableLine } from '../../../cli/support/text.ts';

test('bytesText rounds bytes to readable units', () => {
  const texts = [null, 0, 9_999, 10_000, 80_073, 12_345_678, 2_000_000_000, 5e15].map(bytesText);
  expect(texts).toEqual(['', '0 B', '9999 B', '10.0 kB', '80.1 kB', '12.3 MB', '2.0 GB', '5000.0 TB']);
});

test('durationText shows a duration in seconds, minutes or hours', () => {
  const texts = [0.04, 59.94, 60, 200, 7500].map(durationText);
  expect(texts).toEqual(['0.0 s', '59.9 s', '1 min', '3 min 20 s', '2 h 5 min']);
});

test('printableLine makes one line of a text, with control characters as escapes', () => {
  expect(printableLine(' a\x1b[31m\r\n\tb\x9b\u202e\u200f ')).toBe(String.raw`a\u001b[31m b\u009b\u202e\u200f`);
});
