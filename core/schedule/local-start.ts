import { instantOf } from './local-time.ts';

const DAY_MS = 86_400_000;

/** The times in UTC at which a rule fires, and the local time that they stand for. */
export interface LocalTiming {
  timeZone: string;
  starts: string[];
  at: string;
}

/**
 * The start of a date: when its local time is due, or the nearest start of the rule where zone data has changed since those
 * were listed, so that no date is left out.
 */
export function localStart({ timeZone, starts, at }: LocalTiming, date: string): Date {
  const due = instantOf(timeZone, date, at);
  return byDistance(starts, due)[0] ?? due;
}

/** The starts of the days around a time, the nearest first; the earlier of two that are equally near. */
export function byDistance(starts: string[], time: Date): Date[] {
  const around = [-1, 0, 1].map((days) => new Date(time.getTime() + days * DAY_MS).toISOString().split('T')[0]);
  const instants = around.flatMap((date) => starts.map((start) => new Date(`${date}T${start}Z`)));
  return instants.sort((one, other) => distance(one, time) - distance(other, time));
}

/** In milliseconds. */
export function distance(one: Date, other: Date): number {
  return Math.abs(one.getTime() - other.getTime());
}
