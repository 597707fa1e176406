import { statfsSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { sheetFacts } from '../../core/spreadsheet/sheet-facts.ts';
import { fileSource } from '../../core/zip/put-aside.ts';
import { givenJob, whenBegun } from '../support/children.ts';
import { costOf, type ProcessCost } from '../support/process-cost.ts';
import { columnsOf, type SheetJob, type SheetReading } from './sheets.ts';

/** Reads a spreadsheet to its end as PublishFile does, with all of it loaded, and reports what it cost. */

const { path, columns: count } = givenJob<SheetJob>();
const columns = columnsOf(count);
await import('../../lambdas/publish-file/handler.ts');
const { bavail, bsize } = statfsSync(tmpdir());
const limits = { contentBytes: Number.MAX_SAFE_INTEGER, diskBytes: bavail * bsize, secondsLeft: () => 900 };

await whenBegun(async (): Promise<SheetReading> => {
  const listed = { columns, fields: [], excepted: [], labels: {} };
  const reading: Omit<SheetReading, keyof ProcessCost> = { rows: 0, refused: null };
  const cost = await costOf(async () => {
    const read = sheetFacts(
      fileSource(path, statSync(path).size),
      { listed, covered: [], headerless: false, sheet: null, otherSheets: [] },
      limits,
    );
    await read.then(
      ({ content }) => {
        reading.rows = content.rows ?? 0;
      },
      (error: Error) => {
        reading.refused = `${error.name}: ${error.message}`;
      },
    );
  });
  return { ...cost, ...reading };
});
