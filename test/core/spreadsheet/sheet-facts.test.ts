import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { sheetFacts } from '../../../core/spreadsheet/sheet-facts.ts';
import {
  expectedColumns,
  opened,
  readWorkbook,
  type SheetDraft,
  sheetXml,
  sourceOf,
  workbook,
  workbookOf,
} from '../../support/workbook.ts';

const COLUMNS = ['id', 'name', 'phone'];
const HEADER = ['id', 'name', 'phone'];
const digest = (...cells: string[]) => createHash('sha256').update(JSON.stringify(cells)).digest('hex');

type Rows = Parameters<typeof workbookOf>;
const TWO = ['id', 'name'];
const DAN = ['1', 'Dan', '03'];
const EMPTY = { xml: '<c s="0"/>' };
const EMPTY_TEXT = { xml: '<c t="inlineStr"><is><t></t></is></c>' };
const REGULAR = {
  ...{ unlisted: 0, excepted: 0, longer: 0, irregular: 0, unnamed: 0, elsewhere: 0 },
  ...{ sheets: 1, fullSheet: false },
};
const at = (row: number, column = 1) => ({ sheet: 1, row, column });
const UNKNOWN = {
  ...{ headed: null, rows: null, rowsAbove: 1, firstRecord: digest('A', 'B', 'C') },
  ...{ unlisted: null, unlistedPlaces: [], width: 3 },
};

interface Found {
  columns?: string[];
  given?: Parameters<typeof readWorkbook>[2];
  /** The names of the header; by default those of the columns. */
  header?: string[] | null;
  /** The cells of each record, joined. */
  records?: string[];
}

const LABELS = ['שם הלקוח', 'id'];
const ONE = ['id,name,phone', '1,Dan,03'];
const LEFT_OUT: Found = { given: { excepted: ['idNumber'] }, header: null };
const OF_ABC: Found = { header: null, records: ['A,B,C', '1,Dan,03'] };
const UNLISTED = { headed: true, unlisted: 1, unlistedPlaces: [3], rows: 1 };
const SPARSE = ['id', null, 'name', null, 'phone', null, 'A', 'B'];
const ALIKE = ['Dan', 'Ruth'].map((name) => [`${name}@example.com`, name, 'x']);

