import type { Calendar } from './cell-text.ts';
import type { Parts } from './parts.ts';
import { UnreadableSheet } from './unreadable-sheet.ts';
import { type Attributes, readXml } from './xml.ts';

/** What the main part of a workbook says. */
export interface WorkbookParts {
  calendar: Calendar;
  /** The sheets in the order of their tabs. Those of charts, dialogs and macros are none. */
  sheets: { part: string; visible: boolean }[];
  sharedStrings: string | null;
  styles: string | null;
  /** Names that stand for texts or lists of values. */
  namedValues: number;
}

const MOST_SHEETS = 10_000;
/** A text that is not empty, or a list, in a formula. */
const VALUE = /"[^"]+"|\{/;

/** @throws UnreadableSheet where it is no workbook; what reading its bytes throws */
export async function readWorkbook(parts: Parts): Promise<WorkbookParts> {
  const main = (await parts.relationships('')).find(({ type }) => type === 'officeDocument')?.part;
  if (main === undefined || !parts.has(main)) throw new UnreadableSheet('names no workbook');
  if (main.toLowerCase().endsWith('.bin')) throw new UnreadableSheet('is a binary workbook (xlsb)');
  const listed = await readMain(parts, main);
  const relationships = await parts.relationships(main);
  const byId = new Map(relationships.map((relationship) => [relationship.id, relationship]));
  const partOf = (wanted: string) => relationships.find(({ type }) => type === wanted)?.part ?? null;
  const sheets = listed.sheets.flatMap(({ id, visible }) => {
    const { type, part } = byId.get(id) ?? {};
    if (part === undefined) throw new UnreadableSheet('lists a sheet that it does not have');
    return type === 'worksheet' ? [{ part, visible }] : [];
  });
  if (sheets.length === 0) throw new UnreadableSheet('has no sheet of cells');
  return { ...listed, sheets, sharedStrings: partOf('sharedStrings'), styles: partOf('styles') };
}

async function readMain(parts: Parts, main: string) {
  const sheets: { id: string; visible: boolean }[] = [];
  let calendar: Calendar = 1900;
  let named = '';
  let namedValues = 0;
  let path: string[] = [];
  await readXml(parts.read(main), {
    open: (name, depth, attributes) => {
      path = [...path.slice(0, depth - 1), name];
      if (depth === 1 && name !== 'workbook') throw new UnreadableSheet('is a document that is no workbook');
      if (depth === 2 && name === 'workbookPr' && isTrue(attributes.date1904)) calendar = 1904;
      if (depth === 3 && name === 'sheet' && path[1] === 'sheets') sheets.push(sheetOf(attributes));
      if (sheets.length > MOST_SHEETS) throw new UnreadableSheet(`has more than ${MOST_SHEETS} sheets`);
      named = '';
    },
    text: (text) => {
      if (path[2] === 'definedName') named += text;
    },
    close: (name) => {
      if (name === 'definedName' && VALUE.test(named)) namedValues += 1;
      named = '';
    },
  });
  return { calendar, sheets, namedValues };
}

/** The prefix of the id's name is any; the sheet has no other id with one. */
function sheetOf(attributes: Attributes): { id: string; visible: boolean } {
  const id = Object.entries(attributes).find(([name]) => name.endsWith(':id'))?.[1] ?? '';
  return { id, visible: (attributes.state ?? 'visible') === 'visible' };
}

const isTrue = (text: string | undefined) => text === '1' || text === 'true';
