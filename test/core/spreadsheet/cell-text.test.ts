import { describe, expect, test } from 'vitest';
import { builtInFormat, formatOf, numberText, unescaped } from '../../../core/spreadsheet/cell-text.ts';
import { rowsOf } from '../../support/rows.ts';

describe('numbers', () => {
  test.each([
    ['1', '1'],
    ['0', '0'],
    ['-0', '0'],
    ['.5', '0.5'],
    ['12.50', '12.5'],
    ['0.30000000000000004', '0.30000000000000004'],
    ['1.1000000000000001', '1.1'],
    ['1E+15', '1000000000000000'],
    ['1.5e20', '150000000000000000000'],
    ['1.25E+21', '1250000000000000000000'],
    ['1E-7', '0.0000001'],
    ['-2.5E-9', '-0.0000000025'],
    ['1e300', '1e+300'],
    ['123456789012345678', '123456789012345678'],
    ['0012', '12'],
    ['NaN', 'NaN'],
    ['1e999', '1e999'],
    ['12abc', '12abc'],
  ])('%s is %s', (stored, text) => {
    expect(numberText(stored, { shown: 'number', mask: null }, 1900)).toBe(text);
  });
});

describe('dates', () => {
  test.each([
    ['45000', 'date', 1900, '2023-03-15'],
    ['1', 'date', 1900, '1900-01-01'],
    ['59', 'date', 1900, '1900-02-28'],
    ['61', 'date', 1900, '1900-03-01'],
    ['2958465', 'date', 1900, '9999-12-31'],
    ['2958466', 'date', 1900, '2958466'],
    ['-1', 'date', 1900, '-1'],
    ['45000', 'date', 1904, '2027-03-16'],
    ['0', 'date', 1904, '1904-01-01'],
    ['0.5', 'moment', 1904, '1904-01-01T12:00:00'],
    ['0.5', 'moment', 1900, '12:00:00'],
    ['45000', 'moment', 1900, '2023-03-15T00:00:00'],
    ['45000.75', 'date', 1900, '2023-03-15T18:00:00'],
    ['45000.000011574', 'moment', 1900, '2023-03-15T00:00:01'],
    ['45000.999999999', 'moment', 1900, '2023-03-16T00:00:00'],
    ['45000.5000028935', 'moment', 1900, '2023-03-15T12:00:00.250'],
    ['0.25', 'time', 1900, '06:00:00'],
    ['0.25', 'time', 1904, '06:00:00'],
    ['1.5', 'duration', 1900, '36:00:00'],
    ['12.000005787', 'duration', 1900, '288:00:00.500'],
    ['later', 'date', 1900, 'later'],
  ] as const)('%s, shown as %s in the calendar of %d, is %s', (stored, shown, calendar, text) => {
    expect(numberText(stored, { shown, mask: null }, calendar)).toBe(text);
  });
});

describe('formats', () => {
  test.each(
    rowsOf([
      [
        'number',
        ...['General', '0.00', '#,##0.00\\ "ש"', '[$₪-40D] #,##0.00;[Red]-#,##0.00', '0 "days"', '"d"0', '0\\h'],
        ...['_(* #,##0_);_(* (#,##0)', '_d0', '0.00E+00', '@', '[Red]0;[Blue]0', '0;yyyy', 'Standard', 'Estándar'],
        ...['"Yes";"No"', '\\d', '_d', '*d', 'CHF #,##0', '0.0 mmHg', 'DKK General', '#,##0\\ [$HUF]'],
      ],
      [
        'date',
        ...['yyyymmdd', 'JJJJMMTT', 'yyyy-mm-dd', 'DD/MM/YYYY', 'mmm', '[$-40D]dd" ב"mmmm yyyy;@'],
        ...['[$-F800]dddd, mmmm dd, yyyy'],
      ],
      ['moment', 'yyyy-mm-ddThh:mm', 'd/m/yy h:mm', 'yyyy\\-mm\\-dd"T"hh:mm:ss.000'],
      ['time', 'hh:mm', 'mm:ss.0', '[$-F400]h:mm:ss\\ AM/PM'],
      ['duration', '[h]:mm:ss', '[mm]:ss', '[ss]'],
    ]),
  )('a %s is shown by %s', (shown, code) => {
    expect(formatOf(code).shown).toBe(shown);
  });

  test('built-in formats need no code', () => {
    const shown = [0, 2, 14, 17, 18, 21, 22, 27, 45, 46, 47, 49, 58, 200].map((id) => builtInFormat(id).shown);

    expect(shown).toEqual(
      'number number date date time time moment date time duration time number date number'.split(' '),
    );
  });
});

describe('a format of zeros and separators', () => {
  test.each([
    ['000000000', '10000000', '010000000'],
    ['00000', '1234567', '1234567'],
    ['[$-409]00000;@', '5', '00005'],
    ['[Red]000_)', '5', '005'],
    ['000-00-0000', '12345678', '012-34-5678'],
    ['\\+000\\ 00\\-0000000', '972039123456', '+972 03-9123456'],
    ['(000) 000-0000', '31234567', '(003) 123-4567'],
    ['"C"0000', '12', 'C0012'],
    ['"0"00-0000000', '31234567', '003-1234567'],
    ['0##-#######', '501234567', '050-1234567'],
    ['0#########', '501234567', '0501234567'],
    ['#000', '5', '005'],
    ['0000', '-12', '-0012'],
    ['0000', '1E3', '1000'],
    ['000', '0', '000'],
    ['00-00', '7.5', '7.5'],
    ['000', '-0', '000'],
    ['000 ', '5', '005'],
    ['0'.repeat(256), '5', '5'],
    ['000', 'n/a', 'n/a'],
  ])('%s shows %s as %s', (code, stored, text) => {
    expect(numberText(stored, formatOf(code), 1900)).toBe(text);
  });

  test.each(['0', '00.00', '0,000', '#,##0', '00%', '00E+00', '# 00/00', '[$€-2]00', '#0', '##-##', 'General'])(
    'is not %s, which does not pad a number',
    (code) => {
      expect(numberText('5', formatOf(code), 1900)).toBe('5');
    },
  );
});

test('unescaped decodes characters that XML cannot contain', () => {
  expect(unescaped('a_x000D_b_x005F_x0041_ _x05D0_ _xyz1_ x_')).toBe('a\rb_x0041_ א _xyz1_ x_');
});
