import { ENTITIES, type Entity } from '../../core/config/entities.ts';
import type { Manifest } from '../../core/export/manifest.ts';
import type { Marked, Night } from '../../core/night/marker.ts';
import { CommandError, RUN_FAILED } from '../support/exit.ts';
import { printErr, printOut } from '../support/print.ts';
import type { Target } from '../support/target.ts';
import { defaultPath, downloadOne, printDownloaded } from './download-one.ts';
import { failed, findManifest } from './find.ts';
import { createManifests, type Manifests } from './manifests.ts';
import { refuseExisting } from './part.ts';
import { refuseUnread } from './read-file.ts';

interface Options {
  date?: string;
  /** The directory that the files go to. */
  output?: string;
  force: boolean;
  excel: boolean;
  json: boolean;
}

/** An entity whose file could not be had, and why. */
interface Missing {
  entity: Entity;
  error: string;
}

/**
 * Downloads the files of all entities of which something is published; of a date those of one revision of its night. Nothing is written before all are found, of the right
 * format, and their places free. Where one is missing or corrupt the others are downloaded, and the exit code is 1.
 */
export async function downloadAll(target: Target, { date, output, force, excel, json }: Options): Promise<void> {
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
    const done = await ifThere(manifest.entity, missing, downloadOne(target, manifest, { path, force, excel }));
    if (!done) continue;
    files.push(done.document);
    if (!json) printDownloaded(manifest, path, done.text);
  }
  for (const { error } of missing) printErr(error);
  if (json) printOut(JSON.stringify({ files, missing, revision: night?.revision ?? null }));
  if (missing.length > 0) process.exitCode = RUN_FAILED;
}

async function findAll(manifests: Manifests, date: string | undefined, night: Night | undefined) {
  const found: Manifest[] = [];
  const missing: Missing[] = [];
  for (const entity of ENTITIES) {
    const marked = night?.entities[entity];
    // An entity that is not configured has no file on any date.
    if (!marked && (await manifests.dates(entity)).length === 0) continue;
    const finding =
      night && marked
        ? ofNight(manifests, entity, marked, night)
        : findManifest(manifests, entity, date === undefined ? {} : { date });
    const manifest = await ifThere(entity, missing, finding);
    if (manifest) found.push(manifest);
  }
  if (found.length === 0) throw failed(missing[0]?.error ?? 'Nothing is published here yet: start a run first.');
  return { found, missing };
}

/** The file of one revision of a night: pointers may have been moved since. */
async function ofNight(
  manifests: Manifests,
  entity: Entity,
  { file, error }: Marked,
  { date, revision }: Pick<Night, 'date' | 'revision'>,
): Promise<Manifest> {
  const manifest = file && (await manifests.manifest(file.manifestKey));
  if (manifest) return manifest;
  const why = file ? `its manifest ${file.manifestKey} is gone` : (error ?? 'no run has published one');
  throw failed(`The night of ${date}, revision ${revision}, has no file of ${entity}: ${why}.`);
}

/** What concerns one entity alone does not stop the others. */
async function ifThere<T>(entity: Entity, missing: Missing[], work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof CommandError) || error.exitCode !== RUN_FAILED) throw error;
    missing.push({ entity, error: error.message });
    return undefined;
  }
}
