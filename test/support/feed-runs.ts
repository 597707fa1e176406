import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DeleteObjectCommand } from '@aws-sdk/client-s3';
import { headKey } from '../../core/changes/feed-keys.ts';
import { writeChanges } from '../../lambdas/write-changes/write-changes.ts';
import { writeTable } from '../../lambdas/write-table/write-table.ts';
import { deployment, runState } from './builders.ts';
import { testDeps } from './deps.ts';
import { manifestKeyOf } from './manifests.ts';
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

/** The dependencies with something that happens before an object is stored; if it throws, the object is not stored. */
export function beforePut<D extends ReturnType<typeof depsOn>>(deps: D, happens: (key: string) => unknown): D {
  const putParquet: typeof deps.bucket.putParquet = async (key, ...rest) => {
    await happens(key);
    return deps.bucket.putParquet(key, ...rest);
  };
  return { ...deps, bucket: { ...deps.bucket, putParquet } };
}

export const stateOf = (run: string) =>
  runState({ execution: run, manifestKey: manifestKeyOf(run), outcome: 'CHANGES_DUE' });

/** A night up to its table. */
export async function publish(world: FeedWorld, run: string, date: string, csv: string, settings?: FeedSettings) {
  await world.publish(csv, run, {}, undefined, { date });
  await world.pointLatest(run, date);
  await writeTable(runState({ manifestKey: manifestKeyOf(run) }), depsOn(world, settings));
}

export async function night(world: FeedWorld, run: string, date: string, csv: string, settings?: FeedSettings) {
  await publish(world, run, date, csv, settings);
  return writeChanges(stateOf(run), depsOn(world, settings));
}

/** The head, or the head of a chain without feeds if none exists. */
export const headOf = ({ store }: FeedWorld) =>
  JSON.parse(String(store.object(headKey('leads'))?.body ?? '{"sequence":0,"end":null,"pair":null}'));

/** Deletes an object as the lifecycle rules do. */
export const expire = ({ client }: FeedWorld, Key: string) =>
  client.send(new DeleteObjectCommand({ Bucket: 'exports', Key }));

/** Copies all objects that readers can see into a folder. */
export function copyTo({ store }: FeedWorld, dir: string): void {
  rmSync(dir, { recursive: true, force: true });
  for (const key of store.keys().filter((each) => /^(changes|tables)\//.test(each))) {
    mkdirSync(dirname(join(dir, key)), { recursive: true });
    writeFileSync(join(dir, key), store.object(key)?.body ?? '');
  }
}
