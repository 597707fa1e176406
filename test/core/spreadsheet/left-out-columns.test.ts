import { describe, expect, test } from 'vitest';
import { ENTITIES } from '../../../core/config/entities.ts';
import { exceptedPlaces } from '../../../core/gate/checks.ts';
import { asStrict, partsOf, readWorkbook, sheetXml, type WorkbookDraft } from '../../support/workbook.ts';
import { zipOfFiles } from '../../support/zip.ts';

const COLUMNS = ['id', 'name', 'phone'];
const CANARY = 'Canary of Haifa';
const OFFICE = 'application/vnd.openxmlformats-officedocument';
const rows = [COLUMNS, ['1', 'Dan', '03']];
const draft: WorkbookDraft = { sheets: [{ name: 'Leads', rows }] };

type Parts = ReturnType<typeof partsOf>;
const inPart = (name: RegExp, from: string | RegExp, to: string) => (parts: Parts) =>
  parts.map((part) => (name.test(part.name) ? { ...part, content: String(part.content).replace(from, to) } : part));
const inSheet = (xml: string) => inPart(/sheet1/, '</sheetData>', `</sheetData>${xml}`);
const inMain = (xml: string) => inPart(/workbook\.xml$/, '</sheets>', `</sheets>${xml}`);
const withPart = (name: string, type: string, content: string) => (parts: Parts) => {
  const override = `<Override PartName="/${name}" ContentType="${type}"/></Types>`;
  return [...inPart(/Content_Types/, '</Types>', override)(parts), { name, content }];
};
const withTheme = (xml: string) => withPart('xl/theme/theme1.xml', `${OFFICE}.theme+xml`, xml);
const inFooter = (text: string) => `<headerFooter><oddFooter>${text}</oddFooter></headerFooter>`;
const footer = (text: string) => inSheet(inFooter(text));
const validation = (inner: string) =>
  `<dataValidations><dataValidation type="list"><formula1>${inner}</formula1></dataValidation></dataValidations>`;
const rule = (inner: string, type = '') =>
  `<conditionalFormatting><cfRule${type}>${inner}</cfRule></conditionalFormatting>`;
const savedIn = (url: string) =>
  inMain(
    `<mc:AlternateContent><mc:Choice Requires="x15"><x15ac:absPath url="${url}" xmlns:x15ac="http://schemas.microsoft.com/office/spreadsheetml/2010/11/ac"/></mc:Choice></mc:AlternateContent>`,
  );
const named = (name: string) => inPart(/workbook\.xml$/, 'name="Leads"', `name="${name}"`);
const withStrings = (xml: string) => partsOf({ ...draft, sharedXml: xml });

/** The result for a workbook without the column `idNumber`, which is left out. */
async function fateOf(parts: Parameters<typeof zipOfFiles>) {
  const facts = await readWorkbook(zipOfFiles(...parts), COLUMNS, { excepted: ['idNumber'] });
  const found = exceptedPlaces({ ...facts, format: 'xlsx' });
  return { places: found?.measured, detail: found?.detail, facts };
}

test('with a left-out column, a workbook with only its rows is not stopped', async () => {
  expect(await fateOf(partsOf(draft))).toMatchObject({ places: 0 });
});

test.each<[xml: string, kind: string]>([
  [validation('"Dana"'), 'data validation'],
  [rule('<formula>"Dana"</formula>'), 'conditional formats'],
  [rule('<cfvo val="Dana"/>'), 'conditional formats'],
  ['<calculatedColumnFormula/>', 'formulas'],
  ['<rPh/>', 'phonetic runs'],
  [inFooter('Dana'), 'headers or footers of pages'],
  ['<autoFilter><filterColumn><filters/></filterColumn></autoFilter>', 'filters'],
  ['<autoFilter><filterColumn><customFilters/></filterColumn></autoFilter>', 'filters'],
  ['<autoFilter><filterColumn><top10/></filterColumn></autoFilter>', 'filters'],
  ['<scenarios/>', 'scenarios'],
  ['<hyperlink/>', 'links'],
  ['<definedName/>', 'defined names'],
  ['<AlternateContent/>', 'alternative content'],
  ['<extLst/>', 'extensions'],
  ['<table/>', 'a name in a table'],
  ['<sheet/>', 'a name of a sheet'],
  ['<note/>', 'text in other places'],
])('the reason names the place of %s', async (xml, kind) => {
  expect((await fateOf(inSheet(xml)(partsOf(draft)))).detail).toContain(kind);
});

