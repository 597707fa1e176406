import { type ListedFields, listedFields } from '../columns/header.ts';
import type { Deployment } from '../config/deployment.ts';
import type { FileFormat, OpaqueKind } from '../config/file-formats.ts';
import type { Run } from '../step/states.ts';

/** What a file must be: the requested columns, and the kinds of files that the deployment accepts. */
export interface Expected extends ListedFields {
  formats: readonly FileFormat[];
  /** Kinds that are published without checks. */
  opaque: readonly OpaqueKind[];
  /** Whether files have no header: they are then recognised by their width. */
  headerless: boolean;
  /** Columns that tables hash or leave out, as the settings name them. */
  hiddenInTables?: readonly string[];
  /** The sheet to read in a workbook (`columns.sheet`); without it, the visible sheet with a header. */
  sheet?: string | undefined;
  /** Other sheets that a workbook may have, with any content (`columns.otherSheets`). */
  otherSheets?: readonly string[] | undefined;
}

/** What today's settings accept as the file of a run. */
export function expectedOf(
  run: Pick<Run, 'entity' | 'request' | 'listed' | 'excepted'>,
  deployment: Deployment,
): Expected {
  const plan = deployment.entities[run.entity];
  const { formats } = deployment.files;
  const hiddenInTables = [...(plan.tables?.hash ?? []), ...(plan.tables?.except ?? [])];
  const { labels, header, sheet, otherSheets } = plan.columns;
  const listed = listedFields(run, labels);
  return { ...listed, formats, opaque: plan.opaque, headerless: header === 'none', hiddenInTables, sheet, otherSheets };
}
