import { UnreadableFile } from '../file/unreadable-file.ts';
import { AllowedText, isKnownName, type KnownNames, type PartKind } from './allowed-text.ts';
import type { Workbook } from './workbook.ts';
import { readXml } from './xml.ts';

/** Types of parts without values of records: styles, layout, authors and times. */
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

/** Words for other parts, by a part of their media type. */
const CALLED: [type: RegExp, what: string][] = [
  [/threadedcomment|comment/, 'comments'],
  [/pivot/, 'pivot tables'],
  [/externallink/, 'links to other workbooks'],
  [/chart/, 'charts'],
  [/\.worksheet\+xml$/, 'sheets that the workbook does not list'],
  [/^image\//, 'images'],
  [/vmldrawing|\.drawing\+xml$/, 'drawings'],
  [/printersettings/, 'settings of a printer'],
  [/properties|person|classificationlabels/, 'document properties'],
  [/ole|package|embed|spreadsheetml\.sheet$|\/bin$/, 'embedded files'],
];

/** Parts that are allowed if columns are left out, and the rules for their text. */
const JUDGED: [type: RegExp, kind: PartKind][] = [
  [/\bpackage\.relationships\+xml$/, 'relationships'],
  [/\bpackage\.core-properties\+xml$/, 'core'],
  [/\bextended-properties\+xml$/, 'application'],
  [/\bspreadsheetml\.(sheet|template)\.main\+xml$/, 'workbook'],
  [/\bspreadsheetml\.styles\+xml$/, 'styles'],
  [/\bspreadsheetml\.table\+xml$/, 'table'],
  [/\bspreadsheetml\.calcchain\+xml$/, 'calculation'],
  [/\bofficedocument\.theme\+xml$/, 'theme'],
];

const typeCalled = (type: string) => CALLED.find(([called]) => called.test(type))?.[1] ?? 'other parts';

/**
 * Parts of a workbook, besides its sheets, that hold values or may hold them. Pivot tables and charts keep copies of
 * cells, and unknown parts may hold anything. Images, document properties, links of cells and lists of allowed values
 * do not count.
 * @returns a word for each part
 * @throws UnreadableFile; any error from reading the parts
 */
export async function partsWithValues({ parts, read, namedValues }: Workbook): Promise<string[]> {
  const found: string[] = Array.from({ length: namedValues }, () => 'names of values');
  for (const part of parts.names) {
    const type = parts.typeOf(part);
    if (read.has(part.toLowerCase()) || isTypes(part) || WITHOUT_VALUES.some((known) => known.test(type))) continue;
    if (/\bofficedocument\.drawing\+xml$/.test(type)) {
      if (await hasText(parts.read(part))) found.push('text boxes');
    } else found.push(typeCalled(type));
  }
  return found;
}

const isTypes = (part: string) => part.toLowerCase() === '[content_types].xml';

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

/**
 * Finds text outside the sheets and their shared texts that a workbook with left-out columns must not contain: all text
 * that `allowed-text.ts` does not list.
 * @returns words for the findings, each word once per part
 * @throws any error from reading the parts
 */
export async function textOutsideSheets(
  { parts, archive, read, stringsText }: Workbook,
  names: KnownNames,
): Promise<string[]> {
  const found: string[] = [...stringsText];
  const sizes = new Map(archive.entries.map(({ size }, place) => [parts.names[place], size]));
  const kindOf = (part: string) =>
    isTypes(part) ? 'types' : JUDGED.find(([judged]) => judged.test(parts.typeOf(part)))?.[1];
  const others = new Set(parts.names.filter((part) => !kindOf(part) && !read.has(part.toLowerCase())));
  // A part that is not allowed counts once: parts that mention it do not count again.
  const mentions = [...others].flatMap((part) => [`/${part}`, part.split('/').at(-1) ?? '', parts.typeOf(part)]);
  const all = { ...names, mentioned: new Set([...names.mentioned, ...mentions]) };
  for (const part of parts.names) {
    const here = new Set<string>();
    const kind = kindOf(part);
    if (others.has(part)) {
      if (sizes.get(part) !== 0) here.add(typeCalled(parts.typeOf(part)));
    } else if (!isKnownName(part)) here.add('a name of a part');
    if (kind) await judgePart(parts.read(part), new AllowedText(kind, all, (what) => here.add(what)), here);
    found.push(...here);
  }
  return archive.texts() > 0 ? [...found, 'comments or extra fields of the archive'] : found;
}

async function judgePart(chunks: AsyncIterable<Uint8Array>, text: AllowedText, found: Set<string>): Promise<void> {
  try {
    await readXml(chunks, {
      open: (name, _, attributes) => text.open(name, attributes),
      text: (piece) => text.text(piece),
      close: () => text.close(),
      aside: () => text.aside(),
    });
  } catch (error) {
    // A part that is not an XML document may hold anything.
    if (!(error instanceof UnreadableFile)) throw error;
    found.add('other parts');
  }
}
