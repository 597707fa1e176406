import { describe, expect, test } from 'vitest';
import { readContent } from '../../../core/file/read-content.ts';
import { encodedAs } from '../../support/encoded.ts';
import { failureOf } from '../../support/failures.ts';
import { bytesSource, reading } from '../../support/reading.ts';
import { asStrict, partsOf, readWorkbook, type WorkbookDraft, workbook, workbookOf } from '../../support/workbook.ts';
import { zipOfFiles } from '../../support/zip.ts';

const COLUMNS = ['id', 'שם'];
const ROWS = [COLUMNS, ['1', 'דוד'], ['2', 'a & b']];
const draft: WorkbookDraft = { sheets: [{ rows: ROWS }] };
const FIELDS = COLUMNS.map((name) => ({ name, label: null }));
/** The facts of a stored file, whose kind is not known. */
const factsOf = async (bytes: Uint8Array) =>
  (await readContent(bytesSource(bytes), reading({ expected: { columns: COLUMNS, fields: FIELDS } }))).facts;

const recordsOf = async (bytes: Uint8Array) => (await readWorkbook(bytes, COLUMNS)).records;
const changed = (change: (content: string, name: string) => string | Uint8Array, rename = (name: string) => name) => {
  const parts = partsOf(draft).map((part) => {
    return { name: rename(part.name), content: change(String(part.content), part.name), deflated: true };
  });
  return zipOfFiles(...parts);
};

