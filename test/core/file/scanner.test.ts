import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { fieldIndex } from '../../../core/columns/header.ts';
import { cellsOf, type Separator } from '../../../core/file/csv-cells.ts';
import { mayBeginError } from '../../../core/file/error-text.ts';
import { LaterHeaders } from '../../../core/file/later-headers.ts';
import { NAMED, NameFilter } from '../../../core/file/name-filter.ts';
import { Scanner } from '../../../core/file/scanner.ts';
import { folded } from '../../../core/folded.ts';
import { reading } from '../../support/reading.ts';
import { referenceCsv } from '../../support/reference-csv.ts';
import { runs } from '../../support/runs.ts';

/** The result of the scanner for a text that arrives in pieces. */
function scanOf(text: string, separator: Separator = ',', cuts: readonly number[] = []) {
  const records: string[][] = [];
  let counted = 0;
  const scanner = new Scanner(separator, ({ block, from, to, cells, quoted }) => {
    counted += cells;
    records.push(cellsOf(block.toString('utf8', from, to), separator, quoted > 0));
  });
  const bytes = Buffer.from(text);
  const places = [0, ...cuts.map((cut) => Math.min(cut, bytes.length)).sort((a, b) => a - b), bytes.length];
  for (const [index, end] of places.slice(1).entries()) {
    scanner.push(bytes.subarray(places[index], end));
    scanner.flush();
  }
  scanner.end();
  return { scanner, records, counted };
}

test.each<[string, string, string]>([
  ['reads an empty text', '', ''],
  ['does not open a quoted cell after a blank', 'a,b\nx, "y\n', 'a|b;x| "y'],
  ['ignores the DOS end-of-file mark after a last record', 'a,b\r\n1,2\x1a', 'a|b;1|2'],
])('%s', (_, text, records) => {
  expect(
    scanOf(text)
      .records.map((cells) => cells.join('|'))
      .join(';'),
  ).toBe(records);
});

test.each<[string, string[]]>([
  ['id  "a  b"  c', ['id', 'a  b', 'c']],
  ['id    c  ', ['id', '', 'c', '']],
])('%j has cells between separators of two blanks', (text, cells) => {
  expect(cellsOf(text, '  ', true)).toEqual(cells);
});

describe('counts what programs read differently', () => {
  test.each<[string, string, object]>([
    ['a carriage return alone', 'a,b\n1,x\ry\n', { strayBreaks: 1, strayBreaksBeforeQuote: 0 }],
    ['a carriage return before a quotation mark', 'a,b\n1,x\r"y"\n', { strayBreaks: 1, strayBreaksBeforeQuote: 1 }],
    ['a line feed between carriage returns', 'a,b\r1,x\ny\r', { strayBreaks: 1 }],
    ['two carriage returns per Windows line break', 'a,b\r\r\n1,2\r\r\n', { strayBreaks: 2, breaksAtCr: true }],
    ['a DOS end-of-file mark before the end', 'a,b\n1,\x1a2\n', { endMarkInside: true }],
    ['text after a closing mark', 'a,b\n"x"y,"z" \n', { strayQuotes: 2 }],
    ['empty lines after the first record', '\na\n\n1\n\n', { emptyLines: 2 }],
    ['line breaks of two kinds', 'a\r\n1\n', { lineBreaks: 3, strayBreaks: 0 }],
  ])('%s', (_, text, found) => {
    expect(scanOf(text).scanner).toMatchObject(found);
  });
});

const places = fc.array(fc.nat(400), { maxLength: 6 });

/** Parts of texts. The comma stands for the separator. */
const wild = fc
  .array(
    fc.constantFrom(
      ...['a', 'ז', '😀', ' ', '|', ',', '\n', '\r', '\r\n', '"', '""', '"a\nb"', 'id,a\n', ',\n', '"",""\n'],
    ),
    { maxLength: 25 },
  )
  .map((parts) => parts.join(''));
const separators = fc.constantFrom<Separator>(',', ';', '\t');

test('reads the cells that Python reads, or half of a quoted record, for any text with line breaks of one kind in any pieces', () => {
  fc.assert(
    fc.property(fc.constantFrom('id,a\n', 'id,a\r', ''), wild, separators, places, (start, rest, separator, cuts) => {
      const text = (start + rest).replaceAll(',', separator);
      const { scanner, records, counted } = scanOf(text, separator, cuts);
      fc.pre(scanner.strayBreaks === 0);

      const { records: expected, endsQuoted } = referenceCsv(text, separator);

      expect(scanner.endsQuoted).toBe(endsQuoted);
      fc.pre(!endsQuoted);
      expect(records).toEqual(expected);
      expect(counted).toBe(expected.flat().length);
      expect(scanner.records).toBe(expected.length);
    }),
    { numRuns: runs(5000) },
  );
});

test('reads a record of 15 MiB, and refuses one of 17 MiB', () => {
  const long = 'x'.repeat(15 * 1024 * 1024);

  expect(scanOf(`id,name\n1,"${long}"\n`).records[1]?.[1]?.length).toBe(long.length);
  expect(() => scanOf(`id,name\n1,"${'x'.repeat(17 * 1024 * 1024)}"\n`)).toThrow('16 MiB');
});

test('reads a record of 100,000 cells, and refuses one of more', () => {
  expect(scanOf(`id,name\n${','.repeat(99_999)}\n`).records[1]).toHaveLength(100_000);
  expect(() => scanOf(`id,name\n${','.repeat(100_000)}\n`)).toThrow(/100,000 cells, .* 2$/);
});

