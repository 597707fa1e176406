import { createManifests } from '../cli/data/manifests.ts';
import type { Target } from '../cli/support/target.ts';
import { bytesText } from '../cli/support/text.ts';
import { textTable } from '../cli/support/text-table.ts';
import type { FinishedRun } from './runs.ts';
import type { Screen } from './screen.ts';

/**
 * Shows the tables of a night, and whether each is of the run that the pointer of its date names.
 * @returns whether they all are
 */
export async function showTables(target: Target, runs: FinishedRun[], screen: Screen): Promise<boolean> {
  const manifests = createManifests(target);
  const written = runs.flatMap(({ report }) => (report.table ? [{ entity: report.entity, ...report.table }] : []));
  const rows = await Promise.all(
    written.map(async ({ entity, run, date, rows, bytes, key }) => {
      const named = (await manifests.pointer(entity, date))?.execution === run;
      return { named, cells: [entity, `${rows}`, bytesText(bytes), named ? 'yes' : 'no', key] };
    }),
  );
  const cells = rows.map((row) => row.cells);
  screen.line(`\nTables:\n${textTable(['entity', 'rows', 'bytes', 'of the published run', 'key'], cells)}\n`);
  for (const { entity, warnings } of written) for (const warning of warnings) screen.line(`${entity}: ${warning}`);
  return rows.length === runs.length && rows.every(({ named }) => named);
}
