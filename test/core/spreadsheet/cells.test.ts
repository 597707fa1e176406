import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { AllowedText } from '../../../core/spreadsheet/allowed-text.ts';
import { SharedStrings } from '../../../core/spreadsheet/shared-strings.ts';
import { sheetRows } from '../../../core/spreadsheet/sheet-rows.ts';
import { runs } from '../../support/runs.ts';
import { all, escaped, readWorkbook, sheetXml, type WorkbookDraft, workbook } from '../../support/workbook.ts';

/** The cells under a header with the same number of columns. */
async function cellsOf(cells: string[], draft: Partial<WorkbookDraft> = {}): Promise<string[] | undefined> {
  const columns = cells.map((_, place) => `column${place}`);
  const rows = [columns, cells.map((xml) => ({ xml }))];
  const { records } = await readWorkbook(workbook({ ...draft, sheets: [{ rows }] }), columns);
  return records[1];
}

describe('a cell', () => {
  test('of each type is read', async () => {
    const cells = [
      '<c t="n"><v>1.50</v></c>',
      '<c t="b"><v>1</v></c>',
      '<c t="b"><v>0</v></c>',
      '<c t="e"><v>#N/A</v></c>',
      '<c t="d"><v>2026-11-23T08:00:00</v></c>',
      '<c t="str"><f>A1&amp;B1</f><v> of a formula </v></c>',
      '<c t="s"><v>1</v></c>',
      '<c t="inlineStr"><is><t>inline</t></is></c>',
      '<c t="inlineStr"><v>in the wrong place</v></c>',
      '<c t="inlineStr"><v>1.0</v><is><t>beside a value</t></is></c>',
      '<c t="inlineStr"><is><t>before a value</t></is><v>1.0</v></c>',
      '<c><v> 7 </v></c>',
    ];

    expect(await cellsOf(cells, { sharedStrings: ['no', 'shared'] })).toEqual([
      ...['1.5', 'true', 'false', '#N/A', '2026-11-23T08:00:00', ' of a formula ', 'shared', 'inline'],
      ...['in the wrong place', 'beside a value', 'before a value', '7'],
    ]);
  });

  test('with formatted text is read as plain text, without phonetic runs', async () => {
    const rich =
      '<r><rPr><b/></rPr><t xml:space="preserve">one </t></r><r><t>two</t></r><rPh sb="0" eb="1"><t>spoken</t></rPh><phoneticPr fontId="1"/>';

    const read = await cellsOf([`<c t="s"><v>0</v></c>`, `<c t="inlineStr"><is>${rich}</is></c>`], {
      sharedXml: `<si>${rich}</si>`,
    });

    expect(read).toEqual(['one two', 'one two']);
  });

  test('keeps blanks, line breaks and escaped characters', async () => {
    const text = ' a\r\nb\t"<&>" 😀 _x000D__x005F_ ';

    const read = await cellsOf(
      [`<c t="inlineStr"><is><t xml:space="preserve">${escaped(text)}</t></is></c>`, '<c t="s"><v>0</v></c>'],
      {
        sharedStrings: [text],
      },
    );

    // An XML parser reads CRLF as LF.
    expect(read).toEqual([' a\nb\t"<&>" 😀 \r_ ', ' a\nb\t"<&>" 😀 \r_ ']);
  });

  test('with a date is read as ISO text, in both calendars', async () => {
    const formats = ['dd/mm/yyyy', 22, '[$-40D]0.00', '[h]:mm'];
    const cells = [
      '<c s="1"><v>45000</v></c>',
      '<c s="2"><v>45000.5</v></c>',
      '<c s="3"><v>45000</v></c>',
      '<c s="4"><v>1.25</v></c>',
    ];

    expect(await cellsOf(cells, { formats })).toEqual(['2023-03-15', '2023-03-15T12:00:00', '45000', '30:00:00']);
    for (const value of ['true', '1']) {
      const read = await cellsOf(cells.slice(0, 2), { formats, workbookPr: `<workbookPr date1904="${value}"/>` });
      expect(read).toEqual(['2027-03-16', '2027-03-16T12:00:00']);
    }
  });

  test('with a formula without a result is empty, and causes a warning', async () => {
    const formula = { xml: '<c><f>1+1</f><v></v></c>' };
    const emptyText = { xml: '<c t="str"><f>A1</f><v></v></c>' };
    const rows = [
      ['id', 'name'],
      ['1', formula],
      ['2', emptyText],
    ];

    const { warnings, records } = await readWorkbook(workbook({ sheets: [{ rows }] }), ['id', 'name']);

    expect(records[1]).toEqual(['1', '']);
    expect(warnings).toEqual([expect.stringContaining('formula')]);
  });

  test('of a merged range has its value only once', async () => {
    const xml = sheetXml([
      ['id', 'name'],
      ['1', { xml: '<c s="0"/>' }],
    ]).replace('</sheetData>', '</sheetData><mergeCells count="1"><mergeCell ref="A2:B2"/></mergeCells>');

    expect((await readWorkbook(workbook({ sheets: [{ xml }] }), ['id', 'name'])).records[1]).toEqual(['1', '']);
  });

  test('that refers to a missing shared text is refused', async () => {
    for (const number of ['2', '-1', 'x', '1.5']) {
      const read = cellsOf([`<c t="s"><v>${number}</v></c>`, '<c><v>1</v></c>'], { sharedStrings: ['a', 'b'] });
      await expect(read).rejects.toThrow('shared text');
    }
  });
});

