/** Waits of up to 30 years; some services send fractions. A longer number is not a plausible wait. */
const DELAY_SECONDS = /^\d{1,9}(?:\.\d+)?$/;
/** The form of an HTTP date. `Date.parse` also accepts text such as "try 2099". */
const HTTP_DATE = /^(mon|tue|wed|thu|fri|sat|sun)[a-z]*,? .*\d\d:\d\d:\d\d/i;

/**
 * The wait that a value of `Retry-After` requests, in whole seconds: delay-seconds or an HTTP date (RFC 9110, 10.2.3).
 * A past date gives 0. An unreadable value gives `undefined`, so that the caller uses its own back-off.
 * @param sent the `Date` of the answer: a date counts from the clock of the service, which may be wrong
 */
export function retryAfterSeconds(header: Header, sent: Header, now: Date = new Date()): number | undefined {
  // `fetch` joins the values of a header that comes more than once.
  const delays = (header ?? '').split(',').map((delay) => delay.trim());
  if (delays.every((delay) => DELAY_SECONDS.test(delay))) return Math.ceil(Math.max(...delays.map(Number)));
  const at = timeOf(header);
  const sentAt = timeOf(sent) ?? now.getTime();
  return at === undefined ? undefined : Math.max(0, Math.ceil((at - sentAt) / 1000));
}

type Header = string | null | undefined;

/** The time of an HTTP date, in milliseconds; `undefined` for another text. */
function timeOf(header: Header): number | undefined {
  const time = header && HTTP_DATE.test(header.trim()) ? Date.parse(header) : Number.NaN;
  return Number.isNaN(time) ? undefined : time;
}