test.each<[what: string, rows: Rows, content: object, found?: Found]>([
  [
    'a header below titles, which are counted',
    [['Leads of today'], [], ['from', 'Monday'], HEADER, DAN, ['2', null, null]],
    { headed: true, width: 3, rows: 2, records: 3, rowsAbove: 2, place: at(4), firstRecord: null, ...REGULAR },
    { records: ['id,name,phone', '1,Dan,03', '2,,'] },
  ],
  ['records above two columns', [['7', 'x'], ['8', 'x'], TWO, ['1', 'Dan']], { elsewhere: 1 }, { columns: TWO }],
  ['a title above two columns', [['Leads of today'], TWO, ['1', 'Dan']], { elsewhere: 0 }, { columns: TWO }],
  [
    'labels of the configuration, another order and fewer columns',
    [LABELS, ['Dan', '1']],
    {},
    { given: { labels: { 'שם הלקוח': 'name' } }, header: ['name', 'id'] },
  ],
  [
    'a header that begins in another column',
    [HEADER, DAN].map((cells) => [null, null, ...cells]),
    { width: 3, place: at(1, 3), unnamed: 0 },
    { records: ONE },
  ],
  [
    'a blank cell after the header',
    [[...HEADER, ' '], DAN, [...DAN, '\u200b']],
    { width: 3, rows: 2, longer: 0 },
    { records: [...ONE, '1,Dan,03'] },
  ],
  [
    'a row with only a text to the left of the header',
    [[null, ...HEADER], [null, ...DAN], ['Haifa'], [null, ...DAN]],
    { unnamed: 1, rows: 2, irregular: 0 },
    { records: [...ONE, '1,Dan,03'] },
  ],
  ['a header of one column', [['All ids'], ['id'], [1], [2]], { rowsAbove: 1, rows: 2 }, { columns: ['id'] }],
  ['a title that is the name of a field', [['name'], HEADER, DAN], { rowsAbove: 1, rows: 1 }],
  ['a left-out column', [[...HEADER, 'idNumber'], [1]], { headed: true, excepted: 1, width: 4 }, LEFT_OUT],
  ['a header of unlisted texts, as wide as requested', [['Report'], ['A', 'B', 'C'], DAN], UNKNOWN, OF_ABC],
  ['a header with an unlisted text', [['id', 'name', 'טלפון נייד'], DAN], UNLISTED, { header: null }],
  [
    'a header with unlisted texts and empty cells',
    [SPARSE, DAN],
    { ...UNLISTED, unlisted: 2, unlistedPlaces: [7, 8] },
    { header: null },
  ],
  ['a first row that looks like the row after it', ALIKE, { headed: false, rows: 2, unlisted: null }, { header: null }],
  [
    'rows without values, with a style or empty texts',
    [HEADER, [EMPTY, EMPTY], ['1'], [EMPTY_TEXT], [EMPTY], ['2']],
    { rows: 2, emptyRows: 0, ending: { cells: 1, lineBreak: true } },
  ],
  [
    'rows longer than the header',
    [HEADER, ['1', null, null, null, 'x'], ['2']],
    { longer: 1, irregular: 1 },
    { records: ['id,name,phone', '1,,,,x', '2,,'] },
  ],
  [
    'blank cells outside of the named columns',
    [
      [null, 'id', null, 'name'],
      [' ', '1', '\u200b', 'Dan', null, ' '],
      [' ', 'id', '\u200b', 'name'],
      [null, '2', null, 'Ron', '\u00a0'],
    ],
    { unnamed: 0, longer: 0, irregular: 0, rows: 2, repeatedHeaders: 1, ending: { cells: 3, lineBreak: true } },
    { header: ['id', '', 'name'] },
  ],
  [
    'values below empty cells of the header',
    [
      [null, 'id', null, 'name', null, 'phone'],
      ['0', '1', 'x'],
      ['0', '2', 'y'],
    ],
    { unnamed: 2, longer: 0, width: 5 },
    { header: ['id', '', 'name', '', 'phone'] },
  ],
  [
    'rows that repeat the header',
    [HEADER, ['1'], HEADER, ['2'], [' ID', 'Name', 'phone ']],
    { repeatedHeaders: 2, rows: 2, otherHeaders: 0 },
    { records: ['id,name,phone', '1,,', '2,,'] },
  ],
  [
    'values only outside the columns of the header',
    [[null, ...HEADER], ['page 1', ...DAN], ['total'], [null, null, null, null, 'x']],
    { rows: 1, records: 2, unnamed: 1, longer: 1 },
    { records: ONE },
  ],
  ['empty cells anywhere', [HEADER, ['1', null, '03'], [null, 'Dan'], ['3']], { rows: 3, irregular: 0 }],
])('the facts of a sheet with %s', async (_, rows, content, found = {}) => {
  const { columns = COLUMNS, given, header = columns, records } = found;
  const read = await readWorkbook(workbookOf(...rows), columns, given);

  expect(read.header).toEqual(header);
  expect(read.content).toMatchObject(content);
  if (records) expect(read.records.map((cells) => cells.join(','))).toEqual(records);
  if (records && read.content.rowsAbove === 2) expect(read.warnings).toEqual([]);
});

describe('the header', () => {
  test('is searched in the first 20 rows with a value', async () => {
    const titles = Array.from({ length: 19 }, () => ['a title']);

    const found = await readWorkbook(workbookOf(...titles, [], [], HEADER, [1]), COLUMNS);
    const looked = readWorkbook(workbookOf(['one more'], ...titles, HEADER, [1]), COLUMNS);

    expect(found.content).toMatchObject({ rowsAbove: 19, rows: 1 });
    await expect(looked).rejects.toThrow(/no header .* 3 columns/);
  });

  test('is required: a sheet without one is refused, without quoting its texts', async () => {
    const read = readWorkbook(workbookOf(['secret', 'words'], ['of', 'people']), COLUMNS);

    await expect(read).rejects.toMatchObject({ name: 'UnreadableFile' });
    await expect(read).rejects.not.toThrow(/secret|words|people/);
  });
});

