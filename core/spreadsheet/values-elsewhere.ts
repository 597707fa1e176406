import type { Parts } from './parts.ts';
import type { WorkbookParts } from './workbook-parts.ts';
import { readXml } from './xml.ts';

/** Types of parts that hold no values of records: how things look, where they stand, who wrote them and when. */
const WITHOUT_VALUES = [
  /\bpackage\.(relationships|core-properties)\+xml$/,
  /\b(extended|custom)-properties\+xml$/,
  /\bclassificationlabels\+xml$/,
  /\bspreadsheetml\.(sheet|template)\.main\+xml$/,
  /\bspreadsheetml\.(styles|calcchain|table|sheetmetadata|chartsheet)\+xml$/,
  /\bspreadsheetml\.printersettings$/,
  /\bofficedocument\.(theme|themeoverride)\+xml$/,
  /\bofficedocument\.vmldrawing$/,
  /\bms-excel\.person\+xml$/,
  /^image\//,
];

/** What others are called, by a part of their type. */
const CALLED: [type: RegExp, what: string][] = [
  [/comment/, 'comments'],
  [/pivot/, 'pivot tables'],
  [/externallink/, 'links to other workbooks'],
  [/chart/, 'charts'],
  [/\.worksheet\+xml$/, 'sheets that the workbook does not list'],
  [/ole|package|embed|spreadsheetml\.sheet$|\/bin$/, 'embedded files'],
];

/**
 * What a workbook has besides its sheets that holds values, or may: pivot tables and charts keep copies of cells, and of unknown
 * parts nothing is known. Pictures, document properties, links of cells and lists of allowed values are not counted.
 * @returns its words, for each part one
 * @throws UnreadableSheet; what reading the parts throws
 */
export async function partsWithValues(parts: Parts, main: WorkbookParts): Promise<string[]> {
  const known = new Set([...main.sheets.map(({ part }) => part), main.sharedStrings, main.styles].flatMap(lowered));
  const found: string[] = Array.from({ length: main.namedValues }, () => 'names of values');
  for (const part of parts.names) {
    const type = parts.typeOf(part);
    if (known.has(part.toLowerCase()) || part === '[Content_Types].xml' || isWithoutValues(type)) continue;
    if (/\bofficedocument\.drawing\+xml$/.test(type)) {
      if (await hasText(parts.read(part))) found.push('text boxes');
    } else found.push(CALLED.find(([called]) => called.test(type))?.[1] ?? 'other parts');
  }
  return found;
}

const lowered = (part: string | null) => (part === null ? [] : [part.toLowerCase()]);
const isWithoutValues = (type: string) => WITHOUT_VALUES.some((known) => known.test(type));

async function hasText(chunks: AsyncIterable<Uint8Array>): Promise<boolean> {
  let inText = false;
  let found = false;
  await readXml(chunks, {
    open: (name) => {
      inText = name === 't';
    },
    text: (text) => {
      found ||= inText && text.trim() !== '';
    },
    close: () => {
      inText = false;
    },
  });
  return found;
}
