import { CRM_EXPORT } from '../../core/commands.ts';
import type { Entity } from '../../core/config/entities.ts';
import type { Manifest } from '../../core/export/manifest.ts';
import { nameEnding } from '../runs/find-run.ts';
import { quoted } from '../support/command-options.ts';
import { usageError } from '../support/exit.ts';
import { printErr } from '../support/print.ts';
import { fileError, goneText, ifReadable, type Manifests } from './stored-manifests.ts';

/** Chooses the published file of a date, or the file of a run. Default: the newest published file. */
export interface FileChoice {
  date?: string;
  run?: string;
}

/**
 * Follows the pointer to the manifest.
 * @throws CommandError that names what is missing, and which dates or runs exist: 1 for a date, 2 for a run
 */
export async function findManifest(manifests: Manifests, entity: Entity, { date, run }: FileChoice): Promise<Manifest> {
  if (run !== undefined) return ofRun(manifests, entity, run);
  const pointer = await manifests.pointer(entity, date ?? 'latest');
  if (!pointer) throw fileError(await nothingFor(manifests, entity, date));
  const manifest = await manifests.manifest(pointer.manifestKey);
  if (manifest) return manifest;
  throw fileError(goneText(pointer, `the manifest ${pointer.manifestKey}`));
}

/**
 * The file that readers had before this one: the published file of the same date, else of the last date before it.
 * @throws CommandError (exit code 1) if there is no such file
 */
export async function publishedBefore(manifests: Manifests, { run, execution }: Manifest): Promise<Manifest> {
  const { entity, date } = run;
  const dates = await manifests.dates(entity);
  for (const one of dates.filter((each) => each <= date).reverse()) {
    const pointer = await ifReadable(manifests.pointer(entity, one), printErr);
    const manifest = pointer && pointer.execution !== execution && (await manifests.manifest(pointer.manifestKey));
    if (manifest) return manifest;
  }
  const see = `To see this file: ${CRM_EXPORT} peek ${entity} --run ${quoted(execution)}.`;
  throw fileError(`No export of ${entity} is published before ${date}, so there is no file to compare with. ${see}`);
}

/** The manifest of a run: by name or ARN, a unique end of the name, or the entity for its newest run with a file. */
async function ofRun(manifests: Manifests, entity: Entity, run: string): Promise<Manifest> {
  const name = run.split(':').at(-1) ?? run;
  const found = (await manifests.manifestOfRun(entity, name)) ?? (await byEnd(manifests, entity, name));
  if (found) return found;
  const see = `${CRM_EXPORT} list ${entity} --since 90d`;
  throw usageError(`No run "${name}" stored a file of ${entity}. The runs of the last 90 days: ${see}.`);
}

async function byEnd(manifests: Manifests, entity: Entity, end: string) {
  const names = await manifests.runNames(entity);
  const name = end === entity ? names[0] : nameEnding(end, names);
  return name === undefined ? undefined : manifests.manifestOfRun(entity, name);
}

async function nothingFor(manifests: Manifests, entity: Entity, date: string | undefined): Promise<string> {
  const dates = await manifests.dates(entity);
  if (dates.length === 0) {
    return `No export of ${entity} is published yet. Earlier runs: ${CRM_EXPORT} list ${entity}. To start one: ${CRM_EXPORT} start ${entity}.`;
  }
  if (date === undefined)
    return `There is no pointer to the latest export of ${entity}. The newest date with a pointer is ${dates.at(-1)}: name it with --date.`;
  const near = [dates.findLast((other) => other < date), dates.find((other) => other > date)];
  return `No export of ${entity} is published for ${date}; the nearest: ${near.filter(Boolean).join(' and ')}.`;
}
