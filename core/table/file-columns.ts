import type { Manifest } from '../export/manifest.ts';
import { isEmptyFile, isReadFormat } from '../gate/facts.ts';
import { TableError } from './table-error.ts';

/** The columns of a published file, as its table has them. */
export interface FileColumns {
  /** The names in order; '' if the header has no name for a column, which has no values either. */
  names: readonly string[];
  /** The first record is the header, not a row. */
  headed: boolean;
  /** The file itself names the columns. Otherwise they are the requested columns, in order. */
  isNamed: boolean;
}

/** @throws TableError if the columns are not known */
export function fileColumns({
  file,
  run: { request },
}: {
  file: Manifest['file'];
  run: Pick<Manifest['run'], 'request'>;
}): FileColumns {
  const { format, header, content } = file;
  if (isEmptyFile(file)) return { names: request.columns, headed: true, isNamed: true };
  if (!isReadFormat(format))
    throw new TableError(`The file is ${format}: tables are made of CSV files and spreadsheets.`);
  // A header known from the release of another file stands for the requested columns: its texts do not name them.
  if (header !== null) return { names: header, headed: true, isNamed: (content?.firstRecord ?? null) === null };
  if (content?.headed === false) return { names: request.columns, headed: false, isNamed: false };
  // A file of this kind is published only after a person has released it: its header stands for the requested columns.
  const released = content !== null && content.headed === null && content.width === request.columns.length;
  if (released) return { names: request.columns, headed: true, isNamed: false };
  throw new TableError('The first line of the file has no column that the CRM lists.');
}