describe('a sheet without a header by its setting', () => {
  const headerless = { headerless: true };

  test('has records from the first row on, even if that row ends with empty cells', async () => {
    const { header, content, records } = await readWorkbook(
      workbookOf(['1', 'Dan'], ['2', 'Ruth', '03'], ['3', 'Noa', '04']),
      COLUMNS,
      headerless,
    );

    expect(header).toBeNull();
    expect(content).toMatchObject({ headed: false, rows: 3, rowsAbove: 0, width: 3, unnamed: 0 });
    expect(records[0]).toEqual(['1', 'Dan', '']);
  });

  test('may have the text of an error as its only row', async () => {
    const { warnings } = await readWorkbook(workbookOf(['504', 'timeout', 'error']), COLUMNS, headerless);
    expect(warnings).toEqual(['The last row may be the text of an error.']);
  });

  test('is refused if no row has the requested width', async () => {
    await expect(readWorkbook(workbookOf(['1', 'Dan', '03', 'x']), COLUMNS, headerless)).rejects.toThrow('of 3');
  });
});

describe('rows', () => {
  test.each<[string, (string | null)[][], string[]]>([
    ['not below another column', [DAN, [null, 'Error: timed out', '03'], DAN], []],
    ['half of the last one', [DAN, [null, 'Error: timed out']], ['The last row may be the text of an error.']],
    ['one in the middle', [DAN, ['Error: timed out'], DAN], ['1 row may be the text of an error.']],
    ['the last one', [DAN, ['504', 'timeout', 'error']], ['The last row may be the text of an error.']],
    ['many', [...new Array(4).fill(['Error: timed out']), DAN], []],
  ])('that begin like the text of an error cause a warning: %s', async (_, rows, warnings) => {
    expect((await readWorkbook(workbookOf(HEADER, ...rows), COLUMNS)).warnings).toEqual(warnings);
  });

  test('after an empty row are irregular, unless the empty row is directly below the header', async () => {
    const below = await readWorkbook(workbookOf(HEADER, [], ['1'], ['2']), COLUMNS);
    const after = await readWorkbook(workbookOf(HEADER, ['1'], ['2'], [], ['3'], ['4', null, '03']), COLUMNS);

    expect([below.content.irregular, after.content.irregular]).toEqual([0, 2]);
    expect(after.content.rows).toEqual(4);
  });

  test.each<[string, string[], (string | number | null)[][], boolean]>([
    ['one value of three', COLUMNS, [['ERROR: timeout']], true],
    ['a sentence below rows of two values', ['id', 'name'], [['Internal Server Error (500)']], true],
    ['a sentence after an empty row', COLUMNS, [[], ['Export was aborted']], true],
    ['two lines of text', COLUMNS, [['ERROR:'], ['connection lost']], true],
    ['two sentences below rows of two values', ['id', 'name'], [['Export was aborted'], ['Try it again']], true],
    ['a line of text between rows', COLUMNS, [['Haifa'], ['9', 'Noa', '03'], ['10']], false],
    ['ids alone in the last five rows', COLUMNS, [['9'], ['10'], ['11'], ['12'], ['13']], false],
    ['two values of three', COLUMNS, [['9', 'Noa']], false],
    ['a last value alone below rows of three', COLUMNS, [[null, null, '03']], false],
    ['an id alone below rows of two values', ['id', 'name'], [['9']], false],
    [
      'two rows of two values of five',
      [...COLUMNS, 'a', 'b'],
      [
        ['9', 'Noa'],
        ['10', 'Ron'],
      ],
      false,
    ],
    ['two words below rows of one value', ['id'], [['Dan Levi']], false],
    ['two words alone, as rows begin', ['id', 'name'], [['Dan Levi', '1'], ['Noa Bar']], false],
  ])('set endsThin if the last row is too short: %s', async (_, columns, end, thin) => {
    const rows = Array.from({ length: 5 }, (_row, row) => columns.map((_column, at) => (at === 0 ? `${row}` : 'Dan')));

    expect((await readWorkbook(workbookOf(columns, ...rows, ...end), columns)).content.endsThin).toBe(thin);
  });

  test('may reach the last row that a sheet can have, and then set fullSheet', async () => {
    const rows = `<row r="1"><c r="A1"><v>1</v></c></row>`;
    const last = '<row r="1048576"><c r="C1048576"><v>1</v></c></row>';
    const xml = sheetXml([HEADER]).replace('</sheetData>', `${last}</sheetData>`);

    expect((await readWorkbook(workbook({ sheets: [{ xml }] }), COLUMNS)).content.fullSheet).toBe(true);
    const beyond = xml.replaceAll('1048576', '1048577');
    await expect(readWorkbook(workbook({ sheets: [{ xml: beyond }] }), COLUMNS)).rejects.toThrow('order');
    const twice = xml.replace('</sheetData>', `${rows}</sheetData>`);
    await expect(readWorkbook(workbook({ sheets: [{ xml: twice }] }), COLUMNS)).rejects.toThrow('order');
  });
});

