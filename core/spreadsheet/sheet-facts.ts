import type { Expected } from '../file/expected-file.ts';
import { UnreadableFile } from '../file/unreadable-file.ts';
import { type Content, rowsIn } from '../gate/facts.ts';
import { type AllowedNames, AllowedText, NO_NAMES } from './allowed-text.ts';
import { RowCounter } from './count-rows.ts';
import { partsWithValues, textOutsideSheets } from './elsewhere.ts';
import { findHeader, type SheetStart } from './find-header.ts';
import type { SheetFindings } from './sheet-rows.ts';
import type { Sheet, Workbook } from './workbook.ts';

export interface SheetFacts {
  /** Names of all columns as the CRM lists them; `null` if they are not known. */
  header: string[] | null;
  /** Rows below the header; `null` if it is unknown whether the first row is a header. */
  rows: number | null;
  content: Content;
  /** Warnings for readers, in sentences. */
  remarks: string[];
}

/**
 * Reads a workbook (xlsx) to its end: rows, widths and header of the counted sheet, and text anywhere else. All parts
 * are read, so that any damage is found.
 * @returns `undefined` if no sheet has a value
 * @throws UnreadableFile if the workbook is damaged, or has no header and no row with the requested width;
 *   ReadingUnfinished if it exceeds the limits; any error from reading the source
 */
export async function sheetFacts(workbook: Workbook, expected: Expected): Promise<SheetFacts | undefined> {
  const { sheet: wanted, otherSheets: allowed = [] } = expected;
  const starts = await startsOf(workbook, expected);
  const counted = countedSheet(starts, expected);
  // Reads the allowed other sheets, so that their shared texts do not count as unused.
  const excused = starts.filter((start) => start !== counted && allowed.includes(start.sheet.name));
  for (const { sheet } of excused) for await (const _ of sheet.rows());
  const others = starts.filter((start) => start !== counted && !excused.includes(start));
  const otherSheets = others.filter(({ filled }) => filled).map(({ sheet: { visible } }) => sheetWords(visible));
  const besides = [...otherSheets, ...partsWithValues(workbook)];
  if (!counted?.header) return withoutHeader(workbook, starts, besides, expected);
  const { sheet, header } = counted;
  const names = namesOf(workbook, header.cells, [...allowed, wanted ?? []].flat());
  const here = new Set<string>();
  const findings: SheetFindings = {
    unknownResults: 0,
    text: new AllowedText('sheet', names, (what) => here.add(what)),
  };
  const counter = new RowCounter(header, expected);
  for await (const row of sheet.rows(findings)) counter.add(row);
  const { content, recordsAbove } = counter.result();
  await workbook.archive.verify();
  const hasUnused = (workbook.strings?.unused() ?? 0) > 0;
  const outside = [
    ...(recordsAbove > 0 ? ['rows above its header that may be records'] : []),
    // If other sheets have values, their shared texts were not read and do not count.
    ...(hasUnused && recordsAbove === 0 && besides.length === 0 ? ['texts that no cell has'] : []),
    ...(workbook.archive.unlisted() > 0 ? ['bytes outside of its parts'] : []),
  ];
  const elsewhere = [
    ...otherSheets,
    ...others.flatMap(({ filled, text }) => (filled ? [] : [...text])),
    ...here,
    ...(await textOutsideSheets(workbook, names)),
    ...outside,
  ];
  return {
    header: header.header.names,
    rows: rowsIn(content, content.headed),
    content: {
      ...content,
      place: { sheet: starts.indexOf(counted) + 1, row: header.number, column: header.first + 1 },
      sheets: wanted === undefined ? sheetsLike(counted, others) : 1,
      elsewhere: elsewhere.length,
      elsewhereKinds: [...new Set(elsewhere)].toSorted(),
    },
    remarks: remarksOf([...besides, ...outside], findings),
  };
}

interface Start extends SheetStart {
  sheet: Sheet;
  /** Words for text outside the cells of the sheet. */
  text: ReadonlySet<string>;
}

async function startsOf({ sheets }: Workbook, expected: Expected): Promise<Start[]> {
  const starts: Start[] = [];
  for (const sheet of sheets) {
    const text = new Set<string>();
    const findings = { unknownResults: 0, text: new AllowedText('sheet', NO_NAMES, (what) => text.add(what)) };
    starts.push({ sheet, text, ...(await findHeader(sheet.rows(findings), expected)) });
  }
  return starts;
}

const namesOf = ({ sheets }: Workbook, cells: readonly string[], settings: readonly string[]): AllowedNames => ({
  settings: new Set(settings),
  mentioned: new Set([...sheets.map(({ name }) => name), ...cells]),
});

const sheetWords = (visible: boolean) => (visible ? 'other sheets' : 'hidden sheets');

/** @throws UnreadableFile if the sheet of the settings does not exist */
function countedSheet(starts: Start[], { sheet: wanted, otherSheets = [] }: Expected): Start | undefined {
  if (wanted !== undefined) {
    const named = starts.find(({ sheet: { name } }) => name === wanted);
    if (!named) throw new UnreadableFile('has no sheet with the name of columns.sheet');
    return named;
  }
  const visible = starts.filter(({ sheet }) => sheet.visible && !otherSheets.includes(sheet.name));
  return visible.find(({ kind }) => kind === 'known') ?? visible.find(({ kind }) => kind === 'wide');
}

/** Counts the visible sheets that fit as well as the counted one, including it. */
function sheetsLike(counted: Start, others: Start[]): number {
  return [counted, ...others].filter(({ sheet: { visible }, kind }) => visible && kind === counted.kind).length;
}

/** Warnings for readers of the sheet, in sentences that quote nothing of it. */
function remarksOf(besides: readonly string[], { unknownResults }: SheetFindings): string[] {
  const kinds = [...new Set(besides)].map((kind) => {
    const count = besides.filter((other) => other === kind).length;
    return count === 1 ? kind : `${kind} (${count})`;
  });
  return [
    ...(kinds.length > 0 ? [`The workbook has values besides the rows of its sheet: ${kinds.join(', ')}.`] : []),
    ...(unknownResults > 0
      ? [`${unknownResults} cells have a formula whose result is not in the file: they are read as empty.`]
      : []),
  ];
}

async function withoutHeader(
  { archive }: Workbook,
  starts: Start[],
  besides: string[],
  { columns, headerless, sheet }: Expected,
): Promise<undefined> {
  await archive.verify();
  if (starts.some(({ filled }) => filled) || besides.length > 0) {
    const { length: width } = columns;
    const header = headerless ? '' : 'no header of listed columns and ';
    const wide = `no row of ${width} ${width === 1 ? 'column' : 'columns'}, as many as were requested`;
    const where = sheet === undefined ? 'a visible sheet' : 'the sheet of columns.sheet';
    throw new UnreadableFile(`has ${header}${wide} among the first 20 rows of ${where}`);
  }
}
