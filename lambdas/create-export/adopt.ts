import type { Entity } from '../../core/config/entities.ts';
import type { CrmClient } from '../../core/crm/crm-client.ts';
import { readStatus } from '../../core/crm/exports.ts';
import { RunError } from '../../core/errors.ts';
import type { ExportRecord, ExportRecords } from '../../core/export/export-record.ts';
import { readManifest } from '../../core/export/manifest.ts';
import { datePointerKey, manifestKeyOf, readPointer } from '../../core/export/pointer.ts';
import type { Run } from '../../core/step/states.ts';
import type { Invocation } from '../../core/step/step.ts';
import type { Bucket } from '../../core/storage/bucket.ts';

export interface AdoptDeps extends Invocation {
  crm: CrmClient;
  records: ExportRecords;
  /** Reads an object of the bucket. */
  read: Bucket['read'];
}

/** Time for a request to the ledger, reserved so that an export is recorded even if its answer comes late. */
export const RECORD_SECONDS = 10;

/**
 * The export of an earlier run, if it has the same request and date and the CRM still has it. Else `undefined`: the
 * log has the reason, and the run requests its own export.
 * @throws RunError transient errors, such as `CrmUnavailable`
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

/** Why the export cannot be adopted; `undefined` if the CRM has it and does not report it as failed. */
async function refusalOf(found: ExportRecord, entity: Entity, { crm, read }: AdoptDeps): Promise<string | undefined> {
  if (await hasNewerRecords(read, entity, found)) return 'a later export of its date is published';
  try {
    const { status } = await readStatus(crm, entity, found.exportId);
    return status === 'FAILED' ? 'the CRM reports that it failed' : undefined;
  } catch (error) {
    if (!(error instanceof RunError) || error.transient) throw error;
    return `the status request ended in ${error.name}`;
  }
}

/** Records the export for retries. If recording fails, the run continues, and a retry requests its own export. */
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

/**
 * Whether a later export of the date is published. Adopting an earlier one would replace it with older records,
 * because pointers follow the start of the run. If the pointer cannot be read, the export may be adopted.
 * @throws RunError `StorageUnavailable`, which is waited out
 */
async function hasNewerRecords(
  read: Bucket['read'],
  entity: Entity,
  { date, createdAt }: Pick<ExportRecord, 'date' | 'createdAt'>,
): Promise<boolean> {
  try {
    const { run: pointer } = await readPointer({ read }, datePointerKey(entity, date));
    const manifest = pointer && (await readManifest({ read }, manifestKeyOf(entity, pointer.execution)));
    return manifest !== undefined && Date.parse(manifest.run.createdAt) > Date.parse(createdAt);
  } catch (error) {
    if (!(error instanceof RunError) || error.transient) throw error;
    return false;
  }
}
