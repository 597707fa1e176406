import { feedKey } from '../changes/chain/feed-keys.ts';
import type { Deployment } from '../config/deployment.ts';
import type { Entity } from '../config/entities.ts';
import { readManifest } from '../export/manifest.ts';
import { datePointerKey, readPointer, runPrefix } from '../export/pointer.ts';
import { type Bucket, writeOver } from '../storage/bucket.ts';
import type { ParquetObjects } from '../storage/parquet-objects.ts';
import { metAnotherWrite } from '../storage/storage-errors.ts';
import { standingTable } from '../table/standing-table.ts';
import { tableKey } from '../table/table-key.ts';
import { startsOfNight } from './expected.ts';
import { completeKey, type Marked, nightKey, nightText, readNight } from './marker.ts';
import type { Waited } from './next-night.ts';
import type { NightStore } from './record-night.ts';

export interface NightDeps {
  bucket: Pick<Bucket, 'read' | 'putOnce' | 'replace'>;
  objects: Pick<ParquetObjects, 'head'>;
  deployment: Deployment;
}

export function nightStore(date: string, deps: NightDeps): NightStore {
  const { bucket, deployment } = deps;
  return {
    date,
    expected: () => expectedOf(deployment, date),
    writesTables: (entity) => deployment.entities[entity].tables !== undefined,
    read: () => readNight(bucket, date),
    look: async (entity, tableVersion, known) => {
      const file = await fileOf(entity, date, known?.file ?? null, bucket);
      if (!file) return { file, table: null, feed: null };
      const table = await tableOf(entity, date, tableVersion, file.run, deps);
      return { file, table, feed: await feedOf(entity, { date, run: file.run }, deps) };
    },
    write: (night, etag) => {
      return unlessMet(() => writeOver(bucket, nightKey(date), nightText(night), etag));
    },
    // One that is there already is this one.
    tell: (night) => unlessMet(() => bucket.putOnce(completeKey(night), nightText(night)).then(() => true)),
  };
}

function expectedOf(deployment: Deployment, date: string): Waited {
  const entities = [...startsOfNight(deployment, date).keys()];
  return new Map(entities.map((entity) => [entity, deployment.entities[entity].tables?.version ?? null]));
}

/** `false` where another conditional write of the key is under way. */
async function unlessMet(write: () => Promise<boolean>): Promise<boolean> {
  try {
    return await write();
  } catch (error) {
    if (metAnotherWrite(error)) return false;
    throw error;
  }
}

/** What readers of the date have. The file of a partial run is not the night's. */
async function fileOf(
  entity: Entity,
  date: string,
  known: Marked['file'],
  bucket: NightDeps['bucket'],
): Promise<Marked['file']> {
  const { run: pointer } = await readPointer(bucket, datePointerKey(entity, date));
  if (!pointer || pointer.kind === 'partial') return null;
  const run = pointer.execution;
  // Manifests are written once.
  if (known?.run === run) return known;
  const manifestKey = `${runPrefix(entity, run)}_manifest.json`;
  const manifest = await readManifest(bucket, manifestKey);
  if (!manifest) return null;
  const { key, rows, bytes, crc32 } = manifest.file;
  return { run, manifestKey, key, rows, bytes, crc32 };
}

/** The table of this run, under the version of today or of when the night began. */
async function tableOf(
  entity: Entity,
  date: string,
  version: number | null,
  run: string,
  { objects, deployment }: NightDeps,
): Promise<Marked['table']> {
  if (version === null) return null;
  for (const each of new Set([deployment.entities[entity].tables?.version ?? version, version])) {
    const key = tableKey(entity, date, each);
    const table = await standingTable(objects, key);
    if (table?.run === run) return { key, etag: table.etag };
  }
  return null;
}

/** The feed that ends at this run. Of an entity without feeds nothing is looked for. */
async function feedOf(
  entity: Entity,
  to: { date: string; run: string },
  { objects, deployment }: NightDeps,
): Promise<Marked['feed']> {
  if (!deployment.entities[entity].changes) return null;
  const key = feedKey(entity, to);
  const feed = await objects.head(key);
  return feed ? { key, etag: feed.etag } : null;
}
