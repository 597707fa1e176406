import { crc32 } from 'node:zlib';
import type { Entity } from '../../../../core/config/entities.ts';
import type { Manifest } from '../../../../core/export/manifest.ts';
import { datePointerKey, latestPointerKey } from '../../../../core/export/pointer.ts';
import { crc32Text } from '../../../../transfer/base/crc32.ts';
import { type ManifestChanges, manifestKeyOf, manifestOf, pointerTo } from '../../../support/manifests.ts';
import type { World } from './world.ts';

export interface Publication {
  entity?: Entity;
  date?: string;
  execution?: string;
  content?: string | Buffer;
  manifest?: ManifestChanges;
  pointers?: ('date' | 'latest')[];
}

/** Stores a published run in the bucket: file, manifest, pointers. */
export function publishTo({ objects, written }: World, publication: Publication = {}): Manifest {
  const { entity = 'leads', date = '2026-11-20', content = 'id,name\n1,a\n' } = publication;
  const { execution = `${entity}-night`, pointers = ['date', 'latest'] } = publication;
  const bytes = Buffer.from(content);
  const { file, ...changes } = publication.manifest ?? {};
  const manifest = manifestOf({
    entity,
    date,
    execution,
    ...changes,
    file: { bytes: bytes.length, crc32: crc32Text(crc32(bytes)), ...file },
  });
  const put = (key: string, document: object) => objects.set(key, Buffer.from(JSON.stringify(document)));
  objects.set(`runs/entity=${entity}/run=${execution}/${entity}.csv`, bytes);
  put(manifestKeyOf(execution, entity), manifest);
  if (pointers.includes('date')) put(datePointerKey(entity, date), pointerTo(manifest));
  if (pointers.includes('latest')) put(latestPointerKey(entity), pointerTo(manifest));
  written.set(manifestKeyOf(execution, entity), manifest.file.storedAt);
  return manifest;
}
