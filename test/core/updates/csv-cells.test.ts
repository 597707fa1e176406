import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { CsvCells, type CsvRecord } from '../../../core/updates/read-csv.ts';
import { runs } from '../../support/runs.ts';

function recordsOf(...pieces: string[]): CsvRecord[] {
  const cells = new CsvCells();
  return [...pieces.flatMap((piece) => [...cells.read(piece, false)]), ...cells.read('', true)];
}

test('a cell of 1 MiB of doubled quotation marks is read, in pieces too', () => {
  const marks = 2 ** 19;
  const text = `a,"${'""'.repeat(marks)}",b\n`;
  const pieces = Array.from({ length: 5 }, (_, piece) =>
    text.slice((piece * text.length) / 5, ((piece + 1) * text.length) / 5),
  );

  for (const read of [recordsOf(text), recordsOf(...pieces)]) {
    expect(read).toHaveLength(1);
    expect(read[0]?.cells).toEqual(['a', '"'.repeat(marks), 'b']);
  }
});

const cell = fc.string({ unit: fc.constantFrom('a', 'ז', '"', ',', '\n', '\r', ' ', '\\', 'N', '😀'), maxLength: 8 });
const table = fc.record({
  records: fc.array(fc.array(cell, { minLength: 1, maxLength: 4 }), { maxLength: 12 }),
  lineBreak: fc.constantFrom('\n', '\r\n'),
  quoteAll: fc.boolean(),
  endsWithBreak: fc.boolean(),
});

test('whatever the cells, and wherever the text is cut, it reads what csv-parse reads', () => {
  fc.assert(
    fc.property(table, fc.array(fc.nat(300), { maxLength: 5 }), (given, cuts) => {
      const write = (text: string) =>
        given.quoteAll || /[",\r\n\\]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
      const lines = given.records.map((cells) => cells.map(write).join(','));
      const text = `${lines.join(given.lineBreak)}${given.endsWithBreak ? given.lineBreak : ''}`;
      const places = [0, ...cuts.map((cut) => Math.min(cut, text.length)).sort((a, b) => a - b), text.length];

      const read = recordsOf(...places.slice(1).map((end, index) => text.slice(places[index], end)));

      const theirs: string[][] = parse(text, {
        relax_column_count: true,
        skip_empty_lines: true,
        record_delimiter: ['\r\n', '\n'],
      });
      // A record of one empty cell is an empty line, quoted or not.
      expect(read.map(({ cells }) => cells)).toEqual(theirs.filter((cells) => cells.length > 1 || cells[0] !== ''));
      expect(read.every(({ wrong }) => wrong === null)).toBe(true);
      const physical = text.split('\n');
      for (const { line, cells } of read) {
        const first = String(cells[0]).split('\n')[0]?.replaceAll('"', '""') ?? '';
        expect(physical[line - 1]).toContain(first);
      }
    }),
    { numRuns: runs(1000) },
  );
});
