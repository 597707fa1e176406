import { bytesText, durationText, plainLine } from '../../support/text.ts';
import { textTable } from '../../support/text-table.ts';
import type { Run } from '../run/run.ts';

/** Names end in random digits: those of commands in six, those that EventBridge gives in more. */
const RANDOM_END = /(?:^.{26,}|-\d{8}T\d{6}Z-)([0-9a-f]{6})$/;

/**
 * A table for a terminal without room for whole names: what stands twice is left out, the year, the date of a run where it is
 * that of its start, and what a name says besides its end. Rows and bytes stay.
 * @param outcome the cell of a run that says what became of it
 * @returns the heading, a line for each run, and the columns left out; `undefined` where no such table fits
 */
export function narrowTable(runs: Run[], outcome: (run: Run) => string, width: number) {
  const years = new Set(runs.map(({ startedAt }) => startedAt.slice(0, 4)));
  const from = years.size === 1 ? 5 : 0;
  const sameDate = runs.every(({ startedAt, date }) => date === null || startedAt.startsWith(date));
  const columns: Record<string, (run: Run) => string> = {
    'start (UTC)': ({ startedAt }) => startedAt.slice(from, 16).replace('T', ' '),
    entity: ({ entity }) => entity ?? '?',
    ...(!sameDate && { date: ({ date }: Run) => date?.slice(from) ?? '' }),
    outcome,
    took: ({ seconds }) => (seconds === null ? '' : durationText(seconds)),
    rows: ({ rows }) => rows?.toLocaleString('en-US') ?? '',
    bytes: ({ bytes }) => bytesText(bytes),
    standing: ({ standing }) => (standing === 'current' ? '' : (standing ?? '')),
    run: ({ run }) => RANDOM_END.exec(run)?.[1] ?? run,
  };
  for (const leftOut of [[], ['took'], ['took', 'standing']]) {
    const shown = Object.entries(columns).filter(([name]) => !leftOut.includes(name));
    const headings = shown.map(([name]) => (name === 'standing' ? '' : name));
    const cells = runs.map((run) => shown.map(([, cellOf]) => plainLine(cellOf(run))));
    const lines = textTable(headings, cells).split('\n');
    if (lines.every((line) => line.length <= width)) return { lines, leftOut };
  }
  return undefined;
}
