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

describe('the header', () => {
  test('is the first row of listed texts; rows above it are counted separately', async () => {
    const { header, content, records, warnings } = await readWorkbook(
      workbookOf(['Leads of today'], [], ['from', 'Monday'], HEADER, ['1', 'Dan', '03'], ['2', null, null]),
      COLUMNS,
    );

    expect(header).toEqual(COLUMNS);
    expect(content).toMatchObject({ headed: true, width: 3, rows: 2, records: 3, rowsAbove: 2 });
    expect(content).toMatchObject({ unlisted: 0, excepted: 0, longer: 0, irregular: 0, unnamed: 0, elsewhere: 0 });
    expect(content).toMatchObject({
      place: { sheet: 1, row: 4, column: 1 },
      sheets: 1,
      fullSheet: false,
      firstRecord: null,
    });
    expect(records).toEqual([HEADER, ['1', 'Dan', '03'], ['2', '', '']]);
    expect(warnings).toEqual([]);
  });

  test('of two columns may have records above it, so rows with two values there count as values elsewhere', async () => {
    const two = ['id', 'name'];
    const above = await readWorkbook(workbookOf(['7', 'secret'], ['8', 'secret'], two, ['1', 'Dan']), two);
    const title = await readWorkbook(workbookOf(['Leads of today'], two, ['1', 'Dan']), two);

    expect([above.content.elsewhere, title.content.elsewhere]).toEqual([1, 0]);
  });

  test('may have labels of the configuration, another order, and fewer columns', async () => {
    const bytes = workbookOf(['שם הלקוח', 'id'], ['Dan', '1']);

    const { header } = await readWorkbook(bytes, COLUMNS, { labels: { 'שם הלקוח': 'name' } });

    expect(header).toEqual(['name', 'id']);
  });

  test('may begin in any column', async () => {
    const { header, content, records } = await readWorkbook(
      workbookOf([null, null, ...HEADER], [null, null, '1', 'Dan', '03']),
      COLUMNS,
    );

    expect(header).toEqual(COLUMNS);
    expect(content).toMatchObject({ width: 3, place: { sheet: 1, row: 1, column: 3 }, unnamed: 0 });
    expect(records).toEqual([HEADER, ['1', 'Dan', '03']]);
  });

  test('of one column needs one listed text', async () => {
    const { header, content } = await readWorkbook(workbookOf(['All ids'], ['id'], [1], [2]), ['id']);

    expect(header).toEqual(['id']);
    expect(content).toMatchObject({ rowsAbove: 1, rows: 2 });
  });

  test('of several columns needs two listed texts, because a title may be the name of a field', async () => {
    const { content } = await readWorkbook(workbookOf(['name'], HEADER, ['1', 'Dan', '03']), COLUMNS);

    expect(content).toMatchObject({ rowsAbove: 1, rows: 1 });
  });

  test('is searched in the first 20 rows with a value', async () => {
    const titles = Array.from({ length: 19 }, () => ['a title']);

    const found = await readWorkbook(workbookOf(...titles, [], [], HEADER, [1]), COLUMNS);
    const looked = readWorkbook(workbookOf(['one more'], ...titles, HEADER, [1]), COLUMNS);

    expect(found.content).toMatchObject({ rowsAbove: 19, rows: 1 });
    await expect(looked).rejects.toThrow('has no header of listed columns and no row of 3 columns');
  });

  test('may contain a left-out column, which is counted', async () => {
    const { header, content } = await readWorkbook(workbookOf([...HEADER, 'idNumber'], [1]), COLUMNS, {
      excepted: ['idNumber'],
    });

    expect(header).toBeNull();
    expect(content).toMatchObject({ headed: true, excepted: 1, width: 4 });
  });

  test('is unknown if it has the requested width and only unlisted texts', async () => {
    const { header, content, records } = await readWorkbook(
      workbookOf(['Report'], ['A', 'B', 'C'], ['1', 'Dan', '03']),
      COLUMNS,
    );

    expect(header).toBeNull();
    expect(content).toMatchObject({ headed: null, rows: null, rowsAbove: 1, unlisted: null });
    expect(content).toMatchObject({ firstRecord: digest('A', 'B', 'C'), unlistedPlaces: [], width: 3 });
    expect(records).toEqual([
      ['A', 'B', 'C'],
      ['1', 'Dan', '03'],
    ]);
  });

  test('may contain unlisted texts, which are counted', async () => {
    const { header, content } = await readWorkbook(
      workbookOf(['id', 'name', 'טלפון נייד'], ['1', 'Dan', '03']),
      COLUMNS,
    );

    expect(header).toBeNull();
    expect(content).toMatchObject({
      headed: true,
      unlisted: 1,
      unlistedPlaces: [3],
      rows: 1,
    });
  });

  test('is taken for a row if it looks like the row after it', async () => {
    const { content } = await readWorkbook(
      workbookOf(['dan@example.com', 'Dan', 'x'], ['ruth@example.com', 'Ruth', 'y']),
      COLUMNS,
    );

    expect(content).toMatchObject({ headed: false, rows: 2, unlisted: null });
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

  test('is refused if no row has the requested width', async () => {
    await expect(readWorkbook(workbookOf(['1', 'Dan', '03', 'x']), COLUMNS, headerless)).rejects.toThrow('no row of 3');
  });
});

describe('rows', () => {
  test('without values do not count, even if they have a style or empty texts', async () => {
    const empty = { xml: '<c s="0"/>' };
    const emptyText = { xml: '<c t="inlineStr"><is><t></t></is></c>' };

    const { content } = await readWorkbook(
      workbookOf(HEADER, [empty, empty], ['1'], [emptyText], [empty], ['2']),
      COLUMNS,
    );

    expect(content).toMatchObject({ rows: 2, emptyRows: 0, ending: { cells: 1, lineBreak: true } });
  });

  test('longer than the header are counted, and keep their cells', async () => {
    const { content, records } = await readWorkbook(workbookOf(HEADER, ['1', null, null, null, 'x'], ['2']), COLUMNS);

    expect(content).toMatchObject({ longer: 1, irregular: 1 });
    expect(records[1]).toEqual(['1', '', '', '', 'x']);
  });

  test('with values below empty cells of the header count as columns without a name', async () => {
    const { content } = await readWorkbook(
      workbookOf([null, 'id', null, 'name', null, 'phone'], ['0', '1', 'x'], ['0', '2', 'y']),
      COLUMNS,
    );

    expect(content).toMatchObject({ unnamed: 2, longer: 0, width: 5 });
  });

  test('that repeat the header are counted, and are not records', async () => {
    const { content, records } = await readWorkbook(
      workbookOf(HEADER, ['1'], HEADER, ['2'], [' ID', 'Name', 'phone ']),
      COLUMNS,
    );

    expect(content).toMatchObject({ repeatedHeaders: 2, rows: 2, otherHeaders: 0 });
    expect(records).toEqual([HEADER, ['1', '', ''], ['2', '', '']]);
  });

  test('with values only outside the columns of the header are not records', async () => {
    const { content, records } = await readWorkbook(
      workbookOf([null, ...HEADER], ['page 1', '1', 'Dan', '03'], ['total'], [null, null, null, null, 'x']),
      COLUMNS,
    );

    expect(content).toMatchObject({ rows: 1, records: 2, unnamed: 1, longer: 1 });
    expect(records).toEqual([HEADER, ['1', 'Dan', '03']]);
  });

  test('with empty cells anywhere are regular', async () => {
    const { content } = await readWorkbook(workbookOf(HEADER, ['1', null, '03'], [null, 'Dan'], ['3']), COLUMNS);

    expect(content).toMatchObject({ rows: 3, irregular: 0 });
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
    ['two values of three', COLUMNS, [['9', 'Noa']], false],
    ['a last value alone below rows of three', COLUMNS, [[null, null, '03']], false],
    ['an id alone below rows of two values', ['id', 'name'], [['9']], false],
  ])('set endsThin if the last row is too short: %s', async (_, columns, end, thin) => {
    const rows = Array.from({ length: 5 }, (_row, row) => [`${row}`, 'Dan', '03'].slice(0, columns.length));

    expect((await readWorkbook(workbookOf(columns, ...rows, ...end), columns)).content.endsThin).toBe(thin);
  });

  test('may reach the last row that a sheet can have, and then set fullSheet', async () => {
    const rows = `<row r="1"><c r="A1"><v>1</v></c></row>`;
    const last = '<row r="1048576"><c r="C1048576"><v>1</v></c></row>';
    const xml = sheetXml([HEADER]).replace('</sheetData>', `${last}</sheetData>`);

    expect((await readWorkbook(workbook({ sheets: [{ xml }] }), COLUMNS)).content.fullSheet).toBe(true);
    const beyond = xml.replaceAll('1048576', '1048577');
    await expect(readWorkbook(workbook({ sheets: [{ xml: beyond }] }), COLUMNS)).rejects.toThrow('out of order');
    const twice = xml.replace('</sheetData>', `${rows}</sheetData>`);
    await expect(readWorkbook(workbook({ sheets: [{ xml: twice }] }), COLUMNS)).rejects.toThrow('out of order');
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
  ])('with a left-out column is counted: %s', async (_, header) => {
    expect((await read([header, ['2', 'Ruth', '039123456']])).content).toMatchObject({
      otherHeaders: 1,
      leftOutHeaders: 1,
      repeatedHeaders: 0,
    });
  });

  test.each<[string, (string | null)[], object]>([
    ['the same columns in another order', ['name', 'id', 'phone'], {}],
    ['labels', ['Key', 'phone', 'name'], { Key: 'id' }],
    ['one exact name', ['phone'], {}],
    ['a text that means no field', ['name', 'phone', 'id', 'Remark'], { Remark: null }],
  ])('without a left-out column is counted: %s', async (_, header, labels) => {
    expect((await read([header, ['Ruth', '2']], [], labels)).content).toMatchObject({
      otherHeaders: 1,
      leftOutHeaders: 0,
    });
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
    await expect(factsOf({ ...leads, state: 'hidden' })).rejects.toThrow('of a visible sheet');
  });

  test('the file is empty if none of them has a value', async () => {
    const bytes = workbook({ sheets: [{ rows: [] }, { rows: [[]] }] });

    expect(await sheetFacts(await opened(sourceOf(bytes)), expectedColumns(COLUMNS))).toBeUndefined();
  });

  test('a sheet with only a header has no rows', async () => {
    expect(await factsOf({ rows: [HEADER] })).toMatchObject({ rows: 0, ending: { cells: 3 } });
  });
});
