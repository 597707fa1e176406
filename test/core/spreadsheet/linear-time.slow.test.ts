import { test } from 'vitest';
import { sheetFacts } from '../../../core/spreadsheet/sheet-facts.ts';
import { expectLinearTime } from '../../support/linear-time.ts';
import { expectedColumns, opened, partsOf, sheetXml, sourceOf } from '../../support/workbook.ts';
import { zipOfFiles } from '../../support/zip.ts';

type Parts = ReturnType<typeof partsOf>;

const COLUMNS = ['id', 'name', 'phone'];
const simpleWorkbook = (draft: Parameters<typeof partsOf>[0]) =>
  zipOfFiles(...partsOf(draft).map((part) => ({ ...part, deflated: true })));
const inSheet = (xml: string) => (parts: Parts) =>
  parts.map((part) =>
    part.name.includes('sheet1')
      ? { ...part, content: String(part.content).replace('</sheetData>', `</sheetData>${xml}`) }
      : part,
  );

type Input = [bytes: Uint8Array, columns?: readonly string[]];

async function read([bytes, columns = COLUMNS]: Input) {
  return await sheetFacts(await opened(sourceOf(bytes)), expectedColumns(columns, { excepted: ['idNumber'] }));
}

const wide = (count: number) =>
  Array.from({ length: count }, (_, column) => (column % 2 === 0 ? `column${column}` : null));
const rows = (count: number, row: (string | null)[]) => Array.from({ length: count }, () => row);
const zipped = (parts: Parts) => zipOfFiles(...parts.map((part) => ({ ...part, deflated: true })));

test.each<[string, number, (size: number) => Input]>([
  [
    'nameless columns',
    4000,
    (size) => [
      simpleWorkbook({
        sheets: [
          {
            rows: [
              wide(size),
              ...rows(
                20,
                wide(size).map(() => '1'),
              ),
            ],
          },
        ],
      }),
      wide(size).flatMap((name) => name ?? []),
    ],
  ],
  [
    'rows of names below a wide header',
    2000,
    (size) => [
      simpleWorkbook({
        sheets: [{ rows: [wide(8000), ...rows(size, ['column2', null, 'column0', null, 'column6'])] }],
      }),
      wide(8000).flatMap((name) => name ?? []),
    ],
  ],
  ['sheets', 1500, (size) => [simpleWorkbook({ sheets: Array.from({ length: size }, () => ({ rows: [['x']] })) })]],
  [
    'levels of XML',
    200_000,
    (size) => [zipped(inSheet('<x>'.repeat(size))(partsOf({ sheets: [{ rows: [COLUMNS] }] })))],
  ],
  [
    'attributes of a tag',
    60_000,
    (size) => [
      zipped(
        inSheet(`<x ${Array.from({ length: size }, (_, place) => `a${place}="1"`).join(' ')}/>`)(
          partsOf({ sheets: [{ rows: [COLUMNS] }] }),
        ),
      ),
    ],
  ],
  [
    'characters of an attribute',
    4_000_000,
    (size) => [
      zipped(inSheet(`<drawing id="${'A1 '.repeat(size / 3)}"/>`)(partsOf({ sheets: [{ rows: [COLUMNS] }] }))),
    ],
  ],
  [
    'unknown elements',
    50_000,
    (size) => [zipped(inSheet('<x y="1">z</x>'.repeat(size))(partsOf({ sheets: [{ rows: [COLUMNS] }] })))],
  ],
  [
    'shared texts',
    50_000,
    (size) => [
      simpleWorkbook({
        sheets: [{ xml: sheetXml([COLUMNS]) }],
        sharedStrings: Array.from({ length: size }, (_, place) => `text ${place}`),
      }),
    ],
  ],
])('reads %s in linear time', async (_, size, make) => {
  await expectLinearTime(size, make, read);
});
