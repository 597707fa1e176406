import { UnreadableFile } from '../file/unreadable-file.ts';
import { type AllowedNames, AllowedText, isAllowedName } from './allowed-text.ts';
import type { Workbook } from './workbook.ts';
import { readXml } from './xml.ts';

/** How findings name the parts of a workbook, by a text in their media type. */
const CALLED: [type: RegExp, what: string][] = [
  [/comment/, 'comments'],
  [/pivot/, 'pivot tables'],
  [/externallink/, 'links to other workbooks'],
  [/chart/, 'charts'],
  [/\.worksheet\+xml$/, 'sheets that the workbook does not list'],
  [/^image\//, 'images'],
  [/vmldrawing/, 'drawings'],
  [/printersettings/, 'printer settings'],
  [/properties|person|classificationlabels/, 'document properties'],
  [/oleobject/, 'embedded files'],
];
/** Parts that hold no copies of cells. */
const WITHOUT_VALUES = new Set(['', 'images', 'drawings', 'printer settings', 'document properties']);

/** Parts that are allowed if columns are left out, with the root elements that `allowed-elements.ts` lists. */
const JUDGED: [type: RegExp, root: string][] = [
  [/\bpackage\.relationships\+xml$/, 'Relationships'],
  [/\bpackage\.core-properties\+xml$/, 'coreProperties'],
  [/\b(extended|custom)-properties\+xml$/, 'Properties'],
  [/\b(spreadsheetml|ms-excel)\.(sheet|template)\.(macroenabled\.)?main\+xml$/, 'workbook'],
  [/\bspreadsheetml\.table\+xml$/, 'table'],
  [/\bspreadsheetml\.calcchain\+xml$/, 'calcChain'],
  [/\bofficedocument\.theme\+xml$/, 'theme'],
  [/\bspreadsheetml\.sheetmetadata\+xml$/, 'metadata'],
  [/\bofficedocument\.drawing\+xml$/, 'wsDr'],
];

/** Parts without a media type of their own. PyExcelerate does not declare its styles, and no part refers to them. */
const JUDGED_BY_NAME = new Map([
  ['[content_types].xml', 'Types'],
  ['xl/styles.xml', 'styleSheet'],
]);

/** The root element of a part; `undefined` for a part that is not allowed if columns are left out. */
function rootOf({ parts, styles }: Workbook, part: string): string | undefined {
  const name = part.toLowerCase();
  if (name === styles) return 'styleSheet';
  return JUDGED_BY_NAME.get(name) ?? JUDGED.find(([judged]) => judged.test(parts.typeOf(part)))?.[1];
}

/** Parts that are neither read nor allowed, with a word for each; '' for an empty part. */
function otherParts(workbook: Workbook): Map<string, string> {
  const { parts, read } = workbook;
  const calledOf = (part: string) => CALLED.find(([called]) => called.test(parts.typeOf(part)))?.[1] ?? 'other parts';
  const others = parts.names.filter((part) => !rootOf(workbook, part) && !read.has(part.toLowerCase()));
  return new Map(others.map((part) => [part, parts.sizeOf(part) === 0 ? '' : calledOf(part)]));
}

/**
 * Parts of a workbook, besides its sheets, that may hold copies of cells, such as pivot tables and charts.
 * @returns a word for each part
 */
export function partsWithValues(workbook: Workbook): string[] {
  return [...otherParts(workbook).values()].filter((what) => !WITHOUT_VALUES.has(what));
}

/**
 * Finds text that a workbook with left-out columns must not contain: all text outside the sheets and their shared texts,
 * except what `allowed-text.ts` lists.
 * @returns words for the findings, each word once per part
 * @throws any error from reading the parts
 */
export async function textOutsideSheets(workbook: Workbook, names: AllowedNames): Promise<string[]> {
  const { parts, archive, stringsText } = workbook;
  const others = otherParts(workbook);
  const found = [...stringsText, ...[...others.values()].filter((what) => what !== '')];
  for (const part of parts.names.filter((name) => !others.has(name))) {
    if (!isAllowedName(part)) found.push('a name of a part');
    const root = rootOf(workbook, part);
    if (!root) continue;
    const text = new AllowedText(root, names);
    await readXml(parts.read(part), text).catch((error: unknown) => {
      // A part that is not an XML document may hold anything.
      if (!(error instanceof UnreadableFile)) throw error;
      text.found.add('other parts');
    });
    found.push(...text.found);
  }
  return archive.hasTexts() ? [...found, 'other names, comments or extra fields of the archive'] : found;
}
