import type { Entity } from '../../core/config/entities.ts';
import type { Manifest } from '../../core/export/manifest.ts';
import { fileRecords } from '../../core/file/file-records.ts';
import { isEmptyFile } from '../../core/gate/facts.ts';
import { printErr, printOut } from '../support/print.ts';
import { connect, type Target, type TargetOptions } from '../support/target.ts';
import { bytesText, countText, printableLine, textTable } from '../support/text.ts';
import { type FileChoice, findManifest } from './find-manifest.ts';
import { NO_LIMITS, namesOf, refuseUnread, sourceOf, storedFile, unreadable } from './stored-file.ts';
import { columnsOf, createManifests, publicationWarnings } from './stored-manifests.ts';

interface Options extends TargetOptions, FileChoice {
  columns?: boolean;
}

const SHOWN_ROWS = 10;
const WIDEST_CELL = 24;

/** Runs the command `peek`, which changes nothing and writes no file. */
export async function peek(entity: Entity, options: Options): Promise<void> {
  const target = await connect(options);
  const manifest = await findManifest(createManifests(target), entity, options);
  refuseUnread(manifest);
  const rows = options.columns ? null : await firstRows(target, manifest, SHOWN_ROWS);
  const { execution, file, run, warnings } = manifest;
  const { columns, others: unasked } = columnsOf(manifest);
  const more = unasked?.length ? `; the CRM lists ${countText(unasked.length, 'column')} more` : '';
  const counted = file.rows === null ? 'rows not counted' : countText(file.rows, 'row');
  const size = rows ? `${counted}, ${bytesText(file.bytes)}` : `${countText(columns.length, 'column')}${more}`;
  const cells = columns.map(({ name, type, label }) => [name, type ?? '', label ?? '']);
  const table = textTable(['Column', 'Type', 'Label'], cells);
  printOut(`${entity} of ${run.date} (${printableLine(execution)}): ${size}.\n\n${table}`);
  if (rows && !isEmptyFile(file))
    printOut(`\n${rowsText(namesOf(manifest), rows, process.stdout.columns ?? Number.POSITIVE_INFINITY)}`);
  for (const warning of [...publicationWarnings(manifest), ...columnWarnings(file), ...(rows ? warnings : [])])
    printErr(`Warning: ${warning}`);
}

/** A warning about the source of the column names; empty if the file itself names them. */
function columnWarnings({ header, content, format }: Manifest['file']): string[] {
  if (header !== null) return [];
  if (isEmptyFile({ format })) return ['An empty file has no header. These are the requested columns.'];
  if (content?.headed === false)
    return ['The file has no header. These are the requested columns, in the requested order.'];
  return ['The manifest has no header of the file. These are the requested columns.'];
}

/** Rows as a table within the width of the terminal: long cells are cut, and columns that do not fit are counted. */
export function rowsText(header: string[] | null, rows: string[][], width: number): string {
  if (rows.length === 0) return 'The file has no rows.';
  const most = Math.max(header?.length ?? 0, ...rows.map((row) => row.length));
  const headings = Array.from({ length: most }, (_, index) => header?.[index] ?? `(${index + 1})`);
  const cells = [headings, ...rows].map((row) => row.map(cellText));
  const fits = (count: number) => linesOf(cells, count).every((line) => line.length <= width);
  let count = most;
  while (count > 1 && !fits(count)) count -= 1;
  const left = most - count;
  const note = left > 0 ? [`Not shown: ${countText(left, 'more column')}. Use a wider terminal.`] : [];
  return [`First ${countText(rows.length, 'row')}:`, ...linesOf(cells, count), ...note].join('\n');
}

function linesOf(cells: string[][], count: number): string[] {
  const [headings = [], ...rows] = cells.map((row) => row.slice(0, count));
  return textTable(headings, rows).split('\n');
}

function cellText(cell: string): string {
  const line = printableLine(cell);
  return line.length > WIDEST_CELL ? `${line.slice(0, WIDEST_CELL - 1)}…` : line;
}

/**
 * Reads the first rows of a file, without its header, and then ends the request.
 * @returns fewer rows if the file has fewer
 * @throws CommandError (exit code 1) if the file cannot be read or is gone
 */
export async function firstRows(target: Target, manifest: Manifest, most: number): Promise<string[][]> {
  const stored = await storedFile(target, manifest);
  if (isEmptyFile(manifest.file)) return [];
  const above = manifest.file.header === null ? 0 : 1;
  const rows: string[][] = [];
  try {
    for await (const record of fileRecords(sourceOf(target, stored), manifest.file, NO_LIMITS)) {
      rows.push(record);
      if (rows.length === most + above) break;
    }
  } catch (error) {
    throw unreadable(stored.key, error);
  }
  return rows.slice(above);
}
