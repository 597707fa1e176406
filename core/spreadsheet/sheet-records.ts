import type { ByteSource } from '../files/byte-source.ts';
import { visible } from '../folded.ts';
import type { Content } from '../gate/facts.ts';
import type { ReadingLimits } from '../zip/reading-limits.ts';
import { type FoldedHeader, foldedHeader, repeatsHeader } from './later-header-rows.ts';
import { cellsOf, type SheetRow } from './sheet-rows.ts';
import { UnreadableSheet } from './unreadable-sheet.ts';
import { openWorkbook } from './workbook.ts';

/**
 * The records of a workbook that was counted, its header first where it has one, one at a time. Each has a text for every
 * column of the header; a row that is longer has more. Rows without a value below the header are no records, nor are rows that
 * repeat it.
 * @throws UnreadableSheet, UnreadableZip, ReadingUnfinished; what reading the source throws
 */
export async function* sheetRecords(
  source: ByteSource,
  { place, width, headed = null }: Pick<Content, 'place' | 'width'> & Partial<Pick<Content, 'headed'>>,
  limits: ReadingLimits,
): AsyncGenerator<string[]> {
  if (!place || width === null) {
    throw new UnreadableSheet('was stored by a release that did not look for the header of a sheet');
  }
  const workbook = await openWorkbook(source, limits);
  const sheet = workbook.sheets[place.sheet - 1];
  if (!sheet) throw new UnreadableSheet('lacks the sheet that was counted');
  const first = place.column - 1;
  const isRecord = recordFilter(first, width, headed);
  for await (const row of sheet.rows()) {
    if (row.number < place.row || !isRecord(row)) continue;
    yield cellsOf(row, first, Math.max(width, (row.columns.at(-1) ?? 0) - first + 1));
  }
}

/** Tells records from other rows: the first row asked about is the header, where there is one. */
function recordFilter(first: number, width: number, headed: boolean | null): (row: SheetRow) => boolean {
  let header: FoldedHeader | null = null;
  let named = new Set(Array.from({ length: width }, (_, place) => first + place));
  return (row) => {
    if (headed !== false && !header) {
      const cells = cellsOf(row, first, width);
      header = foldedHeader(cells, first);
      named = new Set(cells.flatMap((cell, place) => (visible(cell) === '' ? [] : [first + place])));
      return true;
    }
    return row.columns.some((column) => named.has(column)) && !(header && repeatsHeader(row, header));
  };
}