describe('a workbook is read the same', () => {
  const isXl = (name: string) => name.startsWith('xl/w');
  const prefixed = (text: string) => text.replaceAll(/<(\/?)(\w)/g, '<$1x:$2').replace('xmlns=', 'xmlns:x=');
  const asUtf16 = (text: string) => encodedAs(text.replace('UTF-8', 'UTF-16'), 'utf-16le');
  const inHebrew = (text: string) => encodedAs(text.replace('UTF-8', 'windows-1255'), 'windows-1255');
  const elsewhere = (text: string) =>
    text
      .replaceAll('xl/workbook.xml', '/book/./a%20b.xml')
      .replaceAll('"worksheets/', '"../xl/worksheets/')
      .replace('"styles', '"/xl/styles');
  const moved = (name: string) =>
    name.replace('xl/workbook.xml', 'book/a b.xml').replace('xl/_rels/workbook.xml', 'book/_rels/a b.xml');
  const same = (text: string) => text;
  const renamed = (from: string, to: string) =>
    changed(
      (text) => text.replaceAll(from, to),
      (name) => name.replace(from, to),
    );
  const [first, ...others] = partsOf(draft);
  const LINK = '<Relationship Id="l" Type="http://x/image" Target="100%.png"/>';
  const EMPTY_PART = { name: 'xl/empty.xml', content: '', deflatedLie: true };

  test.each<[string, () => Uint8Array]>([
    ['in the usual form', () => workbook(draft)],
    ['in the strict edition of the standard', () => changed(asStrict)],
    ['with namespace prefixes', () => changed((text, name) => (isXl(name) ? prefixed(text) : text))],
    ['without references of rows and cells', () => changed((text) => text.replaceAll(/(?<=<(?:c|row)) r="\w+"/g, ''))],
    ['with a byte order mark', () => changed((text) => `\ufeff${text}`)],
    ['in UTF-16', () => changed((text) => asUtf16(`\ufeff${text}`))],
    ['in UTF-16 without a mark', () => changed(asUtf16)],
    ['in big-endian UTF-16 without a mark', () => changed((text) => asUtf16(text).swap16())],
    ['in another encoding that it declares', () => changed(inHebrew)],
    ['with part names in capitals', () => changed(same, (name) => name.toUpperCase())],
    ['with its parts in other folders', () => changed(elsewhere, moved)],
    ['in the root of the archive', () => renamed('xl/', '')],
    ['in a folder of another name', () => renamed('xl/', 'book/')],
    ['with another name of its main part', () => renamed('workbook.xml', 'workbook2.xml')],
    ['with a slash before every name', () => changed(same, (name) => `/${name}`)],
    ['with backslashes in names', () => changed(same, (name) => name.replaceAll('/', '\\'))],
    ['with dots in names', () => changed(same, (name) => `./${name}`)],
    [
      'with a link that no reader can decode',
      () => changed((text) => text.replace('<Relationship ', `${LINK}<Relationship `)),
    ],
    ['with a comment', () => zipOfFiles({ name: '', content: '', ...first, comment: 'By CRM 4.2' }, ...others)],
    ['with empty parts declared as deflated', () => zipOfFiles(...partsOf(draft), EMPTY_PART)],
    ['not compressed', () => zipOfFiles(...partsOf(draft))],
    ['with later sizes', () => zipOfFiles(...partsOf(draft).map((part) => ({ ...part, deflated: true, flags: 8 })))],
  ])('%s', async (_, bytes) => {
    expect(await recordsOf(bytes())).toEqual(ROWS);
    expect(await factsOf(bytes())).toMatchObject({ format: 'xlsx', rows: 2 });
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
  const inSheet = (from: string, to: string) => (text: string, name: string) =>
    name.includes('sheet1') ? text.replace(from, to) : text;

  test.each<[string, (content: string, name: string) => string, string]>([
    ['without a main part', (text) => text.replace('/officeDocument"', '/other"'), 'refer to a workbook'],
    ['a document', (text) => text.replaceAll(/<(\/?)workbook(?=[ >])/g, '<$1document'), 'but not a workbook'],
    ['a missing sheet', (text) => text.replace('Id="s0"', 'Id="other"'), 'lists a sheet that it does not have'],
    ['only chart sheets', (text) => text.replace('/worksheet"', '/chartsheet"'), 'has no worksheet'],
    ['another sheet', (text) => text.replaceAll(/(<\/?)worksheet/g, '$1sheet'), 'whose part is not a worksheet'],
    ['XML that breaks off', inSheet('</sheetData></worksheet>', '</sheetD'), 'malformed XML'],
    ['an unknown encoding', (text) => text.replace('UTF-8', 'EBCDIC-X'), 'in an unrecognised encoding'],
    ['a document type', inSheet('<worksheet', '<!DOCTYPE worksheet [<!ENTITY a "b">]><worksheet'), 'document type'],
    ['a cell of another row', (text) => text.replace('"B2"', '"B3"'), 'reference names another row'],
    ['cells that are out of order', (text) => text.replace('"B2"', '"A2"'), 'cells that are out of order'],
    ['a column beyond the last', (text) => text.replace('"B2"', '"XFE2"'), 'cells that are out of order'],
  ])('%s', async (_, change, message) => {
    const refused = { name: 'UnreadableFile', message: expect.stringContaining(message) };
    await expect(recordsOf(changed(change))).rejects.toMatchObject(refused);
  });

  test('bytes that are invalid in the encoding', async () => {
    const bytes = changed((content, name) => (name.includes('sheet1') ? Buffer.from(content, 'latin1') : content));

    await expect(recordsOf(bytes)).rejects.toThrow('encoding');
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

test('names of inherited properties are read as values', async () => {
  const words = ['toString', 'constructor', '__proto__'];
  const rows = words.map((word) => [{ xml: `<c t="b"><v>${word}</v></c>` }, { xml: `<c t="${word}"><v>1</v></c>` }]);

  expect(await factsOf(workbook({ sheets: [{ rows: [COLUMNS, ...rows] }] }))).toMatchObject({ rows: 3 });
});

test('refuses parts whose names differ only by a leading slash', async () => {
  const twice = zipOfFiles(...partsOf(draft), { name: '/xl/workbook.xml', content: '<workbook/>' });

  expect((await failureOf(factsOf(twice), 'FileRejected')).message).toContain('same name');
});
