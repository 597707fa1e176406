import {
  GetMetricDataCommand,
  ListMetricsCommand,
  type Metric,
  type MetricDataQuery,
} from '@aws-sdk/client-cloudwatch';
import { DASHBOARD_ONLY, namespaceOf } from '../../core/log/metrics.ts';
import type { Check } from '../checks/check.ts';
import { type Finding, holds, unknown } from '../checks/finding.ts';
import type { Target } from '../support/target.ts';
import { type Made, RUN_RIGHTS } from './runs.ts';
import { type Control, lookUntil, unlessNotEnforced, type Verifying } from './verifying.ts';

export const METRIC_CHECK: Check<Verifying> = {
  id: 'metrics',
  question: 'Have the metrics of that export come?',
  rights: [...RUN_RIGHTS, 'cloudwatch:GetMetricData on `*`'],
  makes: true,
  look: arrived,
};

/** The metrics that an export leaves under every condition, by the names of their dimensions. */
function expectedOf({ target, entity }: Verifying, { rows, steps }: Pick<Made, 'rows' | 'steps'>): Metric[] {
  const own = (MetricName: string, dimensions: Record<string, string>) =>
    metricOf(namespaceOf(target.stack.replace(/^crm-export-/, '')), MetricName, dimensions);
  const outcome = 'PUBLISHED';
  const ofEntity = target.DashboardName ? DASHBOARD_ONLY.filter((name) => rows !== null || name !== 'FileRows') : [];
  return [
    own('RunsEnded', { entity, outcome }),
    own('RunsEnded', { outcome }),
    ...ofEntity.map((name) => own(name, { entity })),
    metricOf('AWS/States', 'ExecutionsSucceeded', { StateMachineArn: target.StateMachineArn }),
    ...steps.map((step) => metricOf('AWS/Lambda', 'Duration', { FunctionName: `${target.stack}-${step}` })),
  ];
}

function metricOf(Namespace: string, MetricName: string, dimensions: Record<string, string>): Metric {
  return { Namespace, MetricName, Dimensions: Object.entries(dimensions).map(([Name, Value]) => ({ Name, Value })) };
}

async function arrived(verifying: Verifying): Promise<Finding> {
  const run = await verifying.runs.published();
  const expected = expectedOf(verifying, run);
  const { target } = verifying;
  const look = () => withoutData(target, expected, run.askedAt);
  const findingOf = (missing: Metric[]) => late(missing, run.askedAt) ?? holds(`all ${expected.length} have data`);
  const first = await unlessNotEnforced(target, findingOf(await look()), countsNothing(target));
  // Only for what is late there is something to ask again.
  if (first.advice === null) return first;
  return findingOf(await lookUntil(look, (missing) => missing.length === 0, verifying));
}

/** That a metric has not come yet is no proof that it never does. */
function late(missing: Metric[], since: Date): Finding | undefined {
  const [first] = missing;
  if (!first) return undefined;
  const { Namespace, MetricName, Dimensions = [] } = first;
  const dimensions = Dimensions.map(({ Name, Value }) => `Name=${Name},Value=${Value}`).join(' ');
  const [from, to] = [since, new Date(since.getTime() + DAY_MS)].map((time) => `${time.toISOString().slice(0, 19)}Z`);
  const times = `--start-time ${from} --end-time ${to} --period 86400 --statistics SampleCount`;
  const again = `aws cloudwatch get-metric-statistics --namespace ${Namespace} --metric-name ${MetricName} --dimensions ${dimensions} ${times}`;
  return unknown(
    `no data yet of ${missing.map(metricText).join(', ')}`,
    `Some come later than that. Ask again: ${again}`,
  );
}

/** Step Functions counts every run, so a cloud that has no metric of any of them makes none. */
function countsNothing({ cloudwatch }: Pick<Target, 'cloudwatch'>): Control {
  return async () => {
    const { Metrics = [] } = await cloudwatch.send(new ListMetricsCommand({ Namespace: 'AWS/States' }));
    return Metrics.length === 0 ? 'this cloud counts nothing of the runs that it has made' : undefined;
  };
}

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

async function withoutData({ cloudwatch }: Pick<Target, 'cloudwatch'>, metrics: Metric[], since: Date) {
  const MetricDataQueries = metrics.map((metric, index): MetricDataQuery => {
    return { Id: `m${index}`, MetricStat: { Metric: metric, Period: 60, Stat: 'SampleCount' } };
  });
  const StartTime = new Date(Math.floor(since.getTime() / MINUTE_MS) * MINUTE_MS);
  const EndTime = new Date(Math.ceil(Date.now() / MINUTE_MS) * MINUTE_MS);
  const { MetricDataResults = [] } = await cloudwatch.send(
    new GetMetricDataCommand({ MetricDataQueries, StartTime, EndTime }),
  );
  const counted = new Set(MetricDataResults.filter(({ Values = [] }) => Values.length > 0).map(({ Id }) => Id));
  return metrics.filter((_, index) => !counted.has(`m${index}`));
}

/** `crm-export-prod RunsEnded {entity=leads}` */
function metricText({ Namespace, MetricName, Dimensions = [] }: Metric): string {
  return `${Namespace} ${MetricName} {${Dimensions.map(({ Name, Value }) => `${Name}=${Value}`).join(', ')}}`;
}
