import type { ByteSource } from '../files/byte-source.ts';
import type { Content } from '../gate/facts.ts';
import type { ReadingLimits } from '../zip/reading-limits.ts';
import { openWorkbook } from './open-workbook.ts';
import { cellsOf } from './sheet-row.ts';
import { UnreadableSheet } from './unreadable-sheet.ts';

/**
 * The records of a workbook that was counted, its header first where it has one, one at a time. Each has a text for every
 * column of the header; a row that is longer has more.
 * @throws UnreadableSheet, UnreadableZip, ReadingUnfinished; what reading the source throws
 */
export async function* sheetRecords(
  source: ByteSource,
  { place, width }: Pick<Content, 'place' | 'width'>,
  limits: ReadingLimits,
): AsyncGenerator<string[]> {
  if (!place || width === null) {
    throw new UnreadableSheet('was stored by a release that did not look for the header of a sheet');
  }
  const workbook = await openWorkbook(source, limits);
  const first = place.column - 1;
  try {
    const sheet = workbook.sheets[place.sheet - 1];
    if (!sheet) throw new UnreadableSheet('lacks the sheet that was counted');
    for await (const row of sheet.rows()) {
      if (row.number < place.row) continue;
      yield cellsOf(row, first, Math.max(width, (row.columns.at(-1) ?? 0) - first + 1));
    }
  } finally {
    workbook.close();
  }
}
