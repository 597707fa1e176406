import { failureText, outcomeWord } from '../cli/runs/run/words.ts';
import { bytesText, plainLine } from '../cli/support/text.ts';
import { textTable } from '../cli/support/text-table.ts';
import type { FinishedRun } from './runs.ts';
import type { Screen } from './screen.ts';

/** What came of the runs, one file opened, and where to look next. */
export function showSummary(screen: Screen, runs: FinishedRun[], bucket: string): void {
  screen.line(`\n${runsTable(runs)}\n`);
  for (const { report } of runs) {
    if (report.error) screen.line(`${report.entity}: ${failureText(report)}\n`);
  }
  for (const [warning, of] of warningsOf(runs)) screen.line(`${of.join(', ')}: ${warning}\n`);
  const shown = runs.find(({ published }) => published)?.published;
  if (!shown) return;
  const { file, entity } = shown.manifest;
  screen.line(`The first lines of ${file.key}:`);
  for (const line of firstLines(shown.start)) screen.line(`  ${line}`);
  screen.line(
    `\nReaders start at s3://${bucket}/published/entity=${entity}/latest.json, which names the manifest, which names the file.`,
  );
  screen.line(
    'Next: README.md says how to deploy this to an account; npm start -- --keep leaves it running here to look around.',
  );
}

export function runsTable(runs: FinishedRun[]): string {
  const rows = runs.map(({ report }) => [
    report.entity,
    outcomeWord(report),
    `${report.checks}`,
    `${report.rows ?? ''}`,
    bytesText(report.bytes),
    report.key ?? '',
  ]);
  return textTable(['entity', 'outcome', 'checks', 'rows', 'bytes', 'key'], rows);
}

/** Each warning once, with the entities that have it: a first night has the same for all. */
function warningsOf(runs: FinishedRun[]): Map<string, string[]> {
  const entities = new Map<string, string[]>();
  for (const { report, published } of runs)
    for (const warning of published?.manifest.warnings ?? [])
      entities.set(warning, [...(entities.get(warning) ?? []), report.entity]);
  return entities;
}

/** A few lines for a terminal: cut to its width, and nothing in them that a terminal would obey. */
function firstLines(start: Buffer): string[] {
  const lines = new TextDecoder().decode(start).split('\n').slice(0, 4);
  return lines.map((line) => plainLine(line).slice(0, 110));
}
