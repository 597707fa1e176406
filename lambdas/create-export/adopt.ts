import * as z from 'zod/mini';
import type { Entity } from '../../core/config/entities.ts';
import type { CrmClient } from '../../core/crm/crm-client.ts';
import { readStatus } from '../../core/crm/exports.ts';
import { RunError } from '../../core/errors.ts';
import type { ExportRecord, ExportRecords } from '../../core/export/export-record.ts';
import { datePointerKey, pointerSchema } from '../../core/export/pointer.ts';
import { parseJson } from '../../core/json.ts';
import type { Run } from '../../core/step/states.ts';
import type { Invocation } from '../../core/step/step.ts';
import type { Bucket } from '../../core/storage/bucket.ts';

export interface AdoptDeps extends Invocation {
  crm: CrmClient;
  records: ExportRecords;
  /** Reads an object of the bucket. */
  read: Bucket['read'];
}

/** What a request for the ledger may take, so that a create whose answer comes last is still recorded. */
export const RECORD_SECONDS = 10;

/**
 * The export of an earlier run, where it is of the same request and date and the CRM still has it. Else `undefined`, and
 * the log says why: the run requests one of its own.
 * @throws RunError what passes by itself, such as `CrmUnavailable`
 */
export async function adoptExport(
  earlier: string,
  wanted: Pick<ExportRecord, 'fingerprint' | 'date'> & { entity: Entity },
  execution: string,
  deps: AdoptDeps,
): Promise<ExportRecord | undefined> {
  const found = await deps.records.adopt(earlier, wanted, execution);
  const refused = 'refused' in found ? found.refused : await refusalOf(found, wanted.entity, deps);
  deps.log.info(refused === undefined ? 'adopted the export of an earlier run' : `adopted no export: ${refused}`, {});
  return 'refused' in found || refused !== undefined ? undefined : found;
}

/** `undefined` where the CRM has the export and goes on with it. */
async function refusalOf(found: ExportRecord, entity: Entity, { crm, read }: AdoptDeps): Promise<string | undefined> {
  if (await hasNewerRecords(read, entity, found)) return 'a later export of its date is published';
  try {
    const { status } = await readStatus(crm, entity, found.exportId);
    return status === 'FAILED' ? 'the CRM reports that it failed' : undefined;
  } catch (error) {
    if (!(error instanceof RunError) || error.transient) throw error;
    return `its status was answered with ${error.name}`;
  }
}

/** Where it cannot be recorded the run goes on, and a retry requests an export of its own. */
export async function recordExport(
  execution: string,
  { exportId, createdAt, fingerprint, date }: Run,
  { records, now, log }: AdoptDeps,
): Promise<void> {
  try {
    await records.keep(execution, { exportId, createdAt, fingerprint, date }, now());
  } catch (error) {
    if (!(error instanceof RunError)) throw error;
    log.error('left its export unrecorded', { error: error.name });
  }
}

const manifestSchema = z.object({ export: z.object({ createdAt: z.iso.datetime() }) });

/**
 * Whether readers have an export of the date that was made later. To adopt an earlier one would take them back, for pointers
 * go by the start of a run, and the adopting run starts last. What cannot be read hinders no adoption.
 * @throws RunError `StorageUnavailable`, which is waited out
 */
async function hasNewerRecords(
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
