import { basename, join } from 'node:path';
import { ENTITIES, type Entity } from '../../core/config/entities.ts';
import type { Manifest } from '../../core/export/manifest.ts';
import type { EntityOfNight, Night } from '../../core/night/night-record.ts';
import { pathArgument } from '../support/command-options.ts';
import { CommandError, RUN_FAILED, usageError } from '../support/exit.ts';
import { liveLine, printErr, printJson, printOut } from '../support/print.ts';
import { connect, type Target, type TargetOptions } from '../support/target.ts';
import { bytesText, countText, printableLine } from '../support/text.ts';
import { untilInterrupted } from '../support/until-interrupted.ts';
import { downloadInto, downloadTo, refuseExisting, wholeOutput } from './download-part.ts';
import { downloadForExcel } from './excel.ts';
import { type FileChoice, findManifest } from './find-manifest.ts';
import { refuseUnread } from './stored-file.ts';
import { createManifests, fileError, type Manifests, publicationWarnings } from './stored-manifests.ts';

interface Options extends TargetOptions, FileChoice {
  all?: boolean;
  excel?: boolean;
  output?: string;
  force?: boolean;
  json?: boolean;
}

/** Runs the command `download`, which changes nothing in the deployment. */
export async function download(entity: Entity | undefined, options: Options): Promise<void> {
  const { output, excel = false, force = false, json = false } = options;
  refuseContradiction(entity, options);
  if (entity === undefined) return downloadAll(options);
  // Checked before the AWS calls, which take seconds.
  if (output !== undefined && output !== '-') await refuseExisting(output, force);
  const target = await connect(options);
  const manifest = await findManifest(createManifests(target), entity, options);
  if (output === '-') {
    await downloadInto(target, manifest, wholeOutput());
    for (const warning of publicationWarnings(manifest)) printErr(`Warning: ${warning}`);
    return printErr(`Complete: ${factsOf(manifest)}.`);
  }
  const document = await downloadOne(target, manifest, output ?? defaultPath(manifest, excel), options);
  if (json) printJson(document);
}

/** @throws CommandError (exit code 2) */
function refuseContradiction(entity: Entity | undefined, { all, run, output, json, excel }: Options): void {
  const no = (sentence: string) => usageError(sentence);
  if ((entity === undefined) !== (all === true)) throw no('Name one entity, or add --all.');
  if (all && run !== undefined) throw no('A run belongs to one entity: name the entity, without --all.');
  if (output !== '-') return;
  if (json) throw no('Standard output takes the file or the JSON document, not both.');
  if (all || excel) throw no('Standard output takes one file as it is: no --all or --excel.');
}

/** The default path of a download. @param directory default: the current directory */
function defaultPath({ run: { entity, date }, file }: Manifest, excel: boolean, directory?: string): string {
  // All extensions of the key, such as `.csv.gz`. A workbook is not the verified file, so it has another name.
  const name = `${entity}-${date}${excel ? '.excel.xlsx' : (/\.[^/]*$/.exec(basename(file.key))?.[0] ?? '')}`;
  return directory === undefined ? pathArgument(name) : join(directory, name);
}

/**
 * Downloads a file with a progress row, and prints one line about it and the warnings of its manifest.
 * @returns the document of `--json`, which replaces the lines
 */
async function downloadOne(target: Target, manifest: Manifest, path: string, options: Options): Promise<object> {
  const { force = false, excel = false } = options;
  const { execution, file, state } = manifest;
  const { entity, date, kind } = manifest.run;
  const { bytes, rows, crc32 } = file;
  const facts = { entity, date, run: execution, state, kind, file: path, bytes, rows, crc32 };
  if (excel) {
    const words = 'Stopped. No file was written: a workbook is always made from the start.';
    await untilInterrupted(words, (signal) => downloadForExcel(target, manifest, path, { force, signal }));
    printDownloaded(manifest, path, '; written as a workbook in which every cell is text', options);
    return { ...facts, excel: 'xlsx', whole: true };
  }
  const row = progressRow(printableLine(path));
  const words = `Stopped. The part that was downloaded is in ${basename(path)}.part: the same command continues from there.`;
  const resumedAt = await untilInterrupted(words, (signal) =>
    downloadTo(target, manifest, path, { force, onProgress: row.show, signal }).finally(row.end),
  );
  const went = resumedAt > 0 ? `, of which ${bytesText(resumedAt)} were here already` : '';
  printDownloaded(manifest, path, went, options);
  return { ...facts, resumedAt, whole: true };
}