describe('a header further down', () => {
  const read = (below: (string | null)[][], excepted: string[] = ['idNumber'], labels = {}) =>
    readWorkbook(workbookOf(HEADER, ['1', 'Dan', '03'], ...below), COLUMNS, { excepted, labels });

  test.each<[string, (string | null)[]]>([
    ['in place of another column', ['id', 'name', 'idNumber']],
    ['in another order', ['idNumber', 'phone', 'id']],
    ['in another spelling', ['ID', 'Name', 'Id-Number']],
    ['of a second table in other columns', [null, null, null, null, 'id', 'name', 'idNumber']],
    ['as half of the texts', ['id', 'idNumber', 'remark', 'rank']],
    ['alone', ['idNumber']],
    ['in a path', ['id', 'name', 'lead.idNumber']],
    ['beside many blanks', [`id${' '.repeat(5000)}`, `idNumber${' '.repeat(5000)}`, 'rank']],
  ])('with a left-out column is counted: %s', async (_, header) => {
    const { content } = await read([header, ['2', 'Ruth', '039123456']]);
    expect(content).toMatchObject({ otherHeaders: 1, leftOutHeaders: 1, repeatedHeaders: 0 });
  });

  test.each<[string, (string | null)[], object]>([
    ['the same columns in another order', ['name', 'id', 'phone'], {}],
    ['labels', ['Key', 'phone', 'name'], { Key: 'id' }],
    ['one exact name', ['phone'], {}],
    ['a text that means no field', ['name', 'phone', 'id', 'Remark'], { Remark: null }],
  ])('without a left-out column is counted: %s', async (_, header, labels) => {
    const { content } = await read([header, ['Ruth', '2']], [], labels);
    expect(content).toMatchObject({ otherHeaders: 1, leftOutHeaders: 0 });
  });

  test.each<[string, (string | null)[]]>([
    ['labels as values', ['7', 'Name', 'Phone']],
    ['one label', [null, 'Name']],
    ['a name twice', ['name', 'name', 'id']],
    ['sentences', ['call his phone', 'no name', 'lost id']],
  ])('is not a row of %s', async (_, row) => {
    expect((await read([row])).content).toMatchObject({ otherHeaders: 0, leftOutHeaders: 0, repeatedHeaders: 0 });
  });
});

