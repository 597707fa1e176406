import { expect, test } from 'vitest';
import { exceptedPlaces } from '../../../core/gate/checks.ts';
import { partsOf, readWorkbook } from '../../support/workbook.ts';
import { zipOfFiles } from '../../support/zip.ts';

/** Texts that programs write around the cells, beside a column that is left out. */

const COLUMNS = ['id', 'name'];

async function placesOf({ sheet = '', main = '', name = 'Leads' }) {
  const parts = partsOf({ sheets: [{ name, rows: [COLUMNS, ['1', 'Dan']] }] }).map((part) => ({
    ...part,
    content: String(part.content)
      .replace('</sheetData>', `</sheetData>${sheet}`)
      .replace('<sheets>', `${main}<sheets>`),
  }));
  const facts = await readWorkbook(zipOfFiles(...parts), COLUMNS, { excepted: ['nationalId'] });
  return exceptedPlaces({ ...facts, format: 'xlsx' })?.measured;
}

const footer = (text: string) => ({ sheet: `<headerFooter><oddFooter>${text}</oddFooter></headerFooter>` });
const savedIn = (url: string) => ({
  main: `<mc:AlternateContent><mc:Choice Requires="x15"><x15ac:absPath url="${url}" xmlns:x15ac="http://schemas.microsoft.com/office/spreadsheetml/2010/11/ac"/></mc:Choice></mc:AlternateContent>`,
});

test.each([
  ['the number of the page', footer('&amp;P')],
  ['page and pages', footer('&amp;LPage &amp;P of &amp;N&amp;R&amp;D &amp;T')],
  ['page and pages in Hebrew', footer('&amp;Cעמוד &amp;P מתוך &amp;N')],
  ['sheet and file in a font', footer('&amp;L&amp;&quot;Calibri,Bold&quot;&amp;11&amp;A&amp;R&amp;F')],
  ['the folder of the author of xlsx-populate', savedIn('C:\\Users\\djohnson\\Code\\xlsx-populate\\lib\\')],
  ['the name of a grid', { name: 'Grid' }],
  ['a sheet of all leads', { name: 'כל הלידים' }],
])('does not stop a workbook with %s', async (_, texts) => {
  expect(await placesOf(texts)).toBe(0);
});

test.each([
  ['a text in a footer', footer('&amp;P Dana Levi')],
  ['digits in a footer', footer('&amp;P 312340001')],
  ['a font of another name', footer('&amp;&quot;Dana Levi,Regular&quot;&amp;P')],
  ['the folder of a person', savedIn('C:\\Users\\dana\\312340001\\')],
  ['another alternative', { main: '<AlternateContent><Choice Requires="Dana Levi"/></AlternateContent>' }],
  ['a folder without an alternative', { main: '<x15ac:absPath url="C:\\"/>' }],
  ['the name of a person', { name: 'Dana Levi' }],
])('stops a workbook with %s', async (_, texts) => {
  expect(await placesOf(texts)).toBeGreaterThan(0);
});