describe('with a left-out column, a workbook is stopped by', () => {
  const withheld = async (change: (parts: Parts) => Parts) => {
    const { places, detail, facts } = await fateOf(change(partsOf(draft)));

    expect(places).toBeGreaterThan(0);
    expect(JSON.stringify([detail, facts.content, facts.warnings])).not.toContain('Canary');
  };

  test.each<[string, string | RegExp, string]>([
    ['a formula', /<c r="C2".*?<\/c>/, `<c r="C2"><f>"${CANARY}"</f><v>1</v></c>`],
    ['a formula without a result', /<c r="C2".*?<\/c>/, `<c r="C2"><f>HYPERLINK("${CANARY}")</f></c>`],
    ['a column without a header', '</row></sheetData>', `<c r="D2" t="str"><v>${CANARY}</v></c></row></sheetData>`],
    ['a phonetic run', 'Dan</t>', `Dan</t><rPh sb="0" eb="1"><t>${CANARY}</t></rPh>`],
    ['a value before an inline text', '<is><t xml:space="preserve">Dan', `<v>${CANARY}</v><is><t>Dan`],
    ['a value after an inline text', 'Dan</t></is>', `Dan</t></is><v>${CANARY}</v>`],
    ['a number after an inline text', 'Dan</t></is>', 'Dan</t></is><v>12345678</v>'],
    ['a second inline text', 'Dan</t></is>', `${CANARY}</t></is><is><t>Dan</t></is>`],
    ['an unknown attribute', '<row r="2"', `<row r="2" note="${CANARY}"`],
    ['an unknown attribute with a number', '<row r="2"', '<row r="2" note="12345678"'],
    ['a known attribute', '<row r="2"', `<row r="2" s="${CANARY}"`],
    ['the type of a cell', '<c r="B2" t="inlineStr"', `<c r="B2" t="${CANARY}"`],
    ['a cell inside of a cell', '<t xml:space="preserve">Dan</t>', `<c r="C2"><v>${CANARY}</v></c>`],
    ['a cell below another element', '<dimension', `<cols><col><c r="A1"><v>${CANARY}</v></c></col></cols><dimension`],
    [
      'a row below another element',
      '<dimension',
      `<cols><row r="1"><c r="A1"><v>${CANARY}</v></c></row></cols><dimension`,
    ],
    ['the place of a cell outside of a row', '<dimension', `<c r="${CANARY}"/><dimension`],
    ['a namespace', '<worksheet', `<worksheet xmlns:x="http://schemas.microsoft.com/${CANARY}"`],
    ['the prefix of an attribute', '<row r="2"', '<row r="2" Canary:r="2"'],
    ['the prefix of an element', '<dimension', '<Canary:sheetPr/><dimension'],
    ['a declared prefix', '<worksheet', '<worksheet xmlns:Canary="http://schemas.openxmlformats.org/"'],
    ['prefixes that are not declared', '<worksheet', '<worksheet mc:Ignorable="dana levi a05 b01"'],
    ['text between rows', '<row r="2"', `${CANARY}<row r="2"`],
    ['text after an element', '</sheetData>', `</sheetData><sheetPr/>${CANARY}`],
    ['a comment in the XML', '</sheetData>', `</sheetData><!-- ${CANARY} -->`],
    ['a processing instruction', '</sheetData>', `</sheetData><?note ${CANARY}?>`],
    ['a page footer with its own text', '</sheetData>', `</sheetData>${inFooter(`&amp;C${CANARY}&amp;A`)}`],
    ['a code name', '<dimension', `<sheetPr codeName="${CANARY}"/><dimension`],
    ['a number as a code name', '<dimension', '<sheetPr codeName="12345678"/><dimension'],
    [
      'the text of a rule',
      '</sheetData>',
      `</sheetData><conditionalFormatting><cfRule text="${CANARY}"/></conditionalFormatting>`,
    ],
    [
      'a value for a rule',
      '</sheetData>',
      `</sheetData>${rule('<iconSet><cfvo type="num" val="12345678"/></iconSet>', ' type="iconSet"')}`,
    ],
    ['a number in a rule', '</sheetData>', `</sheetData>${rule('<formula>12345678</formula>', ' type="cellIs"')}`],
    ['a list of values', '</sheetData>', `</sheetData>${validation(`"${CANARY}"`)}`],
    ['a number to choose', '</sheetData>', `</sheetData>${validation('12345678')}`],
    ['a text as a password', '</sheetData>', `</sheetData><sheetProtection hashValue="${CANARY}" sheet="1"/>`],
    ['a prompt', '</sheetData>', `</sheetData><dataValidations><dataValidation prompt="${CANARY}"/></dataValidations>`],
  ])('%s', async (_, from, to) => {
    await withheld(inPart(/sheet1/, from, to));
  });

  test.each(['oddHeader', 'evenHeader', 'firstHeader', 'oddFooter', 'evenFooter', 'firstFooter'])(
    'the text of %s',
    async (name) => {
      for (const text of [CANARY, '12345678']) await withheld(inSheet(`<${name}>${text}</${name}>`));
    },
  );

  test.each<[string, string]>([
    ['a document title', '<title>12345678</title>'],
    ['the formula of a defined name', '<definedName name="Print_Area">12345678</definedName>'],
    ['a theme', `<theme name="${CANARY}"/>`],
    ['a style sheet', `<styleSheet><x note="${CANARY}"/></styleSheet>`],
    ['the format of a text', `<rPr note="${CANARY}"/>`],
    ['an attribute of another element', '<sheetPr count="12345678"/>'],
    ['a row outside of the rows', '<row r="9" ht="12345678"/>'],
  ])('an element in a sheet that belongs elsewhere, such as %s', async (_, xml) => {
    await withheld(inSheet(xml));
  });

  test.each([
    ...['filterColumn', 'filter', 'scenario', 'dataValidation', 'formula1', 'cfRule', 'hyperlink', 'extLst', 'rPh'],
    ...['protectedRange', 'note', 'absPath', 'webPublishing', 'fileSharing', 'oleObject', 'customSheetView', 'f'],
  ])('the element %s in a sheet or in the workbook, even with a number', async (name) => {
    for (const xml of [`<${name}>${CANARY}</${name}>`, `<${name} name="${CANARY}"/>`, `<${name} name="12345678"/>`]) {
      await withheld(inSheet(xml));
      await withheld(inMain(xml));
    }
  });

  test.each<[string, (parts: Parts) => Parts]>([
    ['a shared text that no cell uses', () => withStrings(`<si><t>${CANARY}</t></si>`)],
    ['a phonetic run of shared texts', () => withStrings(`<si><t></t><rPh sb="0" eb="1"><t>${CANARY}</t></rPh></si>`)],
    ['text between shared texts', () => withStrings(CANARY)],
    ['the name of its sheet', named(CANARY)],
    ['digits beside the number of a page', footer('&amp;P 312340001')],
    ['a font of another name', footer(`&amp;&quot;${CANARY},Regular&quot;&amp;P`)],
    ['the folder of a person', savedIn('C:\\Users\\dana\\312340001\\')],
    ['a folder without an alternative', inMain('<x15ac:absPath url="C:\\"/>')],
    ['another alternative', inMain(`<AlternateContent><Choice Requires="${CANARY}"/></AlternateContent>`)],
    ['a defined name', inMain(`<definedName name="Print_Area">"${CANARY}"</definedName>`)],
    ['the comment of a name', inMain(`<definedName name="Print_Area" comment="${CANARY}">Leads!$A$1</definedName>`)],
    ['alternative content', inMain(`<mc:AlternateContent><mc:Choice url="C:\\${CANARY}"/></mc:AlternateContent>`)],
    ['alternative formats', inPart(/styles/, '</styleSheet>', `<AlternateContent x="${CANARY}"/></styleSheet>`)],
    ['a number format', inPart(/styles/, '<numFmts>', `<numFmts><numFmt formatCode="&quot;${CANARY}&quot;0"/>`)],
    ['a currency', inPart(/styles/, '<numFmts>', `<numFmts><numFmt formatCode="[$${CANARY}-409]0"/>`)],
    ['digits of a number format', inPart(/styles/, '<numFmts>', '<numFmts><numFmt formatCode="312340017"/>')],
    ['a very long number format', inPart(/styles/, '<numFmts>', `<numFmts><numFmt formatCode="${'1 '.repeat(2e6)}"/>`)],
    ['text in the styles', inPart(/styles/, '</styleSheet>', `${CANARY}</styleSheet>`)],
    [
      'an external link',
      inPart(
        /_rels\/\.rels/,
        '</Relationships>',
        `<Relationship Id="r9" Type="http://x/hyperlink" Target="https://x.example/" TargetMode="External"/></Relationships>`,
      ),
    ],
    ['a content type', inPart(/Content_Types/, '</Types>', `<Default ContentType="application/${CANARY}"/></Types>`)],
    ['the name of a part', withPart(`xl/theme/${CANARY}.xml`, `${OFFICE}.theme+xml`, '<a:theme/>')],
    ['the name of an empty part', (parts) => [...parts, { name: `xl/${CANARY}.bin`, content: '' }]],
    ['the name of a folder', (parts) => [...parts, { name: `${CANARY}/`, content: '' }]],
    ['a part without a type', (parts) => [...parts, { name: 'xl/note', content: CANARY }]],
    [
      'text in styles of another type and name',
      (parts) =>
        inPart(
          /styles/,
          '</styleSheet>',
          `${CANARY}</styleSheet>`,
        )(inPart(/Content_Types/, /[^"]*styles\+xml/, 'application/xml')(parts)).map(({ content, ...part }) => ({
          ...part,
          name: part.name.replace('styles.xml', 'style.xml'),
          content: String(content).replace(/styles\.xml/g, 'style.xml'),
        })),
    ],
    ['a part that is not XML', withTheme(CANARY)],
    ['text in a theme', withTheme(`<a:theme>${CANARY}</a:theme>`)],
  ])('%s', async (_, change) => {
    await withheld(change);
  });

  const CORE = 'application/vnd.openxmlformats-package.core-properties+xml';
  const TABLE = `${OFFICE}.spreadsheetml.table+xml`;
  test.each<[type: string, xml: string]>([
    [CORE, `<cp:coreProperties><dc:creator>${CANARY}</dc:creator></cp:coreProperties>`],
    [CORE, `<cp:coreProperties><dc:title>${CANARY}</dc:title></cp:coreProperties>`],
    [CORE, '<cp:coreProperties><dc:title>12345678</dc:title></cp:coreProperties>'],
    [CORE, '<cp:coreProperties><cp:keywords>31234</cp:keywords></cp:coreProperties>'],
    [CORE, '<cp:coreProperties><dc:title/>12345678</cp:coreProperties>'],
    [CORE, '<cp:coreProperties><dc:title>DanLevi/Leads</dc:title></cp:coreProperties>'],
    [CORE, '<cp:coreProperties><dc:creator>312340017/name</dc:creator></cp:coreProperties>'],
    [`${OFFICE}.extended-properties+xml`, '<Properties><Manager>12345678</Manager></Properties>'],
    [TABLE, '<table><tableColumns><tableColumn totalsRowLabel="31234"/></tableColumns></table>'],
    [`${OFFICE}.extended-properties+xml`, `<Properties><Company>${CANARY}</Company></Properties>`],
    [`${OFFICE}.custom-properties+xml`, `<Properties><property name="${CANARY}"/></Properties>`],
    [`${OFFICE}.spreadsheetml.calcChain+xml`, `<calcChain><c r="${CANARY}"/></calcChain>`],
    [TABLE, `<table name="${CANARY}"/>`],
    [TABLE, `<table><tableColumn name="${CANARY}"/></table>`],
    [TABLE, `<table><totalsRowFormula>${CANARY}</totalsRowFormula></table>`],
    [`${OFFICE}.spreadsheetml.comments+xml`, '<comments/>'],
    [`${OFFICE}.vmlDrawing`, '<xml/>'],
    [`${OFFICE}.drawing+xml`, '<wsDr><twoCellAnchor/></wsDr>'],
    [`${OFFICE}.spreadsheetml.sheetMetadata+xml`, `<metadata><s v="${CANARY}"/></metadata>`],
    [`${OFFICE}.spreadsheetml.chartsheet+xml`, '<chartsheet/>'],
    [`${OFFICE}.spreadsheetml.printerSettings`, CANARY],
    ['application/vnd.ms-excel.person+xml', '<person/>'],
    ['application/xml', '<lead/>'],
    ['image/png', CANARY],
  ])('a part of the type %s: %s', async (type, xml) => {
    await withheld(withPart('xl/tables/table1.xml', type, xml));
  });

  test.each<[string, WorkbookDraft['sheets'][number]]>([
    ['another sheet', { rows: [[CANARY]] }],
    ['a hidden sheet', { state: 'veryHidden', rows: [[CANARY]] }],
    [
      'a page footer of an empty sheet',
      { xml: sheetXml([]).replace('</worksheet>', `${inFooter(CANARY)}</worksheet>`) },
    ],
    ['the name of an empty sheet', { name: CANARY, rows: [] }],
  ])('%s', async (_, sheet) => {
    expect((await fateOf(partsOf({ sheets: [...draft.sheets, sheet] }))).places).toBeGreaterThan(0);
  });

  test('a comment of the archive or of an entry', async () => {
    for (const text of [{ comment: CANARY }, { entryComment: CANARY }]) {
      const [first, ...others] = partsOf(draft);
      expect(first && (await fateOf([{ ...first, ...text }, ...others])).detail).toContain('comments');
    }
  });
});

