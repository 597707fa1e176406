import type { Entity } from '../../core/config/entities.ts';
import type { WrittenTable } from '../../core/table/write-parquet.ts';

/** The state of a run is limited. */
const MOST = 20;

/** What a reader of the table should know, in sentences: columns, counts and numbers of rows, no values. */
export function tableWarnings(entity: Entity, { misfits, shortRows, nameless, missing }: WrittenTable): string[] {
  const warnings = [
    ...misfits.map(({ column, type, count, row }) =>
      type === 'text'
        ? `Values of the column "${column}" with broken characters, which are U+FFFD in the table: ${count}, the first in row ${row}.`
        : `Values of the column "${column}" that do not fit its type, ${type}, are null in the table: ${count}, the first in row ${row}.`,
    ),
    ...(shortRows
      ? [
          `Rows with fewer fields than the header: ${shortRows.count}, the first is row ${shortRows.row}. What they lack is null.`,
        ]
      : []),
    ...(nameless
      ? [
          `Rows with values in columns without a name: ${nameless.count}, the first is row ${nameless.row}. These values are not in the table.`,
        ]
      : []),
    ...missing.map((name) => `The file has no column "${name}", which entities.${entity}.tables.columns names.`),
  ];
  const more = warnings.length - MOST;
  return more > 0 ? [...warnings.slice(0, MOST), `${more} more of this kind.`] : warnings;
}
