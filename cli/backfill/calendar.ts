import { colorsFor, manyText } from '../support/text.ts';

/** A date of a backfill. */
export interface BackfillDate {
  date: string;
  state: 'published' | 'running' | 'failed' | 'missing';
  /** The execution, where this command knows one. */
  run: string | null;
  /** Why it failed. */
  error: string | null;
}

const MARKS = { published: '✓', running: '…', failed: '✗', missing: '·' };
const WORDS = { published: 'published', running: 'running', failed: 'failed', missing: 'to do' };
const DAYS_OF_MONTH = 31;

/** A row for each month, a mark for each date, and what the marks mean. */
export function calendarText(dates: BackfillDate[], stream: { isTTY?: boolean }): string {
  const colors = colorsFor(stream);
  const paint = { published: colors.green, running: colors.cyan, failed: colors.red, missing: colors.dim };
  const months = Map.groupBy(dates, ({ date }) => date.slice(0, 7));
  const rows = [...months].map(([month, ofMonth]) => {
    const marks = Array<string>(DAYS_OF_MONTH).fill(' ');
    for (const { date, state } of ofMonth) marks[Number(date.slice(8)) - 1] = paint[state](MARKS[state]);
    return `${month}  ${marks.join('')}`.trimEnd();
  });
  const states = Object.keys(MARKS) as BackfillDate['state'][];
  const legend = states.map((state) => {
    const count = dates.filter((each) => each.state === state).length;
    return `${paint[state](MARKS[state])} ${count.toLocaleString('en-US')} ${WORDS[state]}`;
  });
  const days = '1   5    10   15   20   25   30';
  return [colors.dim(`         ${days}`), ...rows, `${manyText(dates.length, 'date')}: ${legend.join('  ')}`].join(
    '\n',
  );
}
