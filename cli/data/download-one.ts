import { basename, join } from 'node:path';
import { createLogUpdate } from 'log-update';
import type { Manifest } from '../../core/export/manifest.ts';
import { pathArgument } from '../support/command-options.ts';
import { printErr, printOut } from '../support/print.ts';
import type { Target } from '../support/target.ts';
import { bytesText, manyText, movedText, plainLine } from '../support/text.ts';
import { untilInterrupted } from '../support/until-interrupted.ts';
import { downloadTo } from './download-file.ts';
import { downloadForExcel } from './excel.ts';
import { remarksOf } from './remarks.ts';

interface Wanted {
  path: string;
  force: boolean;
  /** A workbook, instead of the file as it is. */
  excel: boolean;
}

/** Where a file gets its name unless a person names one. @param directory default: where the person is */
export function defaultPath({ entity, date, file }: Manifest, excel: boolean, directory?: string): string {
  // Another name than that of the proven file, which it is not.
  const name = `${entity}-${date}${excel ? '.excel.xlsx' : extensionsOf(file.key)}`;
  return directory === undefined ? pathArgument(name) : join(directory, name);
}

/** The extensions at the end of a key: `.csv`, `.csv.gz`. */
function extensionsOf(key: string): string {
  return /\.[^/]*$/.exec(basename(key))?.[0] ?? '';
}

/** Downloads a file with a progress row. @returns what it became, as a document and as a sentence */
export async function downloadOne(target: Target, manifest: Manifest, { path, force, excel }: Wanted) {
  const { entity, date, execution, file, state, kind } = manifest;
  const { bytes, rows, crc32 } = file;
  const facts = { entity, date, run: execution, state, kind, file: path, bytes, rows, crc32 };
  if (excel) {
    const words = 'Stopped. Nothing was written: a file for spreadsheets is begun anew.';
    await untilInterrupted(words, (signal) => downloadForExcel(target, manifest, path, { force, signal }));
    const document = { ...facts, excel: 'xlsx', whole: true };
    return { document, text: `${factsOf(manifest)}; for spreadsheets: a workbook, every cell a text` };
  }
  const row = progressRow(plainLine(path));
  const words = `Stopped. What is here stays in ${basename(path)}.part: the same command goes on with it.`;
  const { resumedAt } = await untilInterrupted(words, (signal) =>
    downloadTo(target, manifest, path, { force, onProgress: row.show, signal }).finally(row.end),
  );
  const went = resumedAt > 0 ? `, of which ${bytesText(resumedAt)} were here already` : '';
  return { document: { ...facts, resumedAt, whole: true }, text: `${factsOf(manifest)}${went}` };
}

/** Prints one line for a person, and what the manifest warns of. */
export function printDownloaded(manifest: Manifest, path: string, text: string): void {
  printOut(`${plainLine(path)}: ${text}.`);
  for (const warning of [...remarksOf(manifest), ...manifest.warnings]) printErr(`Warning: ${warning}`);
}

export function factsOf({ entity, date, execution, file }: Manifest): string {
  const rows = file.rows === null ? '' : `${manyText(file.rows, 'row')}, `;
  return `${entity} of ${date}, ${rows}${bytesText(file.bytes)}, size and CRC-32 as the manifest of ${plainLine(execution)} says`;
}

/** One live row on a terminal, nothing elsewhere. */
function progressRow(path: string) {
  const { stderr } = process;
  if (!stderr.isTTY) return { show: () => undefined, end: () => undefined };
  const update = createLogUpdate(stderr);
  let shownAt = 0;
  return {
    show: (moved: { bytes: number; totalBytes: number }) => {
      if (performance.now() - shownAt < 100) return;
      shownAt = performance.now();
      update(`${path}: ${movedText(moved)} (${Math.floor((moved.bytes / moved.totalBytes) * 100)} %)`);
    },
    end: () => update.clear(),
  };
}
