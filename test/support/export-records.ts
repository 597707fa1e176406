import { createExportRecords, type ExportRecords } from '../../core/export/export-record.ts';
import type { Invocation } from '../../core/step/step.ts';
import { FakeLedger } from '../oauth/support/fake-ledger.ts';
import { testDeps, unclaimed } from './deps.ts';
import { fakeBucket } from './fake-bucket.ts';
import type { fakeCrm } from './fake-crm.ts';

/** A table in memory without delays. */
export const emptyLedger = () => new FakeLedger(async () => {});

/** The exports of earlier runs that CreateExport finds: by default none. */
export function exportRecords(ledger = emptyLedger()): ExportRecords {
  return createExportRecords(ledger.client, 'ledger');
}

/** The dependencies of CreateExport: an empty bucket, no earlier export, and a start that no other execution has claimed. */
export function createDeps(crm: ReturnType<typeof fakeCrm>, overrides: Partial<Invocation> = {}) {
  const others = { claimSlot: unclaimed, records: exportRecords(), read: fakeBucket().read, softwareVersion: '1.2.3' };
  return { ...testDeps(overrides), crm, ...others };
}
