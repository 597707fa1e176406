import type { Manifest } from '../export/manifest.ts';
import { isEmptyFile, isReadFormat } from '../gate/facts.ts';
import { TableError } from './table-error.ts';

/** The columns of a published file, as its table has them. */
export interface FileColumns {
  /** The names in order; '' where the header has none: no values are below it. */
  names: readonly string[];
  /** The first record is the header, and no row. */
  headed: boolean;
  /** The file itself names them: else they are the requested ones, in order. */
  told: boolean;
}

/** @throws TableError where they are not known */
export function fileColumns({ file, request }: Pick<Manifest, 'file' | 'request'>): FileColumns {
  const { format, header, content } = file;
  if (isEmptyFile(file)) return { names: request.columns, headed: true, told: true };
  if (!isReadFormat(format))
    throw new TableError(`The file is ${format}: tables are made of CSV files and spreadsheets.`);
  // A header that is known because a person has released one like it names them no more than that one did.
  if (header !== null) return { names: header, headed: true, told: (content?.firstRecord ?? null) === null };
  if (content?.headed === false) return { names: request.columns, headed: false, told: false };
  // A file of this kind is published only after a person has released it: its header stands for the requested columns.
  const released = content !== null && content.headed === null && content.width === request.columns.length;
  if (released) return { names: request.columns, headed: true, told: false };
  throw new TableError('The first line of the file names no columns that the CRM lists.');
}
