import { createExportRecords, type ExportRecords } from '../../core/export/export-record.ts';
import { FakeLedger } from '../oauth/support/fake-ledger.ts';

/** A table in memory without delays. */
export const emptyLedger = () => new FakeLedger(async () => {});

/** The exports of earlier runs that CreateExport finds: by default none. */
export function exportRecords(ledger = emptyLedger()): ExportRecords {
  return createExportRecords(ledger.client, 'ledger');
}