describe('sheets', () => {
  const leads: SheetDraft = { rows: [HEADER, ['1', 'Dan', '03']] };
  const factsOf = async (...sheets: SheetDraft[]) => (await readWorkbook(workbook({ sheets }), COLUMNS)).content;

  test('the visible one with a header is read', async () => {
    const content = await factsOf({ rows: [] }, { rows: [['Notes']] }, { ...leads, state: 'hidden' }, leads);

    expect(content).toMatchObject({ place: { sheet: 4 }, sheets: 1, elsewhere: 2, rows: 1 });
  });

  test('several with a header are counted', async () => {
    expect(await factsOf(leads, leads, { rows: [['A', 'B', 'C']] })).toMatchObject({ sheets: 2, elsewhere: 2 });
  });

  test.each(['hidden', 'veryHidden'] as const)('with a value are counted even if they are %s', async (state) => {
    expect(await factsOf(leads, { state, rows: [[], [null, 'x']] })).toMatchObject({ elsewhere: 1, sheets: 1 });
    expect(await factsOf(leads, { state, rows: [[{ xml: '<c s="0"/>' }]] })).toMatchObject({ elsewhere: 0 });
  });

  test('a workbook is refused if only a hidden one has a header', async () => {
    await expect(factsOf({ ...leads, state: 'hidden' })).rejects.toThrow('visible');
  });

  test('the file is empty if none of them has a value', async () => {
    const bytes = workbook({ sheets: [{ rows: [] }, { rows: [[]] }] });

    expect(await sheetFacts(await opened(sourceOf(bytes)), expectedColumns(COLUMNS))).toBeUndefined();
  });

  test('the file is not empty if another part may hold values', async () => {
    const part = { name: 'xl/d.xml', type: 'application/pivotCacheRecords+xml', content: '<a/>' };
    await expect(readWorkbook(workbook({ sheets: [{ rows: [] }], parts: [part] }), COLUMNS)).rejects.toThrow('header');
  });

  test('a sheet with only a header has no rows', async () => {
    expect(await factsOf({ rows: [HEADER] })).toMatchObject({ rows: 0, ending: { cells: 3 } });
  });
});

describe('the sheet settings', () => {
  const leads: SheetDraft = { name: 'Leads', rows: [HEADER, ['1', 'Dan', '03']] };
  const old = { name: 'Leads 2', rows: [HEADER, ['9', 'Old', '00']] };
  const read = (sheets: SheetDraft[], settings: { sheet?: string; otherSheets?: string[] }, sharedStrings = ['x']) =>
    readWorkbook(workbook({ sheets, sharedStrings }), COLUMNS, { excepted: ['idNumber'], ...settings });

  test('the file is not empty if the chosen sheet has no header', async () => {
    await expect(read([{ name: 'Leads', rows: [['x']] }], { sheet: 'Leads' })).rejects.toThrow('columns.sheet');
  });

  test.each(['visible', 'hidden', 'veryHidden'] as const)(
    'otherSheets may contain anything, even if they are %s',
    async (state) => {
      const last = [{ xml: '<c t="s"><v>0</v></c>' }, { xml: '<c><f>"Dan"</f><v>1</v></c>' }];
      // The search for a header ends before the piece of XML with the last row.
      const rows = [...Array.from({ length: 400 }, () => ['note']), last];
      const sheets = [leads, { name: 'Notes', state, rows }];

      expect((await read(sheets, { otherSheets: ['Notes'] })).content).toMatchObject({ elsewhere: 0, sheets: 1 });
      expect((await read(sheets, { otherSheets: ['Legend'] })).content.elsewhere).toBeGreaterThan(0);
    },
  );

  test('otherSheets are never read', async () => {
    expect((await read([old, leads], { otherSheets: ['Leads 2'] })).records).toEqual(leads.rows);
  });

  test('sheet names the sheet that is read, and other sheets still count as values elsewhere', async () => {
    const { records, content } = await read([old, { ...leads, name: 'Haifa' }], { sheet: 'Haifa' }, []);

    expect(records).toEqual(leads.rows);
    const elsewhereKinds = ['other sheets'];
    expect(content).toMatchObject({ sheets: 1, place: { sheet: 2 }, elsewhere: 1, elsewhereKinds });
  });

  test('a workbook is refused if it does not contain the sheet of columns.sheet', async () => {
    await expect(read([leads], { sheet: 'Haifa' })).rejects.toThrow('columns.sheet');
  });
});
