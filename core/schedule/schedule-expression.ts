const MONTHS = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC'];
const DAYS = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'];

/** The six fields of EventBridge's cron, in order: their range, and names that stand for numbers. */
const FIELDS: { from: number; to: number; names?: string[] }[] = [
  { from: 0, to: 59 },
  { from: 0, to: 23 },
  { from: 1, to: 31 },
  { from: 1, to: 12, names: MONTHS },
  { from: 1, to: 7, names: DAYS },
  { from: 1970, to: 2199 },
];
const DAY_OF_MONTH = 2;
const DAY_OF_WEEK = 4;

/** Whether EventBridge accepts an expression (user guide, "Schedule expressions"): a wrong one fails a deployment late. */
export function isSchedule(expression: string): boolean {
  if (/^rate\((1 (minute|hour|day)|([2-9]|[1-9]\d+) (minutes|hours|days))\)$/.test(expression)) return true;
  const fields = /^cron\((.+)\)$/.exec(expression)?.[1]?.split(' ') ?? [];
  if (fields.length !== FIELDS.length) return false;
  const unspecified = [DAY_OF_MONTH, DAY_OF_WEEK].filter((index) => fields[index] === '?');
  return (
    unspecified.length === 1 &&
    fields.every((field, index) => (field === '?' ? unspecified.includes(index) : isField(field, index)))
  );
}

/** Lists of values, ranges and steps: `1-5`, `0/15`, `MON,WED`; `L`, `15W` and `2#1` where days are counted. */
function isField(field: string, index: number): boolean {
  return field.split(',').every((part) => {
    if (index === DAY_OF_MONTH && /^(L|LW|\d{1,2}W)$/.test(part)) return true;
    if (index === DAY_OF_WEEK && /^(L|[1-7]L|[1-7]#[1-5])$/.test(part)) return true;
    const [range = '', step, ...rest] = part.split('/');
    if (rest.length > 0 || (step !== undefined && !/^[1-9]\d*$/.test(step))) return false;
    if (range === '*') return true;
    const ends = range.split('-').map((end) => numberOf(end, index));
    return (
      ends.length <= 2 &&
      ends.every((end) => end !== undefined) &&
      (ends[0] ?? 0) <= (ends[1] ?? Number.POSITIVE_INFINITY)
    );
  });
}

/** The values of one valid part of such a list, days that are counted aside. */
export function rangeOf(part: string, index: number): { from: number; to: number; step: number } {
  const [range = '', step] = part.split('/');
  const whole = FIELDS[index] ?? { from: 0, to: 0 };
  const [from = whole.from, to = step === undefined ? from : whole.to] =
    range === '*' ? [whole.from, whole.to] : range.split('-').map((end) => numberOf(end, index) ?? whole.from);
  return { from, to, step: Number(step ?? 1) };
}

function numberOf(text: string, index: number): number | undefined {
  const { from, to, names } = FIELDS[index] ?? { from: 0, to: 0 };
  const named = names?.indexOf(text.toUpperCase()) ?? -1;
  if (named >= 0) return named + 1;
  const value = /^\d{1,4}$/.test(text) ? Number(text) : Number.NaN;
  return value >= from && value <= to ? value : undefined;
}
