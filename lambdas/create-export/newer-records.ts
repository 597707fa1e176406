import * as z from 'zod/mini';
import type { Entity } from '../../core/config/entities.ts';
import { RunError } from '../../core/errors.ts';
import type { ExportRecord } from '../../core/export/export-record.ts';
import { datePointerKey, pointerSchema } from '../../core/export/pointer.ts';
import { parseJson } from '../../core/json.ts';
import type { Bucket } from '../../core/storage/bucket.ts';

const manifestSchema = z.object({ export: z.object({ createdAt: z.iso.datetime() }) });

/**
 * Whether readers have an export of the date that was made later. To adopt an earlier one would take them back, for pointers
 * go by the start of a run, and the adopting run starts last. What cannot be read hinders no adoption.
 * @throws RunError `StorageUnavailable`, which is waited out
 */
export async function hasNewerRecords(
  read: Bucket['read'],
  entity: Entity,
  { date, createdAt }: Pick<ExportRecord, 'date' | 'createdAt'>,
): Promise<boolean> {
  try {
    const pointer = parseJson(pointerSchema, (await read(datePointerKey(entity, date)))?.text);
    const manifest = pointer && parseJson(manifestSchema, (await read(pointer.manifestKey))?.text);
    return manifest !== undefined && Date.parse(manifest.export.createdAt) > Date.parse(createdAt);
  } catch (error) {
    if (!(error instanceof RunError) || error.transient) throw error;
    return false;
  }
}