function printDownloaded(manifest: Manifest, path: string, how: string, { json }: Options): void {
  if (json) return;
  printOut(`${printableLine(path)}: ${factsOf(manifest)}${how}.`);
  for (const warning of [...publicationWarnings(manifest), ...manifest.warnings]) printErr(`Warning: ${warning}`);
}

function factsOf({ run: { entity, date }, execution, file }: Manifest): string {
  const rows = file.rows === null ? '' : `${countText(file.rows, 'row')}, `;
  return `${entity} of ${date}, ${rows}${bytesText(file.bytes)}, size and CRC-32 match the manifest of ${printableLine(execution)}`;
}

/** A progress row on a terminal; elsewhere it prints nothing. */
function progressRow(path: string) {
  const { stderr } = process;
  if (!stderr.isTTY) return { show: () => undefined, end: () => undefined };
  const row = liveLine(stderr);
  let shownAt = 0;
  return {
    show: ({ bytes, totalBytes }: { bytes: number; totalBytes: number }) => {
      if (performance.now() - shownAt < 100) return;
      shownAt = performance.now();
      const share = Math.floor((bytes / totalBytes) * 100);
      row.show(`${path}: ${bytesText(bytes)} of ${bytesText(totalBytes)} (${share} %)`);
    },
    end: row.clear,
  };
}

/** An entity whose file could not be downloaded, and why. */
interface Missing {
  entity: Entity;
  error: string;
}

/**
 * Downloads the published files of all entities; with a date, those of one revision of that night. Before it writes,
 * it finds all files and checks formats and paths. If one is missing or corrupt, it downloads the rest, then exits 1.
 */
async function downloadAll(options: Options): Promise<void> {
  const { force = false, excel = false, json, date, output } = options;
  const target = await connect(options);
  const manifests = createManifests(target);
  const night = date === undefined ? undefined : await manifests.night(date);
  const { found, missing } = await findAll(manifests, date, night);
  const wanted = found.map((manifest) => ({ manifest, path: defaultPath(manifest, excel, output) }));
  for (const { manifest, path } of wanted) {
    if (excel) refuseUnread(manifest);
    await refuseExisting(path, force);
  }
  const files: object[] = [];
  for (const { manifest, path } of wanted) {
    const document = await ifThere(manifest.run.entity, missing, downloadOne(target, manifest, path, options));
    if (document) files.push(document);
  }
  for (const { error } of missing) printErr(error);
  if (json) printJson({ files, missing, revision: night?.revision ?? null });
  if (missing.length > 0) process.exitCode = RUN_FAILED;
}

async function findAll(manifests: Manifests, date: string | undefined, night: Night | undefined) {
  const found: Manifest[] = [];
  const missing: Missing[] = [];
  for (const entity of ENTITIES) {
    const marked = night?.entities[entity];
    // An entity without any published date is not configured.
    if (!marked && (await manifests.dates(entity)).length === 0) continue;
    const finding =
      night && marked
        ? ofNight(manifests, entity, marked, night)
        : findManifest(manifests, entity, date === undefined ? {} : { date });
    const manifest = await ifThere(entity, missing, finding);
    if (manifest) found.push(manifest);
  }
  if (found.length === 0) throw fileError(missing[0]?.error ?? 'No export is published yet: start a run first.');
  return { found, missing };
}

/** The file of one revision of a night, because pointers may have moved since. */
async function ofNight(
  manifests: Manifests,
  entity: Entity,
  { file, error }: EntityOfNight,
  { date, revision }: Night,
) {
  const manifest = file && (await manifests.manifest(file.manifestKey));
  if (manifest) return manifest;
  const why = file ? `its manifest ${file.manifestKey} is gone` : (error ?? 'no run has published a file');
  throw fileError(`The night of ${date}, revision ${revision}, has no file of ${entity}: ${why}.`);
}

/** Records an error that concerns one entity only, so that the other downloads continue. */
async function ifThere<T>(entity: Entity, missing: Missing[], work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof CommandError) || error.exitCode !== RUN_FAILED) throw error;
    missing.push({ entity, error: error.message });
    return undefined;
  }
}
