import { byDistance, distance, type LocalTiming, localStart } from './local-start.ts';
import { dateAfter, dateIn } from './local-time.ts';
import type { Start, Timing } from './timing.ts';

const MINUTE_MS = 60_000;
/** A start may be late by that; the event of another time is not of a listed start. */
const NEAR_MS = 30 * MINUTE_MS;
/** Events are late, and early only as far as clocks differ. */
export const EARLY_MS = 15 * MINUTE_MS;

/**
 * The start that an event of the rule stands for, whatever it is late by, and the date of the run; `undefined` where another
 * start of the rule is the one for that date. An event far from every listed start is one of its own: somebody has changed
 * the rule, and to take it for another start would leave out dates.
 */
export function slotOf({ timeZone, starts, at }: Timing, event: Date): Start | undefined {
  const near = starts ? byDistance(starts, event).filter((start) => distance(start, event) <= NEAR_MS) : [];
  const [start] = near;
  if (!starts || !start) {
    const own = new Date(Math.floor(event.getTime() / MINUTE_MS) * MINUTE_MS);
    return { at: own, date: dateIn(timeZone, own) };
  }
  if (at === null) return { at: start, date: dateIn(timeZone, start) };
  // Where clocks change by half an hour, an event may be near two starts: of one that is due, unless the other fires just now.
  const soon = (each: Date) => each.getTime() - event.getTime() <= EARLY_MS;
  const meant = isOnTime(start, event) ? [start] : near.filter((each) => each === start || soon(each));
  return meant.map((each) => localSlot({ timeZone, starts, at }, each)).find((slot) => slot !== undefined);
}

/** A rule fires within the minute of its start. */
function isOnTime(start: Date, event: Date): boolean {
  return event >= start && distance(start, event) < MINUTE_MS;
}

function localSlot(timing: LocalTiming, start: Date): Start | undefined {
  const shown = dateIn(timing.timeZone, start);
  // The neighbours count where zone data has changed since the starts were listed.
  const dates = [shown, ...[-1, 1].map((days) => dateAfter(shown, days))];
  const date = dates.find((each) => localStart(timing, each).getTime() === start.getTime());
  return date === undefined ? undefined : { at: start, date };
}
