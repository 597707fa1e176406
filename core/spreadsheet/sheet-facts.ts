import { RunError } from '../errors.ts';
import type { ByteSource } from '../files/byte-source.ts';
import type { FieldIndex } from '../files/field-names.ts';
import type { Content } from '../gate/facts.ts';

/** Stands here until the reader of spreadsheets is merged. */
export async function sheetFacts(
  _source: ByteSource,
  _expected: { index: FieldIndex; columns: readonly string[]; headerless: boolean },
  { what }: { what: string },
): Promise<{ header: string[] | null; empty: boolean; content: Content; remarks: string[] }> {
  throw new RunError('FileRejected', `${what} is a spreadsheet, which is not read yet.`);
}
