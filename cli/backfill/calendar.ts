import { OUTCOMES } from '../runs/run/outcomes.ts';
import type { Run } from '../runs/run/run.ts';
import { painterOf, SIGNS } from '../runs/run/words.ts';
import { colorsFor, manyText } from '../support/text.ts';

/** A date of a backfill. */
export interface BackfillDate {
  date: string;
  state: 'published' | 'running' | 'failed' | 'missing';
  /** The run of the date, where this command knows one. */
  run: Run | null;
  /** Why it failed. */
  error: string | null;
}

const { published, running, failed } = OUTCOMES;
const STATES = { published, running, failed, missing: { word: 'to do', tone: 'idle' } } as const;
const DAYS_OF_MONTH = 31;

/** A row for each month, a mark for each date, and what the marks mean. */
export function calendarText(dates: BackfillDate[], stream: { isTTY?: boolean }): string {
  const colors = colorsFor(stream);
  const paint = painterOf(stream);
  const markOf = (state: BackfillDate['state']) => paint(STATES[state].tone)(SIGNS[STATES[state].tone]);
  const months = Map.groupBy(dates, ({ date }) => date.slice(0, 7));
  const rows = [...months].map(([month, ofMonth]) => {
    const marks = Array<string>(DAYS_OF_MONTH).fill(' ');
    for (const { date, state } of ofMonth) marks[Number(date.slice(8)) - 1] = markOf(state);
    return `${month}  ${marks.join('')}`.trimEnd();
  });
  const states = Object.keys(STATES) as BackfillDate['state'][];
  const legend = states.map((state) => {
    const count = dates.filter((each) => each.state === state).length;
    return `${markOf(state)} ${count.toLocaleString('en-US')} ${stateWord(state)}`;
  });
  const days = '1   5    10   15   20   25   30';
  return [colors.dim(`         ${days}`), ...rows, `${manyText(dates.length, 'date')}: ${legend.join('  ')}`].join(
    '\n',
  );
}

export function stateWord(state: BackfillDate['state']): string {
  return STATES[state].word;
}
