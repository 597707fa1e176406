import type { Entity } from '../../core/config/entities.ts';
import type { Manifest } from '../../core/export/manifest.ts';
import type { Pointer } from '../../core/export/pointer.ts';
import { CommandError, RUN_FAILED } from '../support/exit.ts';
import type { Manifests } from './manifests.ts';

/** What to download: the newest date, a date, or a run by the name of its execution. */
export type Which = { latest: true } | { date: string } | { run: string };

/**
 * Follows the pointer to the manifest.
 * @throws CommandError (exit code 1) saying in one sentence what is not there, and what is
 */
export async function findManifest(manifests: Manifests, entity: Entity, which: Which): Promise<Manifest> {
  if ('run' in which) return ofRun(manifests, entity, which.run);
  const pointer = await manifests.pointer(entity, 'date' in which ? which.date : 'latest');
  if (!pointer) throw failed(await nothingFor(manifests, entity, which));
  const manifest = await manifests.manifest(pointer.manifestKey);
  if (manifest) return manifest;
  throw failed(goneText(entity, pointer, `the manifest ${pointer.manifestKey}`));
}

async function ofRun(manifests: Manifests, entity: Entity, run: string): Promise<Manifest> {
  const name = run.split(':').at(-1) ?? run;
  const found = await manifests.manifestOfRun(entity, name);
  if (found) return found.manifest;
  throw failed(`The run "${name}" published no file of ${entity}: list ${entity} names the runs that did.`);
}

async function nothingFor(manifests: Manifests, entity: Entity, which: Which): Promise<string> {
  const dates = await manifests.dates(entity);
  if (dates.length === 0) {
    return `Nothing of ${entity} is published here yet: start a run, or list ${entity} to see what became of those before.`;
  }
  if (!('date' in which))
    return `There is no pointer to the latest ${entity}, but one to ${dates.at(-1)}: name it with --date.`;
  const near = [dates.findLast((date) => date < which.date), dates.find((date) => date > which.date)];
  return `Nothing of ${entity} is published for ${which.date}; the nearest: ${near.filter(Boolean).join(' and ')}.`;
}

/** What a pointer or a manifest names, and is not there. */
export function goneText(
  entity: Entity,
  { date, keptUntil }: Pick<Pointer, 'date' | 'keptUntil'>,
  what: string,
  today: string = new Date().toISOString().slice(0, 10),
): string {
  if (keptUntil <= today) return `The ${entity} of ${date} have expired: they were kept until ${keptUntil}.`;
  return `The ${entity} of ${date} are published, but ${what} is gone, though it was to be kept until ${keptUntil}.`;
}

export function failed(sentence: string, cause?: unknown): CommandError {
  return new CommandError(sentence, RUN_FAILED, { cause });
}
