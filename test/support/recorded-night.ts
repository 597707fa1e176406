import { ENTITIES, type Entity } from '../../core/config/entities.ts';
import { LAYOUT } from '../../core/export/layout.ts';
import { manifestText } from '../../core/export/manifest.ts';
import { datePointerKey } from '../../core/export/pointer.ts';
import { type Night, nightKey } from '../../core/night/night-record.ts';
import type { FakeBucket } from './fake-bucket.ts';
import { type ManifestChanges, manifestKeyOf, manifestOf, pointerTo } from './manifests.ts';

/**
 * The record of a date, and its key. All entities except the missing ones have the files of their runs `ENTITY-DATE`.
 */
export function recordedNight(
  date: string,
  lacking: readonly Entity[] = [],
  revision = 3,
): [key: string, text: string] {
  const entities: Night['entities'] = {};
  for (const entity of ENTITIES) {
    const run = `${entity}-${date}`;
    const file = { run, manifestKey: manifestKeyOf(run, entity), key: 'k', rows: 1, bytes: 1, crc32: '' };
    const marked = lacking.includes(entity) ? null : file;
    entities[entity] = { file: marked, tableVersion: null, table: null, feed: null, error: null };
  }
  const night: Night = { schemaVersion: LAYOUT, date, revision, complete: lacking.length === 0, entities };
  return [nightKey(date), JSON.stringify(night)];
}

/** Stores the manifest of a run, and the pointer of its date. */
export function publishRun(bucket: Pick<FakeBucket, 'put'>, changes: ManifestChanges & { entity: Entity }): void {
  const manifest = manifestOf(changes);
  const { entity, date } = manifest.run;
  bucket.put(manifestKeyOf(manifest.execution, entity), manifestText(manifest));
  bucket.put(datePointerKey(entity, date), JSON.stringify(pointerTo(manifest)));
}
