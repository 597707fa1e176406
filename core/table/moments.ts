/** Milliseconds in a day. */
const DAY = 86_400_000;
/** The calendar repeats itself after 400 years. */
const CYCLE_DAYS = 146_097;

const ISO_DATE = patternOf('YYYY-MM-DD');
const ISO_TIMESTAMP =
  /^(?<year>\d{4})-(?<month>\d\d)-(?<day>\d\d)[T ](?<hour>\d\d):(?<minute>\d\d)(?::(?<second>\d\d)(?:\.(?<fraction>\d{1,9}))?)?(?:Z|(?<sign>[+-])(?<offsetHour>\d\d)(?::?(?<offsetMinute>\d\d))?)?$/;

/** Days since 1970-01-01, from a text in ISO 8601 or in the configured format. */
export function dateReader(format?: string): (text: string) => number | undefined {
  const pattern = format === undefined ? ISO_DATE : patternOf(format);
  return (text) => {
    const { groups } = pattern.exec(text) ?? {};
    return groups && dayOf(groups);
  };
}

/**
 * Milliseconds since 1970-01-01 UTC, from a text in ISO 8601 or in the configured format. A text without an offset
 * counts as UTC. Fractions of a millisecond are cut off.
 */
export function timestampReader(format?: string): (text: string) => bigint | undefined {
  const pattern = format === undefined ? ISO_TIMESTAMP : patternOf(format);
  return (text) => {
    const { groups } = pattern.exec(text) ?? {};
    const [day, time] = groups ? [dayOf(groups), timeOf(groups)] : [];
    return day === undefined || time === undefined ? undefined : BigInt(day * DAY + time);
  };
}

/** The pattern of a format such as `YYYY-MM-DD HH:mm:ss`. */
function patternOf(format: string): RegExp {
  const fields = { YYYY: 'year', MM: 'month', DD: 'day', HH: 'hour', mm: 'minute', ss: 'second' };
  const source = Object.entries(fields).reduce(
    (pattern, [letters, name]) => pattern.replace(letters, `(?<${name}>\\d{${letters.length}})`),
    format.replaceAll('.', '\\.'),
  );
  return new RegExp(`^${source}$`);
}

type Groups = Record<string, string | undefined>;

function dayOf(groups: Groups): number | undefined {
  const year = Number(groups.year);
  const month = Number(groups.month);
  const day = Number(groups.day);
  // Date.UTC reads the years 0 to 99 as 1900 to 1999.
  const millis = Date.UTC(year + 400, month - 1, day);
  const found = new Date(millis);
  const exists = year > 0 && found.getUTCMonth() === month - 1 && found.getUTCDate() === day;
  return exists ? millis / DAY - CYCLE_DAYS : undefined;
}

/** Milliseconds since midnight UTC. The offset can make them negative, or more than a day. */
function timeOf(groups: Groups): number | undefined {
  const hour = Number(groups.hour);
  const minute = Number(groups.minute);
  const second = Number(groups.second ?? 0);
  const offsetHour = Number(groups.offsetHour ?? 0);
  const offsetMinute = Number(groups.offsetMinute ?? 0);
  if (Math.max(hour, offsetHour) > 23 || Math.max(minute, second, offsetMinute) > 59) return undefined;
  const millis = Number((groups.fraction ?? '').padEnd(3, '0').slice(0, 3));
  const offset = (groups.sign === '-' ? -1 : 1) * (offsetHour * 60 + offsetMinute);
  return ((hour * 60 + minute - offset) * 60 + second) * 1000 + millis;
}
