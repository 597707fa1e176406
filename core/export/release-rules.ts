import { CRM_EXPORT } from '../commands.ts';
import { isReleasable } from '../gate/words.ts';
import type { Manifest } from './manifest.ts';
import { compareRuns, type OrderedRun } from './pointer.ts';

/** Why the file of a run cannot be released, in a sentence; `undefined` where it can. */
export function whyNotReleased(run: string, manifest: Manifest | undefined, newNormal: boolean): string | undefined {
  const why = reasonOf(manifest, newNormal);
  return why && `The run ${run} cannot be released: ${why}.`;
}

function reasonOf(manifest: Manifest | undefined, newNormal: boolean): string | undefined {
  if (!manifest) return `it has stored no file, is under way or is not known; to list the runs: ${CRM_EXPORT} list`;
  const { state, guards, kind } = manifest;
  if (state === 'published') return 'no guard has stopped its file, which is published';
  if (state === 'unpublished') return 'its plan is another than the configured one, no guard has stopped it';
  if (guards && !isReleasable(guards)) return 'its file holds what the configuration leaves out';
  if (newNormal && kind === 'partial') return 'its plan is another than the configured one, whose history goes on';
  return undefined;
}

/**
 * Why there is nothing to move, in a sentence; `undefined` where there is.
 * @param others the other pointers that it may move
 * @param ours whether this release may have moved some of them
 */
export function whyPublished(
  manifest: Manifest,
  ofDate: OrderedRun | undefined,
  others: (OrderedRun | undefined)[],
  ours = false,
): string | undefined {
  const aheadOf = (run: OrderedRun | undefined) => (run ? compareRuns(manifest, run) : 1);
  if (aheadOf(ofDate) < 0) return overtakenText(manifest);
  if (ours || [ofDate, ...others].some((run) => aheadOf(run) > 0)) return undefined;
  return `The run ${manifest.execution} is published already: its date names it.`;
}

export function overtakenText({ entity, date, execution, kind }: Manifest): string {
  const other = kind === 'partial' ? 'A later run, or one of the configured plan,' : 'A later run';
  return `${other} of ${entity} is published for ${date}: the run ${execution} is not released, for pointers never go back.`;
}
