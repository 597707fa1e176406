import { CRM_EXPORT } from '../../core/commands.ts';
import type { Entity } from '../../core/config/entities.ts';
import type { Manifest } from '../../core/export/manifest.ts';
import type { Pointer } from '../../core/export/pointer.ts';
import { nameEnding } from '../runs/find-run.ts';
import { CommandError, RUN_FAILED, USAGE } from '../support/exit.ts';
import type { Manifests } from './stored-manifests.ts';

/** Which file to find: that of a date or of a run (by its execution name); without both that of the newest date. */
export interface Which {
  date?: string;
  run?: string;
}

/**
 * Follows the pointer to the manifest.
 * @throws CommandError that names what is missing, and which dates or runs exist: 1 for a date, 2 for a run
 */
export async function findManifest(manifests: Manifests, entity: Entity, { date, run }: Which): Promise<Manifest> {
  if (run !== undefined) return ofRun(manifests, entity, run);
  const pointer = await manifests.pointer(entity, date ?? 'latest');
  if (!pointer) throw failed(await nothingFor(manifests, entity, date));
  const manifest = await manifests.manifest(pointer.manifestKey);
  if (manifest) return manifest;
  throw failed(goneText(pointer, `the manifest ${pointer.manifestKey}`));
}

/** The manifest of a run: by name or ARN, a unique end of the name, or the entity for its newest run with a file. */
async function ofRun(manifests: Manifests, entity: Entity, run: string): Promise<Manifest> {
  const name = run.split(':').at(-1) ?? run;
  const found = (await manifests.manifestOfRun(entity, name)) ?? (await byEnd(manifests, entity, name));
  if (found) return found.manifest;
  const see = `${CRM_EXPORT} list ${entity} --since 90d`;
  throw new CommandError(`No run "${name}" stored a file of ${entity}. The runs of the last 90 days: ${see}.`, USAGE);
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
    return `There is no pointer to the latest ${entity}, but one to ${dates.at(-1)}: name it with --date.`;
  const near = [dates.findLast((other) => other < date), dates.find((other) => other > date)];
  return `No export of ${entity} is published for ${date}; the nearest: ${near.filter(Boolean).join(' and ')}.`;
}

/** The message for a missing object that a pointer or a manifest names. */
export function goneText(
  { entity, date, keptUntil }: Pick<Pointer, 'entity' | 'date' | 'keptUntil'>,
  what: string,
  today = new Date().toISOString().slice(0, 10),
): string {
  if (keptUntil <= today) return `The ${entity} of ${date} have expired: they were kept until ${keptUntil}.`;
  return `The ${entity} of ${date} are published, but ${what} is missing, although it should be kept until ${keptUntil}.`;
}

export function failed(sentence: string, cause?: unknown): CommandError {
  return new CommandError(sentence, RUN_FAILED, { cause });
}
