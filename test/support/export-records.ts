import { createExportRecords, type ExportRecords } from '../../core/export/export-record.ts';
import { FakeLedger } from '../oauth/support/fake-ledger.ts';

/** A table in memory, as fast as can be. */
export const emptyLedger = () => new FakeLedger(async () => {});

/** What CreateExport knows of the exports of earlier runs: by default nothing. */
export function exportRecords(ledger = emptyLedger()): ExportRecords {
  return createExportRecords(ledger.client, 'ledger');
}
