import { isDeepStrictEqual } from 'node:util';
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { firstRecordOf } from '../../../core/files/csv-repeats.ts';
import { type CsvGrammar, endScan, type Separator, scanCsv } from '../../../core/files/csv-scan.ts';
import { narrowed } from '../../../core/files/kernel/kernel.ts';
import { endEncoding, scanEncoding } from '../../../core/files/scan-encoding.ts';
import { NOTHING_SCANNED, type Scan } from '../../../core/step/scan.ts';
import { plainCsv } from '../../support/plain-csv.ts';
import { runs } from '../../support/runs.ts';

/** Scans the chunks; between two of them the place goes through JSON, as between two invocations. */
const scanOf = (...chunks: (string | Uint8Array)[]) => scanAs({ separator: ',', breaksAtCr: false }, ...chunks);

function scanAs(grammar: CsvGrammar, ...chunks: (string | Uint8Array)[]): Scan {
  const last = chunks.reduce<Scan>((before, chunk) => {
    const scan = JSON.parse(JSON.stringify(before)) as Scan;
    scanCsv(scan, Buffer.from(chunk), grammar);
    scanEncoding(scan, Buffer.from(chunk));
    return scan;
  }, NOTHING_SCANNED);
  endScan(last, grammar);
  endEncoding(last);
  return last;
}

test.each<[string, string, number]>([
  ['nothing', '', 0],
  ['a header', 'id,name\n', 1],
  ['a last record without a line break', 'id\n1\n2', 3],
  ['line breaks of Windows', 'id\r\n1\r\n', 2],
  ['line breaks in quotation marks', 'id\n"a\nb\r\nc"\n', 2],
  ['commas in quotation marks', 'id,name\n"a,b",c\n', 2],
  ['doubled quotation marks', 'id\n"a ""b"" c"\n"""",\n', 3],
  ['a doubled mark before a line break', 'id\n"a""\nb"\n', 2],
  ['an empty quoted field', 'id\n""\n', 2],
  ['empty lines, which are no records', '\n\r\nid\n\n\r\n1\n\n', 2],
  ['records of commas alone', ',\n,\n', 2],
  ['a mark in the middle of a field', 'size\n5" wide\n6" wide\n', 3],
  ['a blank before a mark, which then opens nothing', 'a,b\nx, "y\n', 2],
  ['Hebrew', 'שם\n"שלום\nעולם"\n', 2],
])('%s', (_, text, records) => {
  expect(scanOf(text).records).toBe(records);
});

test('records with another number of fields than the first are counted', () => {
  expect(scanOf('a,b\n1,2\n1\n1,2,3\n"1,2",3\n')).toMatchObject({ records: 5, width: 2, irregular: 2 });
});

test('the last record is compared too, though no line break ends it', () => {
  expect(scanOf('a,b\n1')).toMatchObject({ records: 2, irregular: 1 });
});

test.each(['id\n"cut', 'id\n"cut ""', 'id\n1\n"'])('%j ends inside of quotation marks', (text) => {
  expect(scanOf(text).quoted).toBe(true);
});

test.each(['id\n"whole"', 'id\n"whole"\n', 'id\n"a"",""b"\n'])('%j does not', (text) => {
  expect(scanOf(text).quoted).toBe(false);
});

const field = fc.oneof(
  fc.string({ unit: fc.constantFrom('a', 'ז', '"', ',', '\n', '\r', ' ', '😀'), maxLength: 8 }),
  // A byte order mark and the mark that ends a text of DOS mean something at the start of a record.
  fc.string({ unit: 'grapheme', maxLength: 4 }).filter((text) => !text.includes('\uFEFF') && !text.includes('\x1a')),
);
const table = fc.record({
  records: fc.array(fc.array(field, { minLength: 1, maxLength: 4 }), { maxLength: 12 }),
  lineBreak: fc.constantFrom('\n', '\r\n', '\r'),
  separator: fc.constantFrom<Separator>(',', ';', '\t'),
  quoteAll: fc.boolean(),
  endsWithBreak: fc.boolean(),
});

