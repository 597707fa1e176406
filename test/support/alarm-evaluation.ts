/** The properties of an alarm that decide its state, as the template has them. */
export interface EvaluatedAlarm {
  Period: number;
  EvaluationPeriods: number;
  DatapointsToAlarm?: number;
  Threshold: number;
  ComparisonOperator: string;
  Statistic: string;
  TreatMissingData: string;
}

/** A value of the metric, milliseconds since 1970. */
export interface Count {
  at: number;
  value: number;
}

interface Span {
  from: number;
  to: number;
  /** So many periods CloudWatch looks at, the evaluated ones among them. AWS does not say how many: some more than these. */
  range: number;
}

const MINUTE_MS = 60_000;

/**
 * When an alarm that is made at `from` is mailed, as CloudWatch documents its evaluation: every minute, over periods that end with that
 * minute. Missing periods are made up for by older ones in its range; where those are too few, as few as possible are filled in
 * (https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/alarms-and-missing-data.html,
 * https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/alarm-evaluation-window.html). Alarms on a maximum that has
 * reached something, with missing data as a breach.
 */
export function mailsOf(alarm: EvaluatedAlarm, counts: Count[], { from, to, range }: Span): number[] {
  const { ComparisonOperator, Statistic, TreatMissingData } = alarm;
  const known = ['GreaterThanOrEqualToThreshold', 'Maximum', 'breaching'];
  if (`${[ComparisonOperator, Statistic, TreatMissingData]}` !== `${known}`) throw new Error('not such an alarm');
  const mails: number[] = [];
  let raised = false;
  for (let now = from; now <= to; now += MINUTE_MS) {
    const seen = counts.filter(({ at }) => at > now - range * alarm.Period * 1000 && at <= now);
    const breaches = isRaised(alarm, seen, now, range);
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