const { expected } = reading({ expected: { excepted: [{ name: 'secret', label: 'סוד' }] } });
const headers = new LaterHeaders(expected, fieldIndex(expected), ['id', 'name'], 'utf-8');
const usual = fc.constantFrom('1,a\n', '2,"b"\n', '3,"c""d"\n', '4,"e\nf"\n', ',g\n', '5,h.i@j.example\n', '6,é\n');
const special = fc.constantFrom(
  ...['name,id\n', 'ID,Name\n', 'a.name,"i"d\n', 'סוד,1\n', 'x.secret,7\n', ',\n', '"",""\n', 'error,x\n'],
  ...['"Exception, y",1\n', '1\n', '1,2,3\n', '1,2,\n', '\n', '1,"a"b\n', '1,a\r\n', '1,a\rb\n', '\nb,1\n'],
  ...['1,a\r"b"\n', '1,\x1a\n', '"', '1,"\n', '1,a'],
);
const rows = fc
  .tuple(
    fc.array(fc.oneof({ weight: 4, arbitrary: usual }, special), { maxLength: 40 }),
    fc.constantFrom('\n', '\r\n', '\r'),
  )
  .map(([parts, end]) => ['id,name\n', ...parts].map((part) => part.replace(/\n$/, end)).join(''));

/** The counts of a text, and the records that are reported, if regular records are only counted, or if none are. */
function countsOf(text: string, skips: boolean, cuts: readonly number[]) {
  const reported: { number: number; special: boolean; afterEmptyLine: boolean }[] = [];
  const onRecord = (record: Scanner) => {
    const { cells, block, from, to, records: number, quoted, afterEmptyLine } = record;
    const isEmpty = to - from - cells + 1 === 2 * quoted;
    const isSpecial = cells !== 2 || headers.mayBe(record) || isEmpty || mayBeginError(block, from);
    reported.push({ number, special: isSpecial, afterEmptyLine });
    if (skips) record.regularWidth = 2;
  };
  const scanner = new Scanner(',', onRecord, { names: headers.filter });
  const bytes = Buffer.from(text);
  const ends = [...cuts.map((cut) => Math.min(cut, bytes.length)).sort((a, b) => a - b), bytes.length];
  for (const [place, end] of ends.entries()) {
    scanner.push(bytes.subarray(ends[place - 1] ?? 0, end));
    scanner.flush();
  }
  scanner.end();
  const { records, lineBreaks, emptyLines, strayBreaks, strayBreaksBeforeQuote, strayQuotes } = scanner;
  const { endMarkInside, endsWithBreak, endsQuoted, from, to } = scanner;
  const counts = { records, lineBreaks, emptyLines, strayBreaks, strayBreaksBeforeQuote, strayQuotes };
  const last = cuts.length === 0 ? { from, to } : { length: to - from };
  return { counts: { ...counts, ...last, endMarkInside, endsWithBreak, endsQuoted }, reported };
}

test('counts regular records as it counts others, and reports each record that a rule needs', () => {
  fc.assert(
    fc.property(rows, places, (text, cuts) => {
      const all = countsOf(text, false, cuts);
      const some = countsOf(text, true, cuts);

      expect(some.counts).toEqual(all.counts);
      expect(some.reported.filter(({ special }) => special)).toEqual(all.reported.filter(({ special }) => special));
    }),
    { numRuns: runs(1000) },
  );
});

test.each([
  ['decimals', '1.25,.5\n'],
  ['web addresses', 'www.example.com,a.b@example.org\n'],
  ['accents', 'Zürich,Łódź é.è\n'],
  ['Arabic', 'شركة,محمد\n'],
  ['currencies', '₪12.50,15 €\n'],
])('only counts records of %s', (_, row) => {
  expect(countsOf(`id,name\n${row.repeat(9)}`, true, []).reported).toHaveLength(1);
});

test('finds a name in a path with a wide dot', () => {
  const bytes = Buffer.from('owner．secret');

  expect(headers.filter.bitsOf(bytes, 0, bytes.length) & NAMED).toBe(NAMED);
});

test.each([true, false])('compares cells in CSV and in sheets only if names may be decorated: %s', (decorated) => {
  const names = new NameFilter('utf-8', ['phone'], decorated);
  const found: boolean[] = [];
  const scanner = new Scanner(',', ({ alike }) => found.push(alike), { names });
  scanner.push(Buffer.from('x_a,x_b\n'));
  scanner.end();

  expect([...found, names.countsOf(['x_a', 'x_b']).alike]).toEqual([decorated, decorated]);
});

test('passes over no cell that is another spelling of a name', () => {
  const letter = fc.oneof(
    fc.constantFrom(...'aéÉß(（:：ıİſΣσςﬁＡ℡²½ä\u0308\u0301\u00adאךﬠ״가ㄱガﾞй'),
    fc.string({ unit: 'grapheme', maxLength: 2 }),
  );
  const name = fc.array(letter, { minLength: 1, maxLength: 6 }).map((letters) => letters.join(''));
  const spellings = (text: string) => [
    ...[text, text.toUpperCase(), text.toLowerCase(), text.normalize('NFD'), text.normalize('NFKC')],
  ];
  fc.assert(
    fc.property(name, (text) => {
      const filter = new NameFilter('utf-8', [text], true);
      for (const spelling of spellings(text).filter((other) => folded(other) === folded(text) && folded(text) !== '')) {
        const bytes = Buffer.from(spelling.toWellFormed());
        expect(filter.bitsOf(bytes, 0, bytes.length) & NAMED, spelling).toBe(NAMED);
      }
    }),
    { numRuns: runs(500) },
  );
});
