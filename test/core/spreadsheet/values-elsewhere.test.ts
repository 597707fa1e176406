import { expect, test } from 'vitest';
import { partsOf, readWorkbook, sheetXml, type WorkbookDraft, workbook } from '../../support/workbook.ts';
import { zipOfFiles } from '../../support/zip.ts';

const COLUMNS = ['id', 'name', 'phone'];
const sheets = [{ rows: [COLUMNS, ['1', 'Dan', '03']] }];
const OFFICE = 'application/vnd.openxmlformats-officedocument';

async function besides(draft: Partial<WorkbookDraft>) {
  const { content, warnings } = await readWorkbook(workbook({ sheets, ...draft }), COLUMNS);
  return { elsewhere: content.elsewhere, warnings };
}

test.each<[string, string, string, string]>([
  ['comments', 'xl/comments1.xml', `${OFFICE}.spreadsheetml.comments+xml`, '<comments/>'],
  ['pivot tables', 'xl/pivotCache/d.xml', `${OFFICE}.spreadsheetml.pivotCacheRecords+xml`, '<pivotCacheRecords/>'],
  ['links to other workbooks', 'xl/externalLinks/1.xml', `${OFFICE}.spreadsheetml.externalLink+xml`, '<externalLink/>'],
  ['charts', 'xl/charts/chart1.xml', `${OFFICE}.drawingml.chart+xml`, '<chartSpace/>'],
  ['embedded files', 'xl/embeddings/ole1.bin', `${OFFICE}.oleObject`, 'x'],
  ['sheets that the workbook does not list', 'xl/old.xml', `${OFFICE}.spreadsheetml.worksheet+xml`, sheetXml([])],
  ['other parts', 'customXml/item1.xml', 'application/xml', '<leads/>'],
])('counts %s as values elsewhere: %s', async (what, name, type, content) => {
  const { elsewhere, warnings } = await besides({ parts: [{ name, type, content }] });

  expect(elsewhere).toBeGreaterThan(0);
  expect(warnings).toEqual([expect.stringMatching(`: ${what}\\.$`)]);
});

test('does not count styles, images and document properties as values elsewhere', async () => {
  const parts = [
    { name: 'docProps/core.xml', type: 'application/vnd.openxmlformats-package.core-properties+xml', content: '<a/>' },
    { name: 'docProps/app.xml', type: `${OFFICE}.extended-properties+xml`, content: '<Properties/>' },
    { name: 'xl/theme/theme1.xml', type: `${OFFICE}.theme+xml`, content: '<theme/>' },
    { name: 'xl/tables/table1.xml', type: `${OFFICE}.spreadsheetml.table+xml`, content: '<table/>' },
    { name: 'xl/media/logo.png', type: 'image/png', content: 'x' },
    { name: 'xl/printerSettings/1.bin', type: `${OFFICE}.spreadsheetml.printerSettings`, content: 'x' },
    { name: 'xl/drawings/drawing1.xml', type: `${OFFICE}.drawing+xml`, content: '<wsDr/>' },
    { name: 'xl/drawings/vml1.vml', type: `${OFFICE}.vmlDrawing`, content: '<xml/>' },
    { name: 'xl/persons/person.xml', type: 'application/vnd.ms-excel.person+xml', content: '<a/>' },
    {
      name: 'customXml/itemProps1.xml',
      type: `${OFFICE}.customXmlProperties+xml`,
      content: '<ds:datastoreItem/>',
    },
    { name: 'docMetadata/LabelInfo.xml', type: 'application/vnd.ms-office.classificationlabels+xml', content: '<a/>' },
  ];

  expect((await besides({ parts })).warnings).toEqual([]);
});

test('counts a shared text that no cell uses as a value elsewhere', async () => {
  const rows = [COLUMNS, [{ xml: '<c t="s"><v>1</v></c>' }]];

  expect(await besides({ sheets: [{ rows }], sharedStrings: ['', 'Dan'] })).toMatchObject({ elsewhere: 0 });
  expect(await besides({ sheets: [{ rows }], sharedStrings: ['Ruth', 'Dan'] })).toEqual({
    elsewhere: 1,
    warnings: [expect.stringContaining('texts')],
  });
});

test.each<[string, (string | null)[]]>([
  ['in all columns', ['A', 'B', 'C']],
  ['beyond the last column', ['A', null, null, 'D']],
])('counts a row above the header with values %s as a value elsewhere', async (_, above) => {
  expect(await besides({ sheets: [{ rows: [above, COLUMNS, ['1']] }] })).toMatchObject({ elsewhere: 1 });
});

test('counts bytes that belong to no part as a value elsewhere', async () => {
  const bytes = workbook({ sheets });
  const before = Buffer.concat([Buffer.alloc(100, 'x'), bytes]);
  const end = before.length - 22;
  const directory = before.readUInt32LE(end + 16) + 100;
  before.writeUInt32LE(directory, end + 16);
  for (let at = directory; before.readUInt32LE(at) === 0x02014b50; at += 46 + before.readUInt16LE(at + 28))
    before.writeUInt32LE(before.readUInt32LE(at + 42) + 100, at + 42);

  expect((await readWorkbook(bytes, COLUMNS)).content.elsewhere).toBe(0);
  expect((await readWorkbook(before, COLUMNS)).content.elsewhere).toBe(1);
});

test('counts each hidden sheet, and each of several parts of one kind', async () => {
  const comments = { type: `${OFFICE}.spreadsheetml.comments+xml`, content: '<comments/>' };
  const parts = ['xl/comments1.xml', 'xl/comments2.xml'].map((name) => ({ name, ...comments }));

  const hidden = { state: 'hidden' as const, rows: [['x']] };

  expect(await besides({ sheets: [...sheets, hidden], parts, sharedStrings: ['y'] })).toEqual({
    elsewhere: 3,
    warnings: [expect.stringMatching(/: hidden sheets, comments \(2\)\.$/)],
  });
});

test('verifies each part, even one that is not read', async () => {
  const parts = [...partsOf({ sheets }), { name: 'xl/media/logo.png', content: 'x', lies: { crc: 1 } }];

  await expect(readWorkbook(zipOfFiles(...parts), COLUMNS)).rejects.toThrow('is damaged');
});
