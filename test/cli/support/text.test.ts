import { expect, test } from 'vitest';
import { bytesText, movedText, plainLine } from '../../../cli/support/text.ts';

test('bytes are written for a person', () => {
  const texts = [null, 0, 9_999, 10_000, 80_073, 12_345_678, 2_000_000_000, 5e15].map(bytesText);
  expect(texts).toEqual(['', '0 B', '9999 B', '10.0 kB', '80.1 kB', '12.3 MB', '2.0 GB', '5000.0 TB']);
});

test('how far a file is names its size as long as some of it is missing', () => {
  expect(movedText({ bytes: null, totalBytes: null })).toBe('');
  expect(movedText({ bytes: null, totalBytes: 96_000_000 })).toBe('');
  expect(movedText({ bytes: 41_900_000, totalBytes: null })).toBe('41.9 MB');
  expect(movedText({ bytes: 41_900_000, totalBytes: 96_000_000 })).toBe('41.9 MB of 96.0 MB');
  expect(movedText({ bytes: 96_000_000, totalBytes: 96_000_000 })).toBe('96.0 MB');
});

const SEQUENCES: [what: string, text: string][] = [
  ['a colour', '\x1b[1;31m'],
  ['a colour in one byte', '\x9b31m'],
  ['a title', '\x1b]0;owned\x07'],
  ['a link', '\x1b]8;;https://example.org\x1b\\'],
  ['a title in one byte', '\x9d0;owned\x9c'],
  ['a reset', '\x1bc'],
  ['another alphabet', '\x1b(0'],
  ['a saved cursor', '\x1b7'],
];

test.for(SEQUENCES)('%s is gone from a text of others, whole', ([, sequence]) => {
  expect(plainLine(`Leads${sequence} of today`)).toBe('Leads of today');
});

test('what is no whole sequence loses what begins it, and no text', () => {
  expect(plainLine('a\x1b]0;no end')).toBe('a ]0;no end');
  expect(plainLine('a\x1b[31\nb')).toBe('a [31 b');
  expect(plainLine('a\x00\r\n\u202eb')).toBe('a b');
  expect(plainLine('\x1b]0;one\x1b[31mtwo\x1b\\')).toBe(']0;onetwo');
});

test('a megabyte of hostile text ends: the time grows with the length only', () => {
  const begins = [
    '\x1b]',
    '\x1b]a',
    '\x1b];',
    '\x9d',
    '\x1b[',
    '\x1b[1;',
    '\x9b1 ',
    '\x1b ',
    '1;',
    ' ',
    '\x01',
    '\x1bP',
  ];
  for (const begin of begins) {
    const text = begin.repeat(2 ** 20 / begin.length);
    for (const hostile of [text, `\x1b]${text}`, `\x1b[${text}`, `a${text}b`]) {
      expect(/\p{Cc}/u.test(plainLine(hostile)), JSON.stringify(begin)).toBe(false);
    }
  }
});
