import type { ListedField } from '../../core/columns/changes.ts';
import type { Manifest } from '../../core/export/manifest.ts';
import { plainLine } from '../support/text.ts';
import { textTable } from '../support/text-table.ts';

/** The columns of a file, as its manifest tells them. */
interface FileColumns {
  /**
   * The columns in the order of the file. A type or label is null where the CRM gave none, or where it is not known.
   */
  columns: ListedField[];
  /** Columns that the CRM lists and the file does not have; null = not known. */
  others: string[] | null;
}

export function columnsOf({ file, request, fields }: Pick<Manifest, 'file' | 'request' | 'fields'>): FileColumns {
  // A column may have no name, and no values below it.
  const names = (file.header ?? request.columns).filter((name) => name.trim() !== '');
  const listed = new Map(fields?.map((field) => [field.name, field]));
  const columns = names.map((name) => listed.get(name) ?? { name, type: null, label: null });
  const others = fields?.map(({ name }) => name).filter((name) => !names.includes(name)) ?? null;
  return { columns, others };
}

/** The columns for a person. */
export function columnsText({ columns }: FileColumns): string {
  const rows = columns.map(({ name, type, label }) => [name, type ?? '', label ?? ''].map(plainLine));
  return textTable(['Column', 'Type', 'Label'], rows);
}

/** What a person should know of where the columns come from; empty where the file itself names them. */
export function columnRemarks({ header, content }: Manifest['file']): string[] {
  if (header !== null) return [];
  if (content?.headed === false) return ['The file has no header: these are the requested columns, in their order.'];
  return ['The manifest does not know the header of the file: these are the requested columns.'];
}
