import { open } from 'node:fs/promises';
import { fileSource } from '../core/file/byte-source.ts';
import { ReadingBudget } from '../core/file/reading-limits.ts';
import { openZip } from '../core/file/zip-archive.ts';
import { unescaped } from '../core/spreadsheet/cell-text.ts';
import { openWorkbook, type Sheet } from '../core/spreadsheet/workbook.ts';
import { type Comparison, compareFiles } from './compare-files.ts';

/**
 * Compares how this reader and openpyxl read the workbooks in folders, cell by cell: `node scripts/compare-workbooks.ts
 * FOLDER…`. docs/design/file-verification.md lists the folders and the results. Python needs the package openpyxl.
 */

const LIMITS = { contentBytes: 2e9, diskBytes: 0, secondsLeft: () => 900 };
const DAY_SECONDS = 86_400;
/** openpyxl rounds times to microseconds, this reader to milliseconds. */
const LEAST_SECONDS = 0.002;

/** What `workbook-cells.py` reads. */
interface Read {
  file: string;
  sheets: {
    name: string;
    /** Merged areas: first column and row, last column and row. openpyxl keeps only their first value. */
    merged: [left: number, top: number, right: number, bottom: number][];
    /** Cells with a link, whose value openpyxl may have replaced. */
    links: [row: number, column: number][];
    cells: [row: number, column: number, kind: Kind, text: string][];
  }[];
}
/** Number, day, clock, boolean, text. */
type Kind = 'n' | 'd' | 'c' | 'b' | 's';

/** Finds the first cell that the readers read differently. */
async function compare({ file, sheets }: Read): Promise<Comparison> {
  await using opened = await open(file);
  const archive = await openZip(await fileSource(opened), new ReadingBudget(LIMITS));
  const workbook = await openWorkbook(archive);
  for (const sheet of sheets) {
    const ours = workbook.sheets.find(({ name }) => name === sheet.name);
    // Macro and dialog sheets contain no cells.
    const difference = ours && (await differenceIn(ours, sheet));
    if (difference !== undefined) return { result: 'different', words: `${sheet.name} ${difference}` };
  }
  await archive.verify();
  return { result: 'same' };
}

async function differenceIn(
  sheet: Sheet,
  { cells, merged, links }: Read['sheets'][number],
): Promise<string | undefined> {
  const ours = new Map<string, string>();
  for await (const { number, columns, texts } of sheet.rows()) {
    for (const [place, column] of columns.entries()) ours.set(`${number},${column + 1}`, texts[place] ?? '');
  }
  for (const [row, column, kind, text] of cells) {
    const at = `${row},${column}`;
    const own = ours.get(at);
    ours.delete(at);
    if (own === undefined || !isSame(own, kind, text)) return `${at}: ${kind} ${text} is read as ${own}`;
  }
  for (const [row, column] of links) ours.delete(`${row},${column}`);
  const [more] = [...ours].filter(([at]) => {
    const [row = 0, column = 0] = at.split(',').map(Number);
    return !merged.some(
      ([left, top, right, bottom]) => row >= top && row <= bottom && column >= left && column <= right,
    );
  });
  return more && `${more[0]}: nothing is read as ${more[1]}`;
}

function isSame(own: string, kind: Kind, text: string): boolean {
  // UTF-8 has no half of a surrogate pair, so this reader shows U+FFFD.
  if (kind === 's') return [text, unescaped(text).toWellFormed()].some((each) => each.trim() === own.trim());
  if (kind === 'b') return own === text;
  // Excel shows no date before the start of its calendar, so a negative number is no date.
  if ((kind === 'd' || kind === 'c') && Number(own) < 0) return true;
  if (kind === 'd') return Math.abs(Date.parse(`${isoText(own)}Z`) - Date.parse(`${text}Z`)) < 1000 * LEAST_SECONDS;
  if (kind === 'c') return Math.abs(clockSeconds(own) - Number(text)) < LEAST_SECONDS;
  return Number(own) === Number(text) || own.replaceAll(/\D/g, '').replace(/^0+/, '') === text;
}

const isoText = (text: string) => (text.includes('T') ? text : `${text}T00:00:00`);

/** The seconds of a clock text such as `36:00:00.5`. */
function clockSeconds(text: string): number {
  const [hours = Number.NaN, minutes = Number.NaN, seconds = 0] = text.split(':').map(Number);
  return (hours * 3600 + minutes * 60 + seconds) % (text.length > 12 ? Number.POSITIVE_INFINITY : 1000 * DAY_SECONDS);
}

await compareFiles('workbook-cells.py', /\.(?:xlsx|xlsm|xltx|xltm)$/i, compare);
