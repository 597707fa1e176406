import { type RelativeDate, relativeDateOf } from '../config/relative-date.ts';
import { dateAfter, instantOf } from '../schedule/local-time.ts';
import type { ExportRequest } from '../step/states.ts';

/** The day that a run is for. */
export interface RunDay {
  date: string;
  timeZone: string;
}

/** Resolves the relative dates of a request, which only filters can contain. Equal days give equal requests. */
export function resolveDates({ columns, ...others }: ExportRequest, day: RunDay): ExportRequest {
  const text = JSON.stringify(others, (_, value) => {
    const relative = relativeDateOf(value);
    return relative ? textOf(relative, day) : value;
  });
  return { columns, ...JSON.parse(text) };
}

/** The text of a relative date. An instant is the first instant of the local date. */
function textOf({ from, days, as }: RelativeDate, { date, timeZone }: RunDay): string {
  const counted = dateAfter(startOf(from, date), days);
  return as === 'date' ? counted : instantOf(timeZone, counted, '00:00').toISOString();
}

/** A week begins on Monday (ISO 8601). */
function startOf(from: RelativeDate['from'], date: string): string {
  if (from === 'monthStart') return date.replace(/\d\d$/, '01');
  return from === 'day' ? date : dateAfter(date, -((new Date(date).getUTCDay() + 6) % 7));
}
