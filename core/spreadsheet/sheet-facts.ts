import type { FieldIndex } from '../columns/header.ts';
import { placesOf } from '../file/csv-start.ts';
import type { ByteSource } from '../files/byte-source.ts';
import { type Content, UNSEEN } from '../gate/facts.ts';
import type { ReadingLimits } from '../zip/reading-limits.ts';
import { countRows } from './count-rows.ts';
import { findHeader, type SheetHeader, type SheetStart } from './find-header.ts';
import { openWorkbook, type Sheet, type Workbook } from './open-workbook.ts';
import { remarksOf } from './sheet-remarks.ts';
import { UnreadableSheet } from './unreadable-sheet.ts';
import { partsWithValues } from './values-elsewhere.ts';

export interface ExpectedColumns {
  index: FieldIndex;
  /** The requested ones, in order. */
  columns: readonly string[];
  /** The service writes no header (`columns.header: "none"`). */
  headerless: boolean;
}

export interface SheetFacts {
  /** Names of all columns as the CRM lists them; `null` where they are not known. */
  header: string[] | null;
  /** No sheet has a value. */
  empty: boolean;
  content: Content;
  /** What a reader should know, in sentences. */
  remarks: string[];
}

/**
 * What is known of a workbook (xlsx), read to its end: rows, widths and header of the one visible sheet that has one, and
 * whether there are values elsewhere. All of its parts are read, so that nothing of it is damaged.
 * @throws UnreadableSheet, UnreadableZip where it is damaged, or has no header and no row as wide as requested;
 *   ReadingUnfinished where it is too much for the limits; what reading the source throws
 */
export async function sheetFacts(
  source: ByteSource,
  expected: ExpectedColumns,
  limits: ReadingLimits,
): Promise<SheetFacts> {
  const workbook = await openWorkbook(source, limits);
  try {
    return await factsOf(workbook, expected);
  } finally {
    workbook.close();
  }
}

async function factsOf(workbook: Workbook, expected: ExpectedColumns): Promise<SheetFacts> {
  const starts = await startsOf(workbook.sheets, expected);
  const counted = countedSheet(starts);
  const besides = [
    ...starts.filter((start) => start !== counted && start.filled).map(({ sheet }) => sheetWords(sheet)),
    ...(await partsWithValues(workbook.parts, workbook.main)),
  ];
  if (!counted?.header) return withoutHeader(workbook, starts, besides, expected);
  const { sheet, header } = counted;
  const seen = { unknownResults: 0 };
  const { content, recordsAbove, endsThin } = await countRows(sheet.rows(seen), header);
  await workbook.archive.verify();
  if (recordsAbove > 0) besides.push('rows above its header that may be records');
  // The texts of other sheets were not read.
  if ((workbook.strings?.unused() ?? 0) > 0 && besides.length === 0) besides.push('texts that no cell has');
  if (workbook.archive.unlisted() > 0) besides.push('bytes outside of its parts');
  const place = { sheet: starts.indexOf(counted) + 1, row: header.number, column: header.first + 1 };
  const sheets = starts.filter(({ sheet: { visible }, kind }) => visible && kind === counted.kind).length;
  const { names } = header.found;
  return {
    header: counted.kind === 'known' ? names : null,
    empty: false,
    content: { ...content, ...headerCounts(header), place, sheets, elsewhere: besides.length },
    remarks: remarksOf({ besides, endsThin, ...seen }),
  };
}

interface Start extends SheetStart {
  sheet: Sheet;
}

async function startsOf(sheets: Sheet[], expected: ExpectedColumns): Promise<Start[]> {
  const starts: Start[] = [];
  for (const sheet of sheets) starts.push({ sheet, ...(await findHeader(sheet.rows(), expected)) });
  return starts;
}

const sheetWords = ({ visible }: Sheet) => (visible ? 'other sheets' : 'hidden sheets');

function countedSheet(starts: Start[]): Start | undefined {
  const visible = starts.filter(({ sheet }) => sheet.visible);
  return visible.find(({ kind }) => kind === 'known') ?? visible.find(({ kind }) => kind === 'wide');
}

/** Counts the texts of a header. Nothing is said of a record that is known to be none, as with CSV. */
function headerCounts({
  headed,
  found,
  cells,
}: SheetHeader): Pick<Content, 'unlisted' | 'unlistedPlaces' | 'excepted'> {
  if (headed === false) return { unlisted: null, unlistedPlaces: [], excepted: 0 };
  const unlistedPlaces = headed ? placesOf(found.unlisted, cells) : [];
  return { unlisted: found.unlisted.length, unlistedPlaces, excepted: found.excepted };
}

async function withoutHeader(
  { archive }: Workbook,
  starts: Start[],
  besides: string[],
  { index: { width }, headerless }: ExpectedColumns,
): Promise<SheetFacts> {
  await archive.verify();
  if (starts.some(({ filled }) => filled) || besides.length > 0) {
    const header = headerless ? '' : 'no header of listed columns and ';
    const wide = `no row of ${width} ${width === 1 ? 'column' : 'columns'}, as many as were requested`;
    throw new UnreadableSheet(`has ${header}${wide} among the first 20 rows of a visible sheet`);
  }
  const content = { ...UNSEEN, rows: 0, width: 0, sheets: 0 };
  return { header: null, empty: true, content, remarks: [] };
}
