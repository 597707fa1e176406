import type { ByteSource } from '../files/byte-source.ts';
import { sheetFacts } from '../spreadsheet/sheet-facts.ts';
import { type Content, NO_CONTENT } from './read-stream.ts';
import { limitsOf, type Reading, refused } from './reading.ts';

/** @throws RunError `FileRejected` where no spreadsheets are accepted, or it is damaged or has no header */
export async function readSheet(source: ByteSource, reading: Reading): Promise<Content> {
  const { formats, headerless, covered = [], sheet = null, otherSheets = [], ...listed } = reading.expected;
  if (!formats.includes('xlsx')) throw refused(reading, 'a spreadsheet of Excel');
  const expected = { listed, covered, headerless, sheet, otherSheets };
  const { header, empty, content, remarks } = await sheetFacts(source, expected, await limitsOf(reading));
  if (empty) return { ...NO_CONTENT, remarks: [...remarks, ...NO_CONTENT.remarks] };
  return { empty, format: 'xlsx', dialect: null, header, content, remarks };
}