function csvOf({
  records,
  lineBreak,
  quoteAll,
  separator,
  endsWithBreak,
}: typeof table extends fc.Arbitrary<infer T> ? T : never) {
  const write = (text: string) => (quoteAll || /[",;\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const lines = records.map((fields) => fields.map(write).join(separator));
  return `${lines.join(lineBreak)}${endsWithBreak ? lineBreak : ''}`;
}

test('whatever the records, and wherever the pieces are cut, it counts what csv-parse counts', () => {
  fc.assert(
    fc.property(table, fc.array(fc.nat(400), { maxLength: 6 }), (given, cuts) => {
      const bytes = Buffer.from(csvOf(given));
      const places = [0, ...cuts.map((cut) => Math.min(cut, bytes.length)).sort((a, b) => a - b), bytes.length];
      const pieces = places.slice(1).map((end, index) => bytes.subarray(places[index], end));

      const grammar = { separator: given.separator, breaksAtCr: given.lineBreak === '\r' };
      const scan = scanAs(grammar, ...pieces);
      const wide = scanAs(grammar, narrowed(Buffer.from(bytes.toString(), 'utf16le'), 'utf-16le'));

      const records = parse(bytes, {
        delimiter: given.separator,
        relax_column_count: true,
        skip_empty_lines: true,
        record_delimiter: given.lineBreak,
      });
      const width = records[0]?.length ?? 0;
      const irregular = records.filter((fields) => fields.length !== width).length;
      expect(scan).toMatchObject({
        records: records.length,
        width,
        irregular,
        quoted: false,
        doubts: 0,
        encoding: 'utf-8',
      });
      expect(wide).toMatchObject({ records: records.length, width, irregular, quoted: false, doubts: 0 });
    }),
    { numRuns: runs(1000) },
  );
});

const wild = fc
  .array(fc.constantFrom('a', 'b', ',', '\n', '\r', '\r\n', '"', '""', '"a\nb"', 'id,a\n', ',\n', '"",""\n'), {
    maxLength: 25,
  })
  .map((parts) => parts.join(''));

test('whatever the line breaks, the numbers of both readings are in the range, and those of each record where they agree', () => {
  fc.assert(
    fc.property(
      fc.constantFrom('id,a\n', 'id,a\r', ''),
      wild,
      fc.array(fc.nat(40), { maxLength: 3 }),
      (start, rest, cuts) => {
        const text = start + rest;
        const breaksAtCr = /^[^\r\n"]*\r(?!\n)/.test(text);
        const bytes = Buffer.from(text);
        const places = [0, ...cuts.map((cut) => Math.min(cut, bytes.length)).sort((a, b) => a - b), bytes.length];
        const first = firstRecordOf(text, ',');
        const scan = scanAs(
          { separator: ',', breaksAtCr, first },
          ...places.slice(1).map((end, index) => bytes.subarray(places[index], end)),
        );
        fc.pre(!scan.quoted && !(scan.forked && scan.twinQuoted));

        const readings = [plainCsv(text, /\r\n|\n|\r/), plainCsv(text, breaksAtCr ? /\r/ : /\r\n|\n/)];

        const counts = readings.map(({ length }) => length);
        const [least, most] = [Math.min(0, scan.extra), Math.max(0, scan.extra)].map((more) => scan.records + more);
        for (const count of counts) expect(count >= (least ?? 0) && count <= (most ?? 0)).toBe(true);
        if (scan.doubts > 0) return;
        const [records = []] = readings;
        const [header = []] = records;
        expect(scan).toMatchObject({
          longer: records.filter((cells) => cells.length > header.length).length,
          emptyRows: records.filter((cells) => cells.every((cell) => cell === '')).length,
          last: records.at(-1)?.length ?? 0,
        });
        if (scan.strayQuotes > 0) return;
        const repeated = records.slice(1).filter((cells) => isDeepStrictEqual(cells, header)).length;
        expect(scan.repeatedHeaders).toBe(repeated);
      },
    ),
    { numRuns: runs(5000) },
  );
});

test('the encoding is reported alike wherever the pieces are cut', () => {
  const piece = fc.constantFrom('cd', ',\n', '\xeb\xe4\xef', '\xe0', '\xd7\x90', '\xc8', '\x92', '\xe9', '\xfc');
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), fc.array(fc.nat(30), { maxLength: 5 }), (pieces, cuts) => {
      const bytes = Buffer.from(pieces.join(''), 'latin1');
      const places = [0, ...cuts.map((cut) => Math.min(cut, bytes.length)).sort((a, b) => a - b), bytes.length];

      const scan = scanOf(...places.slice(1).map((end, index) => bytes.subarray(places[index], end)));

      expect(scan.encoding).toBe(scanOf(bytes).encoding);
    }),
    { numRuns: runs(1000) },
  );
});

test.for([
  [0xe0, 0x92, 0x92],
  [0xed, 0xa0, 0x80],
  [0xf0, 0x80, 0x80, 0x80],
  [0xf4, 0x90, 0x80, 0x80],
])('a sequence that UTF-8 forbids is noticed wherever it is cut: %s', (forbidden) => {
  const pieces = (at: number) => [Buffer.from(forbidden.slice(0, at)), Buffer.from(forbidden.slice(at))];
  const encodings = forbidden.map((_, at) => scanOf(...pieces(at)).encoding);

  expect(new Set(encodings)).toEqual(new Set([scanOf(Buffer.from(forbidden)).encoding]));
  expect(encodings).not.toContain('utf-8');
});

test('half of a quoted record is always noticed', () => {
  fc.assert(
    fc.property(
      fc.array(field, { maxLength: 5 }),
      fc.string({ unit: fc.constantFrom('a', '\n', ','), maxLength: 9 }),
      (whole, half) => {
        const quoted = whole.map((text) => `"${text.replaceAll('"', '""')}"\n`).join('');

        expect(scanOf(`${quoted}"${half}`).quoted).toBe(true);
      },
    ),
  );
});
