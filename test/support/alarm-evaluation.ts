/** The properties of an alarm that decide its state, as in the template. */
export interface EvaluatedAlarm {
  Period: number;
  EvaluationPeriods: number;
  DatapointsToAlarm?: number;
  Threshold: number;
  ComparisonOperator: string;
  Statistic: string;
  TreatMissingData: string;
}

/** A value of the metric; time in milliseconds since 1970. */
export interface Count {
  at: number;
  value: number;
}

interface Span {
  from: number;
  to: number;
  /** The number of periods that CloudWatch reads. AWS does not document it: it is larger than the evaluated number. */
  range: number;
}

/**
 * The times at which an alarm that exists from `from` on is mailed, by the documented rules of CloudWatch. It evaluates
 * periods that end now, so its result changes as a value arrives or gets older. Older periods in the range replace
 * missing ones; if there are too few, CloudWatch fills in as few as possible. Supports alarms on a maximum that reached
 * a threshold, with missing data as a breach.
 * https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/alarms-and-missing-data.html,
 * https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/alarm-evaluation-window.html
 */
export function mailsOf(alarm: EvaluatedAlarm, counts: Count[], { from, to, range }: Span): number[] {
  const { ComparisonOperator, Statistic, TreatMissingData } = alarm;
  const known = ['GreaterThanOrEqualToThreshold', 'Maximum', 'breaching'];
  if (`${[ComparisonOperator, Statistic, TreatMissingData]}` !== `${known}`) throw new Error('not such an alarm');
  const mails: number[] = [];
  let raised = false;
  const passing = Array.from({ length: range + 1 }, (_, periods) => periods * alarm.Period * 1000);
  const moments = new Set([from, ...counts.flatMap(({ at }) => passing.map((later) => at + later))]);
  for (const now of [...moments].sort((one, other) => one - other)) {
    if (now < from || now > to) continue;
    const breaches = isRaised(alarm, counts, now, range);
    if (breaches && !raised) mails.push(now);
    raised = breaches;
  }
  return mails;
}

function isRaised(alarm: EvaluatedAlarm, counts: Count[], now: number, range: number): boolean {
  const { Period, EvaluationPeriods: wanted, DatapointsToAlarm = wanted, Threshold } = alarm;
  const periodMs = Period * 1000;
  const newestFirst = Array.from({ length: range }, (_, back) => {
    const end = now - back * periodMs;
    const within = counts.filter(({ at }) => at > end - periodMs && at <= end);
    return within.length > 0 ? Math.max(...within.map(({ value }) => value)) : undefined;
  });
  const real = newestFirst.filter((value) => value !== undefined).slice(0, wanted);
  const breaching = real.filter((value) => value >= Threshold).length;
  return breaching + (wanted - real.length) >= DatapointsToAlarm;
}
