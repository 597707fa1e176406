/**
 * EventBridge tries to deliver a start again for this long; then it goes to the queue of undelivered starts, for later
 * it would be a day's export.
 */
export const START_TRIED_HOURS = 2;

/** When the first entity starts where the configuration says nothing. */
export const START_UTC = '01:00';

/** When the rule of an entity starts it. */
export interface Timing {
  /** The zone in which a run gets its date. */
  timeZone: string;
  /** The schedule expression of the rule. */
  expression: string;
  /** The times in UTC at which the rule fires, `HH:MM`; `null` where that is not once a day. */
  starts: string[] | null;
  /** The local time for which there are several starts, of which one a date counts; `null`: every start counts. */
  at: string | null;
}

/** A start by a rule, and the date that its run gets. */
export interface Start {
  at: Date;
  date: string;
}
