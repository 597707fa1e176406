import { offsetAt } from '../schedule/local-time.ts';
import { START_UTC, type Timing } from '../schedule/next-starts.ts';
import type { Deployment } from './deployment.ts';
import { ENTITIES, type Entity } from './entities.ts';

/** When the rule of an entity starts it: by its own schedule, or at its place in the night. */
export function timingOf(deployment: Deployment, entity: Entity): Timing {
  const { timeZone, zoneOffsets, nightly } = deployment;
  const { schedule, at: own } = deployment.entities[entity];
  if (schedule !== undefined) return { timeZone, expression: schedule, starts: dailyStart(schedule), at: null };
  const at = own ?? (nightly.at && inTheNight(deployment, entity, nightly.at));
  // UTC knows no summer time: a start at a time in UTC is one, and it counts.
  if (at === undefined || timeZone === 'UTC') {
    const starts = [at ?? inTheNight(deployment, entity, START_UTC)];
    return { timeZone, expression: cronOf(starts), starts, at: null };
  }
  const starts = utcStartsOf(at, zoneOffsets ?? offsetsNow(timeZone));
  return { timeZone, expression: cronOf(starts), starts, at };
}

/** The offsets of a time zone by the zone data of this machine, for this year and those to come. */
export function offsetsNow(timeZone: string): number[] {
  return offsetsFrom(new Date().getUTCFullYear(), timeZone);
}

/**
 * The hours without a published export after which an entity raises its alarm. `needed` by its deadline: the longest
 * night after the shortest, and an hour more.
 */
export function freshnessOf(deployment: Deployment, entity: Entity): { hours: number; needed: number } {
  const { polling, freshnessHours } = deployment.entities[entity];
  // A local day may have 25 hours.
  const longest = timingOf(deployment, entity).at === null ? 24 : 25;
  const needed = Math.max(longest + 2, longest + 1 + Math.ceil(polling.deadlineSeconds / 3600));
  return { hours: freshnessHours ?? deployment.alarms.freshnessHours ?? needed, needed };
}

/** "31 hours", or "31 to 35 hours, by entity". */
export function freshnessText(deployment: Deployment, entities: readonly Entity[]): string {
  const hours = entities.map((entity) => freshnessOf(deployment, entity).hours);
  const least = Math.min(...hours);
  const most = Math.max(...hours);
  return least === most ? `${least} hours` : `${least} to ${most} hours, by entity`;
}

/** The start of an entity in the night: some minutes after the entity before. */
function inTheNight({ nightly }: Deployment, entity: Entity, first: string): string {
  return timeOf(minuteOf(first) + ENTITIES.indexOf(entity) * nightly.spreadMinutes);
}

/** The time of an expression for every day at one time. */
function dailyStart(schedule: string): string[] | null {
  const [, minute, hour] = /^cron\((\d{1,2}) (\d{1,2}) (?:\*|\?) \* (?:\*|\?) \*\)$/.exec(schedule) ?? [];
  return minute === undefined ? null : [timeOf(Number(hour) * 60 + Number(minute))];
}

const DAY_MINUTES = 24 * 60;
const WEEK_MS = 7 * 86_400_000;
/** Ahead of the year in which the rules are made: so long they hold. */
const YEARS = 10;

/** How many minutes clocks are ahead of UTC at one time or another, from a year on. */
export function offsetsFrom(year: number, timeZone: string): number[] {
  const first = Date.UTC(year, 0, 1);
  const weeks = Math.ceil((Date.UTC(year + YEARS + 1, 0, 1) - first) / WEEK_MS);
  const offsets = Array.from({ length: weeks }, (_, week) => offsetAt(timeZone, first + week * WEEK_MS) / 60_000);
  return sortedSet(offsets);
}

/**
 * Every time in UTC at which a rule for a local time fires: those that the local time has as clocks are set forward and back,
 * and what a single cron expression for all of them adds.
 * @param time `HH:MM`
 */
export function utcStartsOf(time: string, offsets: number[]): string[] {
  const exact = offsets.map((offset) => (minuteOf(time) - offset + DAY_MINUTES) % DAY_MINUTES);
  const minutes = sortedSet(exact.map((minute) => minute % 60));
  const hours = sortedSet(exact.map((minute) => Math.floor(minute / 60)));
  return hours.flatMap((hour) => minutes.map((minute) => timeOf(hour * 60 + minute)));
}

/** The expression of a rule that fires at these times, each hour of which has the same minutes. */
export function cronOf(starts: string[]): string {
  const minutes = sortedSet(starts.map((start) => minuteOf(start) % 60));
  const hours = sortedSet(starts.map((start) => Math.floor(minuteOf(start) / 60)));
  return `cron(${minutes.join()} ${hours.join()} * * ? *)`;
}

/** Minutes after midnight of `HH:MM`. */
function minuteOf(time: string): number {
  const [hours = 0, minutes = 0] = time.split(':').map(Number);
  return hours * 60 + minutes;
}

/** `HH:MM` so many minutes after midnight, of whatever day. */
function timeOf(minute: number): string {
  return new Date((minute % DAY_MINUTES) * 60_000).toISOString().slice(11, 16);
}

function sortedSet(values: number[]): number[] {
  return [...new Set(values)].sort((a, b) => a - b);
}
