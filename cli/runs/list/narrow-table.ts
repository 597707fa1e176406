import { bytesText, durationText, plainLine } from '../../support/text.ts';
import { textTable } from '../../support/text-table.ts';
import type { Run } from '../run/run.ts';

/** Names end in random digits: those of commands in six, those that EventBridge gives in more. */
const RANDOM_END = /(?:^.{26,}|-\d{8}T\d{6}Z-)([0-9a-f]{6})$/;

/** Columns by their names. */
type Columns = Record<string, (run: Run) => string>;

/**
 * A table for a terminal without room for whole names: what stands twice is left out, the year, the date of a run where it is
 * that of its start, and what a name says besides its end. Rows and bytes stay: where the rest has no room beside them, the
 * outcome and the name are below.
 * @param outcome the cell of a run that says what became of it
 * @returns the heading, a text for each run, and the columns left out; `undefined` where no such table fits
 */
export function narrowTable(runs: Run[], outcome: (run: Run) => string, width: number) {
  const columns = columnsOf(runs, outcome);
  const fits = (lines: string[]) => lines.every((line) => line.length <= width);
  for (const leftOut of [[], ['took'], ['took', 'standing']]) {
    const lines = linesOf(columns, leftOut, runs);
    if (fits(lines)) return { lines, leftOut };
  }
  const leftOut = ['took', 'standing'];
  const [heading = '', ...texts] = linesOf(columns, [...leftOut, 'outcome', 'run'], runs);
  if (!fits([heading, ...texts])) return undefined;
  const below = runs.map((run) => {
    const both = [outcome(run), nameOf(run)].map((text) => `  ${plainLine(text)}`).join('');
    return both.length + 2 <= width ? `  ${both}` : `    ${plainLine(outcome(run))}\n    ${plainLine(nameOf(run))}`;
  });
  return { lines: [heading, ...texts.map((text, index) => `${text}\n${below[index]}`)], leftOut };
}

function columnsOf(runs: Run[], outcome: (run: Run) => string): Columns {
  const years = new Set(runs.map(({ startedAt }) => startedAt.slice(0, 4)));
  const from = years.size === 1 ? 5 : 0;
  const sameDate = runs.every(({ startedAt, date }) => date === null || startedAt.startsWith(date));
  return {
    'start (UTC)': ({ startedAt }) => startedAt.slice(from, 16).replace('T', ' '),
    entity: ({ entity }) => entity ?? '?',
    ...(!sameDate && { date: ({ date }: Run) => date?.slice(from) ?? '' }),
    outcome,
    took: ({ seconds }) => (seconds === null ? '' : durationText(seconds)),
    rows: ({ rows }) => rows?.toLocaleString('en-US') ?? '',
    bytes: ({ bytes }) => bytesText(bytes),
    standing: ({ standing }) => (standing === 'current' ? '' : (standing ?? '')),
    run: nameOf,
  };
}

const nameOf = ({ run }: Run) => RANDOM_END.exec(run)?.[1] ?? run;

function linesOf(columns: Columns, leftOut: string[], runs: Run[]): string[] {
  const shown = Object.entries(columns).filter(([name]) => !leftOut.includes(name));
  const headings = shown.map(([name]) => (name === 'standing' ? '' : name));
  return textTable(
    headings,
    runs.map((run) => shown.map(([, cellOf]) => plainLine(cellOf(run)))),
  ).split('\n');
}
