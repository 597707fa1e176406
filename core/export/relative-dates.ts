import { type RelativeDate, relativeDateOf } from '../config/relative-date.ts';
import { dateAfter, instantOf } from '../schedule/local-time.ts';
import type { ExportRequest } from '../step/states.ts';

/** The day that a run is for. */
export interface LogicalDay {
  date: string;
  timeZone: string;
}

/** Resolves the relative dates of a request, which only filters can contain. Equal days give equal requests. */
export function resolveDates({ columns, ...others }: ExportRequest, day: LogicalDay): ExportRequest {
  return { columns, ...resolveObject(others, day) };
}

function resolve(value: unknown, day: LogicalDay): unknown {
  const relative = relativeDateOf(value);
  if (relative) return textOf(relative, day);
  if (Array.isArray(value)) return value.map((each) => resolve(each, day));
  return typeof value === 'object' && value !== null ? resolveObject(value, day) : value;
}

function resolveObject(value: object, day: LogicalDay): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, resolve(inner, day)]));
}

/** The text of a relative date. An instant is the first instant of the local date. */
function textOf({ from, days, as }: RelativeDate, { date, timeZone }: LogicalDay): string {
  const counted = dateAfter(startOf(from, date), days);
  return as === 'date' ? counted : instantOf(timeZone, counted, '00:00').toISOString();
}

/** A week begins on Monday (ISO 8601). */
function startOf(from: RelativeDate['from'], date: string): string {
  if (from === 'monthStart') return date.replace(/\d\d$/, '01');
  return from === 'day' ? date : dateAfter(date, -((new Date(date).getUTCDay() + 6) % 7));
}
