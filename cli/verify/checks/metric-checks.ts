import { GetMetricDataCommand, type Metric, type MetricDataQuery } from '@aws-sdk/client-cloudwatch';
import { DASHBOARD_ONLY, namespaceOf } from '../../../core/log/metrics.ts';
import type { Check } from '../../checks/check.ts';
import { CannotTell, type Finding, holdsUnless } from '../../checks/finding.ts';
import type { Target } from '../../support/target.ts';
import { lookUntil } from '../base/look-until.ts';
import { type Made, RUN_RIGHTS } from '../base/runs.ts';
import type { Verifying } from '../base/verifying.ts';
import { ALARM_RIGHTS, DASHBOARD_RIGHTS, metricText, misreadMetric, watchedMetrics } from './watched-metrics.ts';

/** Whether what is counted is what alarms and dashboard read. */
export const METRIC_CHECKS: Check<Verifying>[] = [
  {
    id: 'metrics',
    question: 'Have the metrics of that export come?',
    rights: [...RUN_RIGHTS, 'cloudwatch:GetMetricData on `*`: AWS knows no resource for it'],
    makes: true,
    look: arrived,
  },
  {
    id: 'read-metrics',
    question: 'Is all counted that alarms and dashboard read?',
    rights: [...ALARM_RIGHTS, ...DASHBOARD_RIGHTS],
    look: read,
  },
];

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
  const look = () => withoutData(verifying.target, expected, run.askedAt);
  const missing = await lookUntil(look, (none) => none.length === 0, verifying);
  const wrong = missing.length > 0 ? [`no data of ${missing.map(metricText).join(', ')}`] : [];
  const why = 'They should be there some minutes after the run: alarms and dashboard read them.';
  return holdsUnless(wrong, `all ${expected.length} have data`, why);
}

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

async function read(verifying: Verifying): Promise<Finding> {
  const metrics = await watchedMetrics(verifying);
  if (metrics.length === 0) throw new CannotTell('neither alarms nor a dashboard are there');
  const wrong = new Set(metrics.filter((metric) => misreadMetric(metric, verifying)).map(metricText));
  const found = `${new Set(metrics.map(metricText)).size} metrics, each of them counted by the functions or by AWS`;
  return holdsUnless(
    [...wrong].map((text) => `nothing counts ${text}`),
    found,
  );
}