describe('with a left-out column, a workbook is not stopped by', () => {
  const TYPE = /<Override PartName="\/xl\/styles.xml".*?\/>/;
  const all =
    (...changes: ((parts: Parts) => Parts)[]) =>
    (parts: Parts) =>
      changes.reduce((changed, change) => change(changed), parts);
  const inTypes = (xml: string) => inPart(/Content_Types/, '<Default', `${xml}<Default`);
  const columns = COLUMNS.map((name, at) => `<tableColumn id="${at + 1}" name="${name}"/>`).join('');
  const filter = `<definedName name="_xlnm._FilterDatabase" localSheetId="0" hidden="1">'Leads'!$A$1:$C$2</definedName>`;
  const uri = (text: string, inside: string) => `<ext uri="{${text}}">${inside}</ext>`;
  const typeOf = (extension: string, type: string) => `<Default Extension="${extension}" ContentType="${type}"/>`;
  const MICROSOFT = 'http://schemas.microsoft.com/office';
  const withTable = (xml: string) => withPart('xl/tables/table1.xml', `${OFFICE}.spreadsheetml.table+xml`, xml);
  const withFormat = (code: string) =>
    inPart(/styles/, '<numFmts>', `<numFmts><numFmt numFmtId="170" formatCode="${code}"/>`);

  const OF_A_SHEET: Record<string, string> = {
    'colours and icons by value':
      '<conditionalFormatting sqref="A1:A9"><cfRule type="colorScale" priority="1"><colorScale><cfvo type="min"/><cfvo type="percentile" val="50"/><color rgb="FFF8696B"/></colorScale></cfRule><cfRule type="iconSet" priority="2"><iconSet iconSet="3TrafficLights1"><cfvo type="percent" val="67"/></iconSet></cfRule><cfRule type="duplicateValues" dxfId="0" priority="3"/><cfRule type="cellIs" dxfId="0" priority="4" operator="greaterThan"><formula>200</formula></cfRule></conditionalFormatting>',
    'a limit for the length of a cell, and its values':
      '<dataValidations count="1"><dataValidation type="textLength" operator="lessThan" allowBlank="1" sqref="B2:B9"><formula1>9</formula1></dataValidation><dataValidation type="list" sqref="A2:A9"><formula1>$A$2:$A$9</formula1></dataValidation></dataValidations>',
    'protection with a password, as Excel stores it today': `<sheetProtection algorithmName="SHA-512" hashValue="${'aB3+/'.repeat(17)}a==" saltValue="${'aB3+/'.repeat(4)}ab==" spinCount="100000" sheet="1"/>`,
    'a sorted filter':
      '<autoFilter ref="A1:B2"><sortState ref="A2:B2"><sortCondition ref="A2" customList=""/></sortState></autoFilter>',
    'protection with a password': '<sheetProtection password="83AF" sheet="1"/>',
  };
  const OF_A_TABLE: Record<string, string> = {
    'a table of the header': `<table id="1" name="Table1" displayName="Table1" ref="A1:C2" totalsRowShown="0"><autoFilter ref="A1:C2"/><tableColumns count="3">${columns}</tableColumns><tableStyleInfo name="TableStyleMedium9" showRowStripes="1"/></table>`,
    'filter buttons, totals and a name of two words in a table':
      '<table id="1" name="LeadsTable" displayName="LeadsTable" ref="A1:C2"><autoFilter ref="A1:C2"><filterColumn colId="0" hiddenButton="1"/></autoFilter><tableColumns count="1"><tableColumn id="1" name="id" totalsRowLabel="Total" totalsRowFunction="none"/></tableColumns></table>',
    'a table by Excel in Hebrew': '<table displayName="טבלה1" ref="A1"/>',
    'a table by Polars': '<table name="Frame0" displayName="Frame0" ref="A1:C2"/>',
  };

  test.each<[what: string, change: (parts: Parts) => Parts]>([
    ...Object.entries(OF_A_SHEET).map(([what, xml]): [string, (parts: Parts) => Parts] => [what, inSheet(xml)]),
    ...Object.entries(OF_A_TABLE).map(([what, xml]): [string, (parts: Parts) => Parts] => [what, withTable(xml)]),
    ['the number of the page', footer('&amp;P')],
    ['page and pages', footer('&amp;LPage &amp;P of &amp;N&amp;R&amp;D &amp;T')],
    ['page and pages in Hebrew', footer('&amp;Cעמוד &amp;P מתוך &amp;N')],
    ['sheet in fonts', footer('&amp;&quot;Calibri,Bold&quot;&amp;11&amp;A&amp;&quot;DejaVu Serif,Book&quot;&amp;F')],
    ['the folder of the author of xlsx-populate', savedIn('C:\\Users\\djohnson\\Code\\xlsx-populate\\lib\\')],
    [
      'a bold theme font and another size',
      footer('&amp;B&amp;"-,Bold"&amp;8Page&amp;R&amp;"Arial,Regular"&amp;10&amp;P'),
    ],
    ['ids as another library writes them', inPart(/_rels\/\.rels/, 'Id="r"', 'Id="R0123456789abcdef"')],
    ['the name of a grid', named('Grid')],
    ['a sheet of all leads', named('כל הלידים')],
    ['header filters', all(inSheet('<autoFilter ref="A1:C2"/>'), inMain(`<definedNames>${filter}</definedNames>`))],
    [
      'header, footer and extension of LibreOffice',
      all(
        inSheet(
          '<headerFooter differentFirst="false"><oddHeader>&amp;C&amp;"Times New Roman,Regular"&amp;12&amp;A</oddHeader><oddFooter>&amp;C&amp;"Times New Roman,Regular"&amp;12Page &amp;P</oddFooter></headerFooter>',
        ),
        inMain(
          '<calcPr refMode="A1"/><extLst><ext xmlns:loext="http://schemas.libreoffice.org/" uri="{7626C862-2A13-11E5-B345-FEFF819CDC9F}"><loext:extCalcPr stringRefSyntax="CalcA1ExcelA1"/></ext></extLst>',
        ),
      ),
    ],
    [
      'widths, frozen panes and margins',
      inPart(
        /sheet1/,
        '<sheetData>',
        '<sheetViews><sheetView rightToLeft="1" workbookViewId="0"><pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/><selection pane="bottomLeft" activeCell="A2" sqref="A2"/></sheetView></sheetViews><sheetFormatPr defaultRowHeight="15"/><cols><col min="1" max="3" width="9.140625" customWidth="1"/></cols><sheetData>',
      ),
    ],
    [
      'an empty line before the declaration, and a word between elements, of PyExcelerate',
      all(inPart(/styles|sheet1/, /^/, '\n'), inSheet('None')),
    ],
    [
      'styles that no part declares, of PyExcelerate',
      all(inPart(/_rels/, /<Relationship Id="st".*?\/>/, ''), inPart(/Types/, TYPE, typeOf('xml', 'application/xml'))),
    ],
    [
      'the type of a workbook that may hold macros',
      inPart(
        /Types/,
        /application\/[^"]*spreadsheetml\.sheet\.main\+xml/,
        'application/vnd.ms-excel.sheet.macroEnabled.main+xml',
      ),
    ],
    ['the type of a template', inPart(/Types/, 'spreadsheetml.sheet.main+xml', 'spreadsheetml.template.main+xml')],
    [
      'the name of the program that wrote it, and its words in Hebrew',
      withPart(
        'docProps/app.xml',
        `${OFFICE}.extended-properties+xml`,
        '<Properties><Application>Microsoft Excel</Application><HeadingPairs><vt:vector size="2" baseType="variant"><vt:variant><vt:lpstr>גליונות עבודה</vt:lpstr></vt:variant><vt:variant><vt:i4>1</vt:i4></vt:variant></vt:vector></HeadingPairs><TitlesOfParts><vt:vector size="1" baseType="lpstr"><vt:lpstr>Leads</vt:lpstr></vt:vector></TitlesOfParts><AppVersion>16.0300</AppVersion></Properties>',
      ),
    ],
    [
      'the time when it was written',
      withPart(
        'docProps/core.xml',
        'application/vnd.openxmlformats-package.core-properties+xml',
        '<cp:coreProperties xmlns:dcmitype="http://purl.org/dc/dcmitype/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><dc:creator>openpyxl</dc:creator><dc:language>he-IL</dc:language><dcterms:created xsi:type="dcterms:W3CDTF">2026-11-26T01:02:03Z</dcterms:created></cp:coreProperties>',
      ),
    ],
    ['a theme and fonts', withTheme('<a:theme name="Office Theme"><a:latin typeface="Calibri Light"/></a:theme>')],
    [
      'what LibreOffice adds to a file of Excel',
      all(
        withPart('docProps/custom.xml', `${OFFICE}.custom-properties+xml`, '<Properties></Properties>'),
        inMain(
          '<definedNames><definedName function="false" hidden="true" localSheetId="0" name="_xlnm._FilterDatabase" vbProcedure="false">Leads!$A$1:$B$3</definedName></definedNames><extLst><ext uri="{7626C862-2A13-11E5-B345-FEFF819CDC9F}"><loext:extCalcPr stringRefSyntax="ExcelA1"/></ext></extLst>',
        ),
        inSheet(
          '<conditionalFormatting sqref="A2"><cfRule type="duplicateValues" text="" priority="2"/></conditionalFormatting><dataValidations><dataValidation errorStyle="stop" type="textLength"><formula1>9</formula1></dataValidation></dataValidations>',
        ),
      ),
    ],
    ['advice to open it for reading only', inMain('<fileSharing userName="" readOnlyRecommended="1"/>')],
    [
      'what Excel for Mac writes',
      all(
        inMain(
          `<workbookPr defaultImageDpi="32767"/><webPublishing allowPng="1" css="0" codePage="0"/><extLst>${uri('7523E5D3-25F3-A5E0-1632-64F254C22452', '<mx:ArchID Flags="2"/>')}</extLst>`,
        ),
        withPart('docProps/app.xml', `${OFFICE}.extended-properties+xml`, '<Properties><HyperlinkBase/></Properties>'),
      ),
    ],
    ['a locked structure', inMain('<workbookProtection workbookPassword="83AF" lockStructure="1"/>')],
    ['a number format with a currency', withFormat('#,##0.00\\ &quot;CHF&quot;;[Red]\\-#,##0.00\\ [$₪-40D]')],
    ['a number format with the prefix of a country', withFormat('&quot;+972-&quot;00-000-0000')],
    [
      'a formatted text',
      inPart(
        /sheet1/,
        '<t xml:space="preserve">Dan</t>',
        '<r><rPr><b/><sz val="11"/><color theme="1"/><rFont val="Calibri"/></rPr><t>Dan</t></r>',
      ),
    ],
    [
      'resolutions of unknown printers, and kept blanks',
      all(
        inSheet('<pageSetup orientation="portrait" horizontalDpi="4294967295" verticalDpi="4294967293"/>'),
        inPart(/sheet1/, '<sheetData>', '<sheetData xml:space="preserve">'),
      ),
    ],
    [
      'metadata of dynamic arrays',
      withPart(
        'xl/metadata.xml',
        `${OFFICE}.spreadsheetml.sheetMetadata+xml`,
        `<metadata xmlns:xda="${MICROSOFT}/spreadsheetml/2017/dynamicarray"><metadataTypes count="1"><metadataType name="XLDAPR" minSupportedVersion="120000" copy="1"/></metadataTypes><futureMetadata name="XLDAPR" count="1"><bk><extLst>${uri('bdbb8cdc-fa1e-496e-a857-3c3f30c029c3', '<xda:dynamicArrayProperties fDynamic="1" fCollapsed="0"/>')}</extLst></bk></futureMetadata><cellMetadata count="1"><bk><rc t="1" v="0"/></bk></cellMetadata></metadata>`,
      ),
    ],
    [
      'an empty drawing',
      withPart(
        'xl/drawings/drawing1.xml',
        `${OFFICE}.drawing+xml`,
        `<xdr:wsDr xmlns:cx1="${MICROSOFT}/drawing/2015/9/8/chartex" xmlns:x3Unk="${MICROSOFT}/drawing/2010/slicer"/>`,
      ),
    ],
    [
      'types of parts that it does not have',
      inTypes(
        `${typeOf('emf', 'image/x-emf')}${typeOf('pdf', 'application/pdf')}${typeOf('bin', 'application/vnd.ms-excel.sheet.binary.macroEnabled.main')}`,
      ),
    ],
    [
      'features of a new Excel',
      inMain(
        `<xr:revisionPtr documentId="13_ncr:1_{1F2A0B7C-0D4C-4B0F-9E36-1A2B3C4D5E6F}"/><extLst>${uri('140A7094-0E35-4892-8432-C4D2E57EDEB5', '<x15:workbookPr chartTrackingRefBase="1"/>')}<ext uri="{B58B0392-4F1F-4190-BB64-5DF3571DCE5F}" xmlns:xcalcf="${MICROSOFT}/spreadsheetml/2018/calcfeatures"><xcalcf:calcFeatures><xcalcf:feature name="microsoft.com:LET_WF"/></xcalcf:calcFeatures></ext></extLst>`,
      ),
    ],
    [
      'prefixes that other programs ignore',
      inPart(
        /sheet1/,
        '<worksheet',
        '<worksheet mc:Ignorable="xr msink x16r2" xmlns:xr="http://" xmlns:x16r2="http://" xmlns:msink="http://"',
      ),
    ],
    [
      'the strict edition of the standard',
      (parts) => parts.map((part) => ({ ...part, content: asStrict(String(part.content)) })),
    ],
    ['empty parts', (parts) => [...parts, { name: 'xl/empty.bin', content: '', deflated: true }]],
  ])('%s', async (_, change) => {
    const { places, facts } = await fateOf(change(partsOf(draft)));
    expect([places, facts.content.elsewhereKinds]).toEqual([0, []]);
  });
});

test.each(ENTITIES)('with a left-out column, a sheet may be called after the records: %s', async (entity) => {
  for (const name of [entity, entity.toUpperCase(), `${entity.replace('-', ' ')} 2026-11-26`, entity.slice(0, -1)])
    expect(await fateOf(partsOf({ sheets: [{ name, rows }] })), name).toMatchObject({ places: 0 });
});

test.each([
  ...[
    '2026_12_01',
    '2026 12 01 01-00',
    '2026-12-1',
    '1.12.2026',
    '1-12-2026 01.00',
    '01-12-2026_01-00-00',
    '12-31-2026',
  ],
  ...['2026-12-01T01-00-00-123Z', '01 Dec 2026', '01122026', '2026_12', '12-2026', 'backup of 2026-12-01'],
])('with a left-out column, a sheet may be called after its date: %s', async (date) => {
  expect(await fateOf(partsOf({ sheets: [{ name: `Leads ${date}`, rows }] }))).toMatchObject({ places: 0 });
});

test('with a left-out column, a sheet may have an ordinary name', async () => {
  const names = [
    'Search Results',
    'Raw Data',
    'Lead Details',
    'Scheduled Export',
    'קובץ לידים',
    'כל הנתונים',
    'נתוני לידים',
  ];
  for (const name of names)
    expect(await fateOf(partsOf({ sheets: [{ name, rows }] })), name).toMatchObject({ places: 0 });
});

test.each([
  ...['31234', '2026 31234', '12.2026.31234', '31.23.4001', '2026-12-01 31234', '01.12.2026 312340017', '312026'],
  ...['2026 0512180617', '12-2026 85617628', '2026 01 12 31-2345', '01122026 512-3456', '1.12.2026 512 3456'],
  ...[
    '2026-0512-18-06',
    '107-2003',
    '05-12-24-56-78',
    '01.12.2026 05.12.24.56',
    '1.1.23 94219',
    '1.12.2026 05-42-26-65',
  ],
])('with a left-out column, no sheet may have a long number in its name: %s', async (number) => {
  expect(await fateOf(partsOf({ sheets: [{ name: `Leads ${number}`, rows }] }))).toMatchObject({ places: 1 });
});

test('without left-out columns, text in a page header causes no warning', async () => {
  const bytes = zipOfFiles(...inSheet(`<headerFooter><oddHeader>${CANARY}</oddHeader></headerFooter>`)(partsOf(draft)));

  expect((await readWorkbook(bytes, COLUMNS)).warnings).toEqual([]);
});
