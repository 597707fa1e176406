import { latestPointerKey } from '../../core/export/pointer.ts';
import { writeChanges } from '../../lambdas/write-changes/write-changes.ts';
import { writeTable } from '../../lambdas/write-table/write-table.ts';
import { deployment, runState, STARTED_AT } from './builders.ts';
import { testDeps } from './deps.ts';
import { manifestKeyOf, manifestOf, pointerTo } from './manifests.ts';
import type { publishedRuns } from './published-run.ts';

/** Nights with feeds of leads, produced by the real steps. */

export type FeedWorld = Awaited<ReturnType<typeof publishedRuns>>;

export interface FeedSettings {
  tables?: object;
  changes?: object;
}

export function depsOn(world: FeedWorld, { tables = {}, changes = {} }: FeedSettings = {}) {
  const leads = { tables, changes: { key: 'id', ...changes } };
  const deps = { ...testDeps({ deployment: deployment({ entities: { leads } }) }), ...world.stored(1000) };
  return { ...deps, softwareVersion: '1.2.3', hashKey: async () => 'k'.repeat(64) };
}

export const stateOf = (run: string) =>
  runState({ execution: run, manifestKey: manifestKeyOf(run), outcome: 'CHANGES_DUE' });

/** A night up to its table. */
export async function publish(world: FeedWorld, run: string, date: string, csv: string, settings?: FeedSettings) {
  await world.publish(csv, run, {}, undefined, { date });
  const latest = pointerTo(manifestOf({ execution: run, date, startedAt: STARTED_AT }));
  await world.put(latestPointerKey('leads'), JSON.stringify(latest));
  await writeTable(runState({ manifestKey: manifestKeyOf(run) }), depsOn(world, settings));
}

/** A night up to its feed. */
export async function night(world: FeedWorld, run: string, date: string, csv: string, settings?: FeedSettings) {
  await publish(world, run, date, csv, settings);
  return writeChanges(stateOf(run), depsOn(world, settings));
}
