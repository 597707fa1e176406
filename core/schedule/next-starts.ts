import { DAY_MS, dateAfter, dateIn, instantOf } from './local-time.ts';

/**
 * How long EventBridge retries the delivery of a start; then the start goes to the queue of undelivered starts. A
 * later start would export another day.
 */
export const START_TRIED_HOURS = 2;

/** When the first entity starts by default. */
export const START_UTC = '01:00';

/** When the rule of an entity starts it. */
export interface Timing {
  /** The zone in which a run gets its date. */
  timeZone: string;
  /** The schedule expression of the rule. */
  expression: string;
  /** The times in UTC at which the rule fires, `HH:MM`; `null` if it does not fire daily at fixed times. */
  starts: string[] | null;
  /** The local time that the starts represent. One start on each date counts. `null`: every start counts. */
  at: string | null;
}

/** A start by a rule, and the date that its run gets. */
export interface Start {
  at: Date;
  date: string;
}

/** The next starts after a time; `null` for `rate(…)`, which counts from the creation of the rule. */
export function nextStarts(timing: Timing, after: Date, count: number): Start[] | null {
  const { timeZone, expression, starts, at } = timing;
  if (at !== null && starts) {
    const today = dateIn(timeZone, after);
    // The start of yesterday's date may still be due if it is late in UTC.
    const dates = Array.from({ length: count + 2 }, (_, index) => dateAfter(today, index - 1));
    const all = dates.map((date) => ({ at: localStart({ timeZone, starts, at }, date), date }));
    return all.filter((start) => start.at > after).slice(0, count);
  }
  if (!expression.startsWith('cron(')) return null;
  return cronTimes(expression, after, count).map((time) => ({ at: time, date: dateIn(timeZone, time) }));
}

const MINUTE_MS = 60_000;
/** The longest distance between an event and the listed start that it belongs to. */
const NEAR_MS = 30 * MINUTE_MS;
/** The longest time by which an event may be early, because of a difference between clocks. */
export const EARLY_MS = 15 * MINUTE_MS;

/**
 * The start that an event of the rule belongs to, even if the event is late, and the date of the run; `undefined` if
 * another start of the rule counts for that date. An event far from every listed start is its own start: a person has
 * changed the rule, and assigning the event to another start would leave out dates.
 */
export function startOfEvent({ timeZone, starts, at }: Timing, event: Date): Start | undefined {
  const near = starts ? byDistance(starts, event).filter((start) => distance(start, event) <= NEAR_MS) : [];
  const [start] = near;
  if (!starts || !start) {
    const own = new Date(Math.floor(event.getTime() / MINUTE_MS) * MINUTE_MS);
    return { at: own, date: dateIn(timeZone, own) };
  }
  if (at === null) return { at: start, date: dateIn(timeZone, start) };
  // Where clocks change by half an hour, an event that is not on time may belong to another near start.
  const soon = (each: Date) => each.getTime() - event.getTime() <= EARLY_MS;
  // A rule fires within a minute after its start.
  const isOnTime = event >= start && distance(start, event) < MINUTE_MS;
  const meant = isOnTime ? [start] : near.filter((each) => each === start || soon(each));
  return meant.map((each) => datedStart({ timeZone, starts, at }, each)).find((found) => found !== undefined);
}

function datedStart(timing: LocalTiming, start: Date): Start | undefined {
  const shown = dateIn(timing.timeZone, start);
  // The dates before and after count if zone data has changed since the starts were listed.
  const dates = [shown, ...[-1, 1].map((days) => dateAfter(shown, days))];
  const date = dates.find((each) => localStart(timing, each).getTime() === start.getTime());
  return date === undefined ? undefined : { at: start, date };
}

/** The times in UTC at which a rule fires, and the local time that they represent. */
interface LocalTiming {
  timeZone: string;
  starts: string[];
  at: string;
}

/**
 * The start of a date. Zone data may have changed since the starts were listed. So this function returns the listed
 * start that is nearest to the local time, and no date is left out.
 */
function localStart({ timeZone, starts, at }: LocalTiming, date: string): Date {
  const due = instantOf(timeZone, date, at);
  // The usual case comes first, because a synthesis looks at thousands of dates.
  if (starts.includes(due.toISOString().slice(11, 16))) return due;
  return byDistance(starts, due)[0] ?? due;
}

/** The starts within a day of a time, the nearest first. Of two equally near starts, the earlier comes first. */
function byDistance(starts: string[], time: Date): Date[] {
  const dates = [-1, 0, 1].map((days) => new Date(time.getTime() + days * DAY_MS).toISOString().split('T')[0]);
  const instants = dates.flatMap((date) => starts.map((start) => new Date(`${date}T${start}Z`)));
  return instants.sort((one, other) => distance(one, time) - distance(other, time));
}

/** The distance between two times in milliseconds. */
function distance(one: Date, other: Date): number {
  return Math.abs(one.getTime() - other.getTime());
}

/** More than a year of daily starts, so that every change of clocks is included. */
const STARTS_COMPARED = 400;
const UNIT_DAYS: Record<string, number> = { minute: 1 / 1440, hour: 1 / 24, day: 1 };

