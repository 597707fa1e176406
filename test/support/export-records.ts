import { createExportRecords, type ExportRecords } from '../../core/export/export-record.ts';
import { FakeTable } from '../oauth/support/fake-table.ts';

/** A table in memory, as fast as can be. */
export const emptyTable = () => new FakeTable(async () => {});

/** What CreateExport knows of the exports of earlier runs: by default nothing. */
export function exportRecords(table = emptyTable()): ExportRecords {
  return createExportRecords(table.client, 'ledger');
}
