import { comparedManifestSchema, type LastColumns, lastColumnsOf } from '../../core/columns/columns.ts';
import type { Entity } from '../../core/config/entities.ts';
import { RunError } from '../../core/errors.ts';
import { isOfEarlierRelease } from '../../core/export/layout.ts';
import { latestPointerKey, pointerSchema } from '../../core/export/pointer.ts';
import { parseJson } from '../../core/json.ts';
import type { Bucket } from '../../core/storage/bucket.ts';

/** The columns of the newest published export. @throws RunError `StorageUnavailable`, which is waited out */
export async function lastColumns(read: Bucket['read'], entity: Entity): Promise<LastColumns> {
  try {
    const latest = await read(latestPointerKey(entity));
    if (!latest) return undefined;
    if (isOfEarlierRelease(latest.text)) return { unknown: 'it is of an earlier release, which counts as none' };
    const pointer = parseJson(pointerSchema, latest.text);
    if (!pointer) return { unknown: 'latest.json is no pointer of this software' };
    const object = await read(pointer.manifestKey);
    if (!object) return { unknown: `the manifest of ${pointer.date} is gone` };
    const manifest = parseJson(comparedManifestSchema, object.text);
    return manifest ? lastColumnsOf(manifest) : { unknown: `the manifest of ${pointer.date} cannot be read` };
  } catch (error) {
    // The night needs no comparison; what else is wrong with the bucket, PublishFile finds.
    if (!(error instanceof RunError) || error.transient) throw error;
    return { unknown: 'the bucket does not let its pointer or manifest be read, or the manifest is gone' };
  }
}
