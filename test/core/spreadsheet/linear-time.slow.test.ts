import { test } from 'vitest';
import { sheetFacts } from '../../../core/spreadsheet/sheet-facts.ts';
import { expectLinearTime } from '../../support/linear-time.ts';
import { expectedColumns, opened, partsOf, sheetXml, sourceOf } from '../../support/workbook.ts';
import { zipOfFiles } from '../../support/zip.ts';

type Parts = ReturnType<typeof partsOf>;

const COLUMNS = ['id', 'name', 'phone'];
const zipped = (parts: Parts) => zipOfFiles(...parts.map((part) => ({ ...part, deflated: true })));
const simple = (draft: Parameters<typeof partsOf>[0]) => zipped(partsOf(draft));
/** A workbook of one sheet with this XML after its rows. */
const withXml = (xml: string) =>
  simple({ sheets: [{ xml: sheetXml([COLUMNS]).replace('</sheetData>', `</sheetData>${xml}`) }] });

type Input = [bytes: Uint8Array, columns?: readonly string[]];

async function read([bytes, columns = COLUMNS]: Input) {
  return await sheetFacts(await opened(sourceOf(bytes)), expectedColumns(columns, { excepted: ['idNumber'] }));
}

const wide = (count: number) =>
  Array.from({ length: count }, (_, column) => (column % 2 === 0 ? `column${column}` : null));
const namesOf = (count: number) => wide(count).flatMap((name) => name ?? []);
const texts = (count: number, text: (place: number) => string) => Array.from({ length: count }, (_, at) => text(at));
const sheetOf = (count: number, rows: (string | null)[][]): Input => [
  simple({ sheets: [{ rows: [wide(count), ...rows] }] }),
  namesOf(count),
];

test.each<[string, number, (size: number) => Input]>([
  ['nameless columns', 4000, (size) => sheetOf(size, Array(20).fill(wide(size).map(() => '1')))],
  ['rows of names', 2000, (size) => sheetOf(8000, Array(size).fill(['column2', null, 'column0', null, 'column6']))],
  ['sheets', 1500, (size) => [simple({ sheets: Array.from({ length: size }, () => ({ rows: [['x']] })) })]],
  ['levels of XML', 200_000, (size) => [withXml('<x>'.repeat(size))]],
  ['attributes of a tag', 60_000, (size) => [withXml(`<x ${texts(size, (at) => `a${at}="1"`).join(' ')}/>`)]],
  ['characters of an attribute', 4_000_000, (size) => [withXml(`<drawing id="${'A1 '.repeat(size / 3)}"/>`)]],
  ['unknown elements', 50_000, (size) => [withXml('<x y="1">z</x>'.repeat(size))]],
  [
    'shared texts',
    50_000,
    (size) => [simple({ sheets: [{ xml: sheetXml([COLUMNS]) }], sharedStrings: texts(size, (at) => `text ${at}`) })],
  ],
])('reads %s in linear time', async (_, size, make) => {
  await expectLinearTime(size, make, read);
});
