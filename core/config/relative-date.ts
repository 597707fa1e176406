import * as z from 'zod/mini';
import { isRecord } from '../json.ts';

/** A date in a filter, relative to the date of the run: `{ "$date": "day-1d", "as": "date" }`. */
const relativeDateSchema = z.strictObject({
  $date: z.string().check(z.regex(/^(day|weekStart|monthStart)([+-]\d{1,4}d)?$/)),
  as: z._default(z.enum(['date', 'instant']), 'date'),
});

export interface RelativeDate {
  from: 'day' | 'weekStart' | 'monthStart';
  /** Days that are added to the date. */
  days: number;
  as: 'date' | 'instant';
}

/** The relative date in a filter value; `undefined` for any other value. @throws if it is malformed */
export function relativeDateOf(value: unknown): RelativeDate | undefined {
  if (!claimsToBeOne(value)) return undefined;
  const { $date, as } = z.parse(relativeDateSchema, value);
  const [from = '', days = '0'] = $date.replace(/d$/, '').split(/(?=[+-])/);
  return { from: from as RelativeDate['from'], days: Number(days), as };
}

type Path = (string | number)[];

const FORM =
  'must be {"$date": "day-1d", "as": "date"} and nothing more: day, weekStart or monthStart, plus or minus up to 9999 days, as "date" or "instant"';

/** Malformed relative dates in a list of filters. A filter is an object, so a date itself is not a filter. */
export function dateProblems(filters: readonly unknown[]) {
  return datesIn(filters).flatMap(({ path, value }) => {
    if (path.length < 2) return [{ path, message: 'is a date, not a filter: put the date into a filter' }];
    return relativeDateSchema.safeParse(value).success ? [] : [{ path, message: FORM }];
  });
}

/** Relative dates outside of filters: they are not replaced, so the CRM would get them as written. */
export function misplacedDates(value: unknown) {
  const message = 'contains a "$date", which is allowed only in `filters`';
  return datesIn(value).map(({ path }) => ({ path, message }));
}

/** Whether the selected records depend on the date. */
export function dependsOnDate(filters: unknown): boolean {
  return datesIn(filters).length > 0;
}

function datesIn(value: unknown, path: Path = []): { path: Path; value: unknown }[] {
  if (claimsToBeOne(value)) return [{ path, value }];
  if (typeof value !== 'object' || value === null) return [];
  const keys = Array.isArray(value) ? value.keys() : Object.keys(value);
  return [...keys].flatMap((key) => datesIn(Reflect.get(value, key), [...path, key]));
}

/** In another letter case the key would be sent as it is written. */
function claimsToBeOne(value: unknown): boolean {
  return isRecord(value) && Object.keys(value).some((key) => key.toLowerCase() === '$date');
}