/** The longest gap between two UTC dates with a start, in days; at least 1. The lifecycle rules count UTC days. */
export function longestGapDays(timing: Timing, from: Date): number {
  const starts = nextStarts(timing, from, STARTS_COMPARED) ?? [];
  const days = starts.map(({ at }) => Math.floor(at.getTime() / DAY_MS));
  const gaps = days.map((day, index) => day - (days[index - 1] ?? day));
  return Math.max(1, ...gaps, Math.ceil(rateDays(timing.expression)));
}

/** The interval of `rate(…)` in days, as a fraction if it is shorter; 0 for another expression. */
export function rateDays(expression: string): number {
  const [, count, unit = ''] = /^rate\((\d+) ([a-z]+?)s?\)$/.exec(expression) ?? [];
  return Number(count ?? 0) * (UNIT_DAYS[unit] ?? 0);
}

/** The search ends after this many days, because 29 February recurs within eight years. */
const DAYS_SEARCHED = 8 * 366 + 1;

/**
 * The times in UTC at which a valid `cron(…)` of EventBridge fires after a time, in order. It returns fewer than
 * `count` if fewer come within eight years.
 */
export function cronTimes(expression: string, after: Date, count: number): Date[] {
  const fields = expression.slice('cron('.length, -1).split(' ');
  const [minutes = '', hours = '', daysOfMonth = '', months = '', daysOfWeek = '', years = ''] = fields;
  const ofDay = valuesOf(hours, 1).flatMap((hour) =>
    valuesOf(minutes, 0).map((minute) => (hour * 60 + minute) * 60_000),
  );
  const [ofYears, ofMonths] = [valuesOf(years, 5), valuesOf(months, 3)];
  const fires = (day: Date) =>
    ofYears.includes(day.getUTCFullYear()) &&
    ofMonths.includes(day.getUTCMonth() + 1) &&
    (daysOfMonth === '?' ? isDayOfWeek(daysOfWeek, day) : isDayOfMonth(daysOfMonth, day));
  const first = Math.floor(after.getTime() / DAY_MS) * DAY_MS;
  const times: Date[] = [];
  for (let index = 0; index < DAYS_SEARCHED && times.length < count; index += 1) {
    const midnight = first + index * DAY_MS;
    if (!fires(new Date(midnight))) continue;
    times.push(...ofDay.map((time) => new Date(midnight + time)).filter((time) => time > after));
  }
  return times.slice(0, count);
}

/** The values of a valid cron field (a list of values, ranges and steps), in ascending order. */
function valuesOf(field: string, index: number): number[] {
  const values = field.split(',').flatMap((part) => {
    const { from, to, step } = rangeOf(part, index) ?? { from: 0, to: -1, step: 1 };
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

/** The working day of the same month that is nearest to a day (`15W`) or to its last day (`LW`). */
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

const MONTHS = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC'];
const DAYS = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'];

/** The six fields of EventBridge's cron in order: the range, names for its numbers, and further forms of a part. */
const FIELDS: { from: number; to: number; names?: string[]; also?: RegExp }[] = [
  { from: 0, to: 59 },
  { from: 0, to: 23 },
  { from: 1, to: 31, also: /^(L|LW|(0?[1-9]|[12]\d|3[01])W)$/ },
  { from: 1, to: 12, names: MONTHS },
  { from: 1, to: 7, names: DAYS, also: /^(L|[1-7]L|[1-7]#[1-5])$/ },
  { from: 1970, to: 2199 },
];
const DAY_FIELDS = [2, 4];

/** Whether EventBridge accepts an expression (user guide, "Schedule expressions"), checked before deployment. */
export function isSchedule(expression: string): boolean {
  if (/^rate\((1 (minute|hour|day)|([2-9]|[1-9]\d+) (minutes|hours|days))\)$/.test(expression)) return true;
  const fields = /^cron\((.+)\)$/.exec(expression)?.[1]?.split(' ') ?? [];
  if (fields.length !== FIELDS.length || DAY_FIELDS.filter((index) => fields[index] === '?').length !== 1) return false;
  return fields.every((field, index) => {
    if (field === '?') return DAY_FIELDS.includes(index);
    return field.split(',').every((part) => FIELDS[index]?.also?.test(part) || rangeOf(part, index) !== undefined);
  });
}

/** The range and step of one part of a field: `1-5`, `0/15`, `MON`; `undefined` if EventBridge refuses it. */
function rangeOf(part: string, index: number): { from: number; to: number; step: number } | undefined {
  const { from: first, to: last, names } = FIELDS[index] ?? { from: 0, to: 0 };
  const [, range = '', step] = /^([^/]*)(?:\/([1-9]\d*))?$/.exec(part) ?? [];
  const numberOf = (text: string) => {
    const number =
      (names?.indexOf(text.toUpperCase()) ?? -1) + 1 || (/^\d{1,4}$/.test(text) ? Number(text) : Number.NaN);
    return number >= first && number <= last ? number : Number.NaN;
  };
  const ends = range === '*' ? [first, last] : range.split('-').map(numberOf);
  const [from = Number.NaN, to = step === undefined ? from : last] = ends;
  return ends.length <= 2 && from <= to ? { from, to, step: Number(step ?? 1) } : undefined;
}
