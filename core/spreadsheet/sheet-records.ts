import type { ByteSource } from '../files/byte-source.ts';
import { visible } from '../folded.ts';
import type { Content } from '../gate/facts.ts';
import type { ReadingLimits } from '../zip/reading-limits.ts';
import { cellsOf } from './sheet-rows.ts';
import { UnreadableSheet } from './unreadable-sheet.ts';
import { openWorkbook } from './workbook.ts';

/**
 * The records of a workbook that was counted, its header first where it has one, one at a time. Each has a text for every
 * column of the header; a row that is longer has more. Rows without a value below the header are no records.
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
  let named: ReadonlySet<number> | undefined;
  for await (const row of sheet.rows()) {
    if (row.number < place.row || (named && !row.columns.some((column) => named?.has(column)))) continue;
    const cells = cellsOf(row, first, Math.max(width, (row.columns.at(-1) ?? 0) - first + 1));
    // The first row is the header, where there is one.
    named ??= new Set(
      cells.slice(0, width).flatMap((cell, at) => (headed === false || visible(cell) !== '' ? [first + at] : [])),
    );
    yield cells;
  }
}
