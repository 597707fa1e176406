import { createLogUpdate } from 'log-update';
import { type BackfillDate, calendarText, stateWord } from './calendar.ts';

/** Shows the calendar live on a terminal; elsewhere a line for each change, and the calendar at the end. */
export function createCalendarScreen(dates: BackfillDate[], stream: NodeJS.WriteStream) {
  const live = stream.isTTY === true;
  const update = createLogUpdate(stream);
  if (live) update(calendarText(dates, stream));
  return {
    changed: (date: BackfillDate) => {
      if (live) update(calendarText(dates, stream));
      else stream.write(`${lineOf(date)}\n`);
    },
    /** Leaves the calendar. */
    end: () => {
      if (!live) return void stream.write(`${calendarText(dates, stream)}\n`);
      update(calendarText(dates, stream));
      update.done();
    },
  };
}

function lineOf({ date, state, run, error }: BackfillDate): string {
  return [`${date}: ${stateWord(state)}`, run?.run, error].filter(Boolean).join(', ');
}
