/** A wait of up to 30 years: a longer number is no wait that anyone means. */
const DELAY_SECONDS = /^\d{1,9}$/;
/** Only what looks like a date is parsed as one: `Date.parse` reads "try 2099" as well. */
const HTTP_DATE = /^(mon|tue|wed|thu|fri|sat|sun)[a-z]*,? .*\d\d:\d\d:\d\d/i;

/**
 * The wait that a value of `Retry-After` requests, in whole seconds: delay-seconds or an HTTP date (RFC 9110, 10.2.3).
 * A past date is 0; anything unreadable is `undefined`, so that the caller's own back-off counts.
 */
export function retryAfterSeconds(header: string | null | undefined, now: Date = new Date()): number | undefined {
  const value = header?.trim();
  if (!value) return undefined;
  if (DELAY_SECONDS.test(value)) return Number(value);
  const at = HTTP_DATE.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(at) ? undefined : Math.max(0, Math.ceil((at - now.getTime()) / 1000));
}