/** The rows of a sheet that arrives in pieces, and what is found besides, or the error. */
async function read(xml: string, cuts: readonly number[]): Promise<unknown> {
  const bytes = Buffer.from(xml);
  const places = [0, ...cuts.map((cut) => Math.min(cut, bytes.length)).toSorted((a, b) => a - b), bytes.length];
  async function* pieces() {
    for (const [index, end] of places.slice(1).entries()) yield bytes.subarray(places[index], end);
  }
  const text = new AllowedText('worksheet');
  const seen = { unknownResults: 0, text };
  const context = { calendar: 1900, formats: [], strings: new SharedStrings(0) } as const;
  const rows = await all(sheetRows(pieces(), context, seen)).catch(String);
  return { rows, found: text.found, unknownResults: seen.unknownResults };
}

test('a cell of the usual form is read as the same cell in another form', async () => {
  const text = fc.constantFrom(
    '1',
    'a b',
    ' ',
    '',
    '_x0041_',
    '-0',
    'x>y',
    'א',
    '😀',
    '&lt;',
    ']]>',
    '\x01',
    '\r\n',
    '\x85',
    '\n',
  );
  const cell = fc
    .tuple(fc.constantFrom('', ' t="str"', ' s="0"', ' s="0" t="b"', ' t="inlineStr"', ' t="x"'), text)
    .chain(([more, value]) =>
      fc.constantFrom(
        `<c~ r="#"${more}><v>${value}</v></c>`,
        `<c~ r="#"${more}><is><t>${value}</t></is></c>`,
        `<c~ r="#"${more}><f>1</f><v>${value}</v></c>`,
        `<c~ r="#"${more}><is><t><![CDATA[<c r="B9"><v>${value}</v></c>]]></t></is></c>`,
      ),
    );
  const other = fc.constantFrom(
    '<!--<row><c~ r="#"><v>1</v></c>-->',
    '<x><c~ r="#"><v>1</v></c></x>',
    '<?x <row> <c~ r="#"><v>1</v></c>?>',
    '<c~ r="A1"><v>1</v></c>',
    '\n',
    '<c~ r="#"><v>1</c>',
  );
  const row = fc.array(fc.oneof({ weight: 9, arbitrary: cell }, other), { maxLength: 5 });
  await fc.assert(
    fc.asyncProperty(
      fc.array(row, { maxLength: 4 }),
      fc.constantFrom('1.0', '1.1'),
      fc.array(fc.nat(600)),
      async (rows, version, cuts) => {
        const named = rows.map((cells, at) =>
          cells.map((xml, column) => xml.replace('#', `${'ABCDEF'[column]}${at + 1}`)).join(''),
        );
        const xml = `<?xml version="${version}"?><worksheet><sheetData>${named.map((cells, at) => `<row r="${at + 1}">${cells}</row>`).join('')}</sheetData></worksheet>`;

        expect(await read(xml.replaceAll('~', ''), cuts)).toEqual(await read(xml.replaceAll('~', ' '), []));
      },
    ),
    { numRuns: runs(500) },
  );
});
