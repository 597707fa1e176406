import type { Entity } from '../../core/config/entities.ts';
import type { Manifest } from '../../core/export/manifest.ts';
import { fileRecords } from '../../core/file/file-records.ts';
import { isEmptyFile } from '../../core/gate/facts.ts';
import { printErr, printOut } from '../support/print.ts';
import { connect, type TargetOptions } from '../support/target.ts';
import { bytesText, manyText, printableLine } from '../support/text.ts';
import { textTable } from '../support/text-table.ts';
import { findManifest, type Which } from './find-manifest.ts';
import {
  type ExportsBucket,
  NO_LIMITS,
  namesOf,
  refuseUnread,
  sourceOf,
  storedFile,
  unreadable,
} from './stored-file.ts';
import { columnRemarks, columnsOf, columnsText, createManifests, remarksOf } from './stored-manifests.ts';

interface Options extends TargetOptions, Which {
  columns?: boolean;
}

const SHOWN_ROWS = 10;
const WIDEST_CELL = 24;

/** `peek`, which changes nothing and writes no file. */
export async function peek(entity: Entity, options: Options): Promise<void> {
  const target = await connect(options);
  const manifest = await findManifest(createManifests(target), entity, options);
  if (options.columns) return printColumns(manifest);
  const rows = await firstRows(target, manifest, SHOWN_ROWS);
  const found = columnsOf(manifest);
  const { execution, file, run, warnings } = manifest;
  const size = `${file.rows === null ? 'rows not counted' : manyText(file.rows, 'row')}, ${bytesText(file.bytes)}`;
  printOut(`${entity} of ${run.date} (${printableLine(execution)}): ${size}.\n\n${columnsText(found)}\n`);
  printOut(rowsText(namesOf(manifest), rows, process.stdout.columns ?? Number.POSITIVE_INFINITY));
  const remarks = [...remarksOf(manifest), ...columnRemarks(file), ...warnings];
  for (const remark of remarks) printErr(`Warning: ${remark}`);
}

function printColumns(manifest: Manifest): void {
  refuseUnread(manifest);
  const { execution, file } = manifest;
  const { entity, date } = manifest.run;
  const found = columnsOf(manifest);
  const others = found.others?.length ? `; the CRM lists ${manyText(found.others.length, 'column')} more` : '';
  printOut(
    `${entity} of ${date} (${printableLine(execution)}): ${manyText(found.columns.length, 'column')}${others}.\n`,
  );
  printOut(columnsText(found));
  for (const remark of [...remarksOf(manifest), ...columnRemarks(file)]) printErr(`Warning: ${remark}`);
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
  const note = left > 0 ? [`Not shown: ${manyText(left, 'more column')}. Use a wider terminal.`] : [];
  return [`First ${manyText(rows.length, 'row')}:`, ...linesOf(cells, count), ...note].join('\n');
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
 * Reads the first rows of a file, without its header, and ends the request after them.
 * @returns fewer rows if the file has fewer
 * @throws CommandError (exit code 1) if the file cannot be read or is gone
 */
export async function firstRows(target: ExportsBucket, manifest: Manifest, most: number): Promise<string[][]> {
  refuseUnread(manifest);
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
