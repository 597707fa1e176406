import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readFile, SHEET_COLUMNS, writeParts, writeSheet } from '../../bench/check-files.ts';
import { tree } from '../lib/support/files.ts';

/** The default memory of PublishFile. */
const FUNCTION_BYTES = 512 * 1024 * 1024;
const ROWS = 1_048_575;
const SIZE = process.env.CI ? 100_000_000 : 1_000_000_000;
const WIDE_ROWS = process.env.CI ? 300 : 1000;
/** These take minutes on a slow core, so CI leaves them out. */
const SLOW = [
  'a million different shared texts in random order',
  'ten million short texts',
  'more shared texts than allowed',
  'all rows, with a value in the last column',
];

/** A sheet with two column names in the first row. */
function* sheet(rows: Iterable<string>): Generator<string> {
  yield '<worksheet><sheetData><row r="1"><c t="str"><v>column0</v></c><c t="str"><v>column1</v></c></row>';
  yield* rows;
  yield '</sheetData></worksheet>';
}

function* times(count: number, text: (place: number) => string): Generator<string> {
  for (let place = 0; place < count; place += 100) {
    let texts = '';
    for (let each = place; each < Math.min(count, place + 100); each += 1) texts += text(each);
    yield texts;
  }
}

function* shared(strings: Iterable<string>): Generator<string> {
  yield '<sst>';
  yield* strings;
  yield '</sst>';
}

const rows = (cells: (row: number) => string, count = ROWS) =>
  sheet(times(count, (place) => `<row r="${place + 2}">${cells(place + 2)}</row>`));
const wideRow = (row: number) => times(16_384, (column) => `<c><v>${row * column}</v></c>`);

function* wide(): Generator<string> {
  yield '<worksheet><sheetData>';
  yield `<row>${[...times(16_384, (column) => `<c t="str"><v>column${column}</v></c>`)].join('')}</row>`;
  for (let row = 0; row < WIDE_ROWS; row += 1) yield `<row>${[...wideRow(row)].join('')}</row>`;
  yield '</sheetData></worksheet>';
}

const long = 'x'.repeat(32_767);
const megabyte = 'x'.repeat(1_000_000);

interface Hostile {
  sheet: () => Iterable<string>;
  shared?: () => Iterable<string>;
  columns?: number;
  /** The number of rows, or a pattern of the refusal. */
  read: number | RegExp;
}

const HOSTILE: Record<string, Hostile> = {
  'a cell of 1 GB': {
    sheet: () => sheet(['<row><c t="str"><v>', ...Array(1000).fill(megabyte), '</v></c></row>']),
    read: /has a (row|part with a text) of several megabytes/,
  },
  'a shared text of 1 GB': {
    sheet: () => rows(() => '', 1),
    shared: () => shared(['<si><t>', ...Array(1000).fill(megabyte), '</t></si>']),
    read: /has a (part with a )?text of several megabytes/,
  },
  'a tag of 1 GB': {
    sheet: () => sheet(['<row x="', ...Array(1000).fill(megabyte), '"/>']),
    read: /several megabytes/,
  },
  'a million nested tags': { sheet: () => sheet(times(1_000_000, () => '<x>')), read: /nested too deeply/ },
  'all rows, empty but styled': {
    sheet: () => rows((row) => (row === 9 ? '<c r="A9"><v>1</v></c>' : '<c s="1"/><c s="1"/><c s="1"/><c s="1"/>')),
    read: 1,
  },
  'all rows, with a value in the last column': {
    sheet: () => rows((row) => `<c r="XFD${row}"><v>1</v></c>`),
    // Rows without a value in the columns of the header are not records.
    read: 0,
  },
  'rows of all columns': { sheet: wide, columns: 16_384, read: WIDE_ROWS },
  'a million different shared texts in random order': {
    sheet: () => rows((row) => `<c t="s"><v>${(row * 7919) % 2_000_000}</v></c><c t="s"><v>${row}</v></c>`),
    shared: () => shared(times(2_000_000, (place) => `<si><t>text ${place} ${'é'.repeat(place % 20)}</t></si>`)),
    read: ROWS,
  },
  'ten million short texts': {
    sheet: () => rows((row) => `<c t="s"><v>${row * 9}</v></c>`),
    shared: () => shared(times(10_000_000, () => '<si><t>ab</t></si>')),
    read: ROWS,
  },
  'more shared texts than allowed': {
    sheet: () => rows((row) => `<c t="s"><v>${row}</v></c>`),
    shared: () => shared(times(30_000_000, () => '<si><t/></si>')),
    read: /has more than 20000000 shared texts/,
  },
  'rows that refer to texts of 32,767 characters': {
    sheet: () => rows((row) => `<c t="s"><v>${row % 50}</v></c>`, 200_000),
    shared: () => shared(times(50, (place) => `<si><t>${place}${long}</t></si>`)),
    read: 200_000,
  },
};

const place = () => join(tree({}), 'file.xlsx');

test.each(Object.entries(HOSTILE).filter(([name]) => !process.env.CI || !SLOW.includes(name)))(
  '%s: counts the rows or refuses the file, within the memory of the function',
  async (_, hostile) => {
    const path = place();
    await writeParts(path, hostile.sheet(), hostile.shared?.());

    const {
      rows: counted,
      refused,
      maxRss,
    } = await readFile({
      reader: 'publish',
      file: path,
      columns: hostile.columns ?? 2,
    });

    if (typeof hostile.read === 'number')
      expect({ refused, counted }).toEqual({ refused: null, counted: hostile.read });
    else expect(refused).toMatch(hostile.read);
    expect(maxRss).toBeLessThan(FUNCTION_BYTES);
  },
);

test('millions of shared texts: reads to the end within the memory of the function', async () => {
  const path = place();
  await writeSheet(path, SIZE);

  const { rows: counted, refused, maxRss } = await readFile({ reader: 'publish', file: path, columns: SHEET_COLUMNS });

  expect(refused).toBeNull();
  expect(counted).toBeGreaterThan(SIZE / 1500);
  expect(maxRss).toBeLessThan(FUNCTION_BYTES);
});
