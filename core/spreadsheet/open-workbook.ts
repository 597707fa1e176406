import type { ByteSource } from '../files/byte-source.ts';
import { ReadingBudget, type ReadingLimits } from '../zip/reading-limits.ts';
import { openZip, type ZipArchive } from '../zip/zip-archive.ts';
import { type Parts, partsOf } from './parts.ts';
import { readSharedStrings, type SharedStrings } from './shared-strings.ts';
import { type CellContext, SheetReader, type SheetSeen, withTexts } from './sheet-reader.ts';
import type { SheetRow } from './sheet-row.ts';
import { readStyles } from './styles.ts';
import { readWorkbook, type WorkbookParts } from './workbook-parts.ts';

export interface Sheet {
  part: string;
  visible: boolean;
  /**
   * The rows that have a value, in order. Behind the last one, size and checksum of the sheet have been compared.
   * @throws UnreadableSheet, UnreadableZip, ReadingUnfinished; what reading the source throws
   */
  rows(seen?: SheetSeen): AsyncGenerator<SheetRow>;
}

export interface Workbook {
  sheets: Sheet[];
  archive: ZipArchive;
  parts: Parts;
  main: WorkbookParts;
  strings: SharedStrings | null;
  /** Removes what was put on the disk. */
  close(): void;
}

/**
 * Opens a workbook (xlsx) by the directory at its end and reads all of its shared texts; `close` it.
 * @throws UnreadableSheet, UnreadableZip, ReadingUnfinished; what reading the source throws
 */
export async function openWorkbook(source: ByteSource, limits: ReadingLimits): Promise<Workbook> {
  const budget = new ReadingBudget(limits);
  const archive = await openZip(source, budget);
  const parts = await partsOf(archive);
  const main = await readWorkbook(parts);
  const shown = main.styles === null ? [] : await readStyles(parts.read(main.styles));
  const strings = main.sharedStrings === null ? null : await readSharedStrings(parts.read(main.sharedStrings), budget);
  const context = { calendar: main.calendar, shown };
  const sheets = main.sheets.map(({ part, visible }) => ({
    part,
    visible,
    rows: (seen?: SheetSeen) => rowsOf(parts.read(part), context, strings, seen),
  }));
  return { sheets, archive, parts, main, strings, close: () => strings?.close() };
}

/** A piece holds so few rows that they die in the small young generation of a function that streams. */
const PIECE_BYTES = 8 * 1024;

async function* rowsOf(
  chunks: AsyncIterable<Uint8Array>,
  context: CellContext,
  strings: SharedStrings | null,
  seen?: SheetSeen,
): AsyncGenerator<SheetRow> {
  const reader = new SheetReader(context, seen);
  function* filled(raw: ReturnType<SheetReader['read']>) {
    for (const each of raw) {
      const row = withTexts(each, strings);
      if (row.columns.length > 0) yield row;
    }
  }
  for await (const chunk of chunks) {
    for (let at = 0; at < chunk.length; at += PIECE_BYTES) {
      yield* filled(reader.read(chunk.subarray(at, at + PIECE_BYTES)));
    }
  }
  yield* filled(reader.end());
}
