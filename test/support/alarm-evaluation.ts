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

/**
 * When an alarm that is made at `from` is mailed, as CloudWatch documents its evaluation: always anew, over periods that end now, so
 * what it finds is another as soon as a value comes, and as one passes into an older period. Missing periods are made up for by older ones in its range; where those are too few, as few as possible are filled in
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
