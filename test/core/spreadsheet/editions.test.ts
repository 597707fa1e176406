import { describe, expect, test } from 'vitest';
import { partsOf, readWorkbook, sheetXml, type WorkbookDraft, workbook, workbookOf } from '../../support/workbook.ts';
import { zipOfFiles } from '../../support/zip.ts';

const COLUMNS = ['id', 'שם'];
const ROWS = [COLUMNS, ['1', 'דוד'], ['2', 'a & b']];
const draft: WorkbookDraft = { sheets: [{ rows: ROWS }] };

const recordsOf = async (bytes: Uint8Array) => (await readWorkbook(bytes, COLUMNS)).records;
/** Changes the texts of the parts. */
const changed = (change: (content: string, name: string) => string | Uint8Array, rename = (name: string) => name) =>
  zipOfFiles(
    ...partsOf(draft).map(({ name, content }) => ({
      name: rename(name),
      content: change(String(content), name),
      deflated: true,
    })),
  );

describe('a workbook is read the same', () => {
  test.each<[string, () => Uint8Array]>([
    ['in the usual form', () => workbook(draft)],
    ['in the strict edition of the standard', () => workbook({ ...draft, strict: true })],
    [
      'with namespace prefixes',
      () =>
        changed((content, name) =>
          name.startsWith('xl/w')
            ? content.replaceAll(/<(\/?)(\w)/g, '<$1x:$2').replace('xmlns=', 'xmlns:x=')
            : content,
        ),
    ],
    [
      'without references of rows and cells',
      () => changed((content, name) => (name.includes('sheet1') ? content.replaceAll(/ r="\w+"/g, '') : content)),
    ],
    ['with a byte order mark', () => changed((content) => `\ufeff${content}`)],
    ['in UTF-16', () => changed((content) => Buffer.from(`\ufeff${content.replace('UTF-8', 'UTF-16')}`, 'utf16le'))],
    [
      'in big-endian UTF-16 without a byte order mark',
      () => changed((content) => Buffer.from(content.replace('UTF-8', 'UTF-16'), 'utf16le').swap16()),
    ],
    [
      'in another encoding that it declares',
      () =>
        changed((content) =>
          Buffer.from(
            content
              .replace('UTF-8', 'windows-1255')
              .replaceAll(/[א-ת]/g, (letter) => String.fromCharCode(letter.charCodeAt(0) - 0x4f0)),
            'latin1',
          ),
        ),
    ],
    [
      'with part names in capitals',
      () =>
        changed(
          (content) => content,
          (name) => name.toUpperCase(),
        ),
    ],
    [
      'with its parts in other folders',
      () =>
        changed(
          (content) =>
            content
              .replaceAll('xl/workbook.xml', '/book/./a%20b.xml')
              .replaceAll('"worksheets/', '"../xl/worksheets/')
              .replace('"styles', '"/xl/styles'),
          (name) =>
            name.replace('xl/workbook.xml', 'book/a b.xml').replace('xl/_rels/workbook.xml', 'book/_rels/a b.xml'),
        ),
    ],
    ['not compressed', () => zipOfFiles(...partsOf(draft))],
    [
      'with sizes after its parts',
      () => zipOfFiles(...partsOf(draft).map((part) => ({ ...part, deflated: true, flags: 8 }))),
    ],
  ])('%s', async (_, bytes) => {
    expect(await recordsOf(bytes())).toEqual(ROWS);
  });

  test('with a sheet in several pieces of bytes', async () => {
    const xml = sheetXml(ROWS).replace('<sheetData>', `<!--${'א'.repeat(100_000)}--><sheetData>`);

    expect(await recordsOf(workbook({ sheets: [{ xml }] }))).toEqual(ROWS);
  });
});

test('a chart sheet does not count as a sheet', async () => {
  const parts = partsOf({ sheets: [{ rows: [['x', 'y']] }, { rows: ROWS }] }).map(({ name, content }) => ({
    name,
    content: name.endsWith('workbook.xml.rels') ? String(content).replace('/worksheet"', '/chartsheet"') : content,
  }));

  const { records, content } = await readWorkbook(zipOfFiles(...parts), COLUMNS);

  expect(records).toEqual(ROWS);
  expect(content).toMatchObject({ sheets: 1, place: { sheet: 1 } });
});

describe('an invalid workbook is refused', () => {
  test.each<[string, (content: string, name: string) => string, string]>([
    ['without a main part', (content) => content.replace('/officeDocument"', '/other"'), 'names no workbook'],
    [
      'a text document',
      (content) => content.replaceAll(/<(\/?)workbook(?=[ >])/g, '<$1document'),
      'is a document that is no workbook',
    ],
    ['a missing sheet', (content) => content.replace('Id="s0"', 'Id="other"'), 'lists a sheet that it does not have'],
    ['only chart sheets', (content) => content.replace('/worksheet"', '/chartsheet"'), 'has no sheet of cells'],
    [
      'a sheet with another root element',
      (content) => content.replaceAll('worksheet>', 'sheet>').replace('<worksheet', '<sheet'),
      'has a sheet whose part is not a worksheet',
    ],
    [
      'XML that breaks off',
      (content, name) => (name.includes('sheet1') ? content.slice(0, -30) : content),
      'malformed XML',
    ],
    ['an unknown encoding', (content) => content.replace('UTF-8', 'EBCDIC-X'), 'in an unrecognised encoding'],
    [
      'a document type declaration',
      (content, name) =>
        name.includes('sheet1')
          ? content.replace('<worksheet', '<!DOCTYPE worksheet [<!ENTITY a "b">]><worksheet')
          : content,
      'document type',
    ],
    ['a cell of another row', (content) => content.replace('"B2"', '"B3"'), 'reference names another row'],
    ['cells that are out of order', (content) => content.replace('"B2"', '"A2"'), 'cells that are out of order'],
    ['a column beyond the last', (content) => content.replace('"B2"', '"XFE2"'), 'cells that are out of order'],
  ])('%s', async (_, change, message) => {
    await expect(recordsOf(changed(change))).rejects.toMatchObject({
      name: 'UnreadableFile',
      message: expect.stringContaining(message),
    });
  });

  test('bytes that are invalid in the encoding', async () => {
    const bytes = changed((content, name) => (name.includes('sheet1') ? Buffer.from(content, 'latin1') : content));

    await expect(recordsOf(bytes)).rejects.toThrow('bytes that are invalid in its encoding');
  });

  test('a binary workbook', async () => {
    const bytes = changed(
      (content) => content.replaceAll('workbook.xml', 'workbook.bin'),
      (name) => name.replace('workbook.xml', 'workbook.bin'),
    );

    await expect(recordsOf(bytes)).rejects.toThrow('xlsb');
  });
});

test('reads all 16,384 columns that a sheet can have', async () => {
  const columns = Array.from({ length: 16_384 }, (_, place) => `c${place}`);
  const bytes = workbookOf(
    columns,
    [...columns.slice(1).map(() => null), 'last'],
    columns.map((_, place) => place),
  );

  const { content, records, header } = await readWorkbook(bytes, columns);

  expect(header).toEqual(columns);
  expect(content).toMatchObject({ width: 16_384, rows: 2 });
  expect(records.map((record) => record.length)).toEqual([16_384, 16_384, 16_384]);
  expect(records[1]?.at(-1)).toBe('last');
});
