import { describe, expect, test } from 'vitest';
import { readContent } from '../../../core/file/read-content.ts';
import { failureOf } from '../../support/failures.ts';
import { bytesSource, reading } from '../../support/reading.ts';
import { partsOf } from '../../support/workbook.ts';
import { zipOfFiles } from '../../support/zip.ts';

type File = Parameters<typeof zipOfFiles>[number];

const PARTS: File[] = partsOf({
  sheets: [
    {
      rows: [
        ['id', 'name'],
        ['1', 'Dan'],
      ],
    },
  ],
});
const named = (rename: (name: string) => string) => PARTS.map((part) => ({ ...part, name: rename(part.name) }));
const moved = (from: string, to: string) =>
  PARTS.map(({ name, content }) => ({
    name: name.replace(from, to),
    content: String(content).replaceAll(from, to),
  }));
const read = (files: File[]) => readContent(bytesSource(zipOfFiles(...files)), reading());

describe('a workbook is recognised by its main part and read', () => {
  test.each<[string, () => File[]]>([
    ['in the root of the archive', () => moved('xl/', '')],
    ['in a folder of another name', () => moved('xl/', 'book/')],
    ['with another name of its main part', () => moved('workbook.xml', 'workbook2.xml')],
    ['with a slash before every name', () => named((name) => `/${name}`)],
    ['with backslashes in names', () => named((name) => name.replaceAll('/', '\\'))],
    ['with dots in names', () => named((name) => `./${name}`)],
    [
      'with a comment of the archive',
      () => [{ ...(PARTS[0] as File), comment: 'Exported by CRM 4.2' }, ...PARTS.slice(1)],
    ],
    [
      'with empty parts that are declared as deflated',
      () => [...PARTS, { name: 'xl/empty.xml', content: '', deflatedLie: true }],
    ],
  ])('%s', async (_, files) => {
    const { facts } = await read(files());

    expect(facts).toMatchObject({ format: 'xlsx', header: ['id', 'name'], rows: 1 });
  });

  test('names of inherited properties are read as values', async () => {
    const words = ['toString', 'constructor', '__proto__'];
    const rows = words.map((word) => [{ xml: `<c t="b"><v>${word}</v></c>` }, { xml: `<c t="${word}"><v>1</v></c>` }]);
    const { facts } = await read(partsOf({ sheets: [{ rows: [['id', 'name'], ...rows] }] }));

    expect(facts).toMatchObject({ rows: 3 });
  });
});

test.each<[string, string, string]>([
  ['a document of Word', 'wordprocessingml.document.main', 'a document of Word or PowerPoint'],
  ['a presentation', 'presentationml.presentation.main', 'a document of Word or PowerPoint'],
])('%s with the parts of a workbook is reported as a document of Word or PowerPoint', async (_, type, looks) => {
  const files = PARTS.map((part) => ({
    ...part,
    content: String(part.content).replace('spreadsheetml.sheet.main', type),
  }));

  expect((await failureOf(read(files), 'FileRejected')).message).toContain(looks);
});

test('refuses parts whose names differ only by a leading slash', async () => {
  const twice = [...PARTS, { name: '/xl/workbook.xml', content: '<workbook/>' }];

  expect((await failureOf(read(twice), 'FileRejected')).message).toContain('several parts of one name');
});

describe('beside a left-out column, a workbook has no text elsewhere', () => {
  const OFFICE = 'application/vnd.openxmlformats-officedocument.spreadsheetml';
  const changed = (name: RegExp, from: string | RegExp, to: string) => (files: File[]) =>
    files.map((file) => (name.test(file.name) ? { ...file, content: String(file.content).replace(from, to) } : file));

  test.each<[string, ((files: File[]) => File[])[]]>([
    [
      'with an empty line before the declaration, and a word between elements, as PyExcelerate writes it',
      [changed(/styles|sheet1/, /^/, '\n'), changed(/sheet1/, '</sheetData>', '</sheetData>None')],
    ],
    [
      'with styles that no part declares, as PyExcelerate writes it',
      [
        changed(/_rels/, /<Relationship Id="st".*?\/>/, ''),
        changed(
          /Types/,
          /<Override PartName="\/xl\/styles.xml".*?\/>/,
          '<Default Extension="xml" ContentType="application/xml"/>',
        ),
      ],
    ],
    [
      'with a table by Polars',
      [
        changed(/Types/, '</Types>', `<Override PartName="/xl/table.xml" ContentType="${OFFICE}.table+xml"/></Types>`),
        (files) => [
          ...files,
          { name: 'xl/table.xml', content: '<table name="Frame0" displayName="Frame0" ref="A1:B2"/>' },
        ],
      ],
    ],
  ])('%s', async (_, changes) => {
    const files = changes.reduce((all, change) => change(all), PARTS);
    const excepted = [{ name: 'phone', label: null }];

    const { facts } = await readContent(bytesSource(zipOfFiles(...files)), reading({ expected: { excepted } }));

    expect(facts).toMatchObject({ rows: 1, content: { elsewhere: 0 } });
  });
});
