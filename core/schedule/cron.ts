import { rangeOf } from './schedule-expression.ts';

const DAY_MS = 86_400_000;
/**
 * After this many days an expression counts as one that never fires: 29 February is eight years from the next at most.
 */
const DAYS_LOOKED_AT = 8 * 366 + 1;

/**
 * The times in UTC at which a valid `cron(…)` of EventBridge fires after a moment, the next first; fewer than `count` where no
 * more come within eight years.
 */
export function cronTimes(expression: string, after: Date, count: number): Date[] {
  const fields = expression.slice('cron('.length, -1).split(' ');
  const [minutes = '', hours = '', daysOfMonth = '', months = '', daysOfWeek = '', years = ''] = fields;
  const ofDay = valuesOf(hours, 1).flatMap((hour) =>
    valuesOf(minutes, 0).map((minute) => (hour * 60 + minute) * 60_000),
  );
  const monthSet = new Set(valuesOf(months, 3));
  const yearSet = new Set(valuesOf(years, 5));
  const fires = (day: Date) =>
    yearSet.has(day.getUTCFullYear()) &&
    monthSet.has(day.getUTCMonth() + 1) &&
    (daysOfMonth === '?' ? isDayOfWeek(daysOfWeek, day) : isDayOfMonth(daysOfMonth, day));
  const first = Math.floor(after.getTime() / DAY_MS) * DAY_MS;
  const times: Date[] = [];
  for (let index = 0; index < DAYS_LOOKED_AT && times.length < count; index += 1) {
    const midnight = first + index * DAY_MS;
    if (!fires(new Date(midnight))) continue;
    times.push(...ofDay.map((time) => new Date(midnight + time)).filter((time) => time > after));
  }
  return times.slice(0, count);
}

/** The values of a list of values, ranges and steps, in order. */
function valuesOf(field: string, index: number): number[] {
  const values = field.split(',').flatMap((part) => {
    const { from, to, step } = rangeOf(part, index);
    return Array.from({ length: Math.floor((to - from) / step) + 1 }, (_, place) => from + place * step);
  });
  return [...new Set(values)].sort((a, b) => a - b);
}

function isDayOfMonth(field: string, day: Date): boolean {
  return field.split(',').some((part) => {
    if (part === 'L') return day.getUTCDate() === lengthOfMonth(day);
    if (part.endsWith('W')) return day.getUTCDate() === nearestWeekday(part, day);
    return valuesOf(part, 2).includes(day.getUTCDate());
  });
}

/** The weekday of the same month that is nearest to a day: `15W`, and `LW` for the last. */
function nearestWeekday(part: string, day: Date): number {
  const length = lengthOfMonth(day);
  const wanted = part === 'LW' ? length : Number(part.slice(0, -1));
  if (wanted > length) return Number.NaN;
  const weekday = new Date(Date.UTC(day.getUTCFullYear(), day.getUTCMonth(), wanted)).getUTCDay();
  if (weekday === 6) return wanted === 1 ? 3 : wanted - 1;
  if (weekday === 0) return wanted === length ? wanted - 2 : wanted + 1;
  return wanted;
}

function isDayOfWeek(field: string, day: Date): boolean {
  const date = day.getUTCDate();
  const weekday = day.getUTCDay() + 1;
  return field.split(',').some((part) => {
    if (part === 'L') return weekday === 7;
    if (part.endsWith('L')) return weekday === Number(part[0]) && date + 7 > lengthOfMonth(day);
    if (part.includes('#')) return weekday === Number(part[0]) && Math.ceil(date / 7) === Number(part[2]);
    return valuesOf(part, 4).includes(weekday);
  });
}

function lengthOfMonth(day: Date): number {
  return new Date(Date.UTC(day.getUTCFullYear(), day.getUTCMonth() + 1, 0)).getUTCDate();
}
