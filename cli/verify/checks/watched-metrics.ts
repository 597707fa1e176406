import { GetDashboardCommand, type Metric } from '@aws-sdk/client-cloudwatch';
import * as z from 'zod/mini';
import { parseJson } from '../../../core/json.ts';
import { METRICS, namespaceOf } from '../../../core/log/metrics.ts';
import { deployedAlarms } from '../base/deployed-alarms.ts';
import type { Verifying } from '../base/verifying.ts';

export const DASHBOARD_RIGHTS = ['cloudwatch:GetDashboard on the dashboard'];

type WatchedStack = Pick<Verifying, 'target' | 'stack'>;

const optionsSchema = z.looseObject({
  id: z.optional(z.string()),
  expression: z.optional(z.string()),
  stat: z.optional(z.string()),
  period: z.optional(z.number()),
});
const bodySchema = z.object({
  widgets: z.array(
    z.looseObject({
      properties: z.looseObject({
        title: z.optional(z.string()),
        period: z.optional(z.number()),
        stat: z.optional(z.string()),
        metrics: z._default(z.array(z.array(z.union([z.string(), optionsSchema]))), []),
      }),
    }),
  ),
});

/** A line of a graph: a metric, or an expression over others of its widget. */
export interface GraphLine {
  metric: Metric | undefined;
  options: z.infer<typeof optionsSchema>;
}

/** https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/CloudWatch-Dashboard-Body-Structure.html */
export async function dashboardWidgets({
  target,
}: WatchedStack): Promise<{ title: string; lines: GraphLine[] }[] | undefined> {
  const { DashboardName, cloudwatch } = target;
  if (!DashboardName) return undefined;
  const { DashboardBody } = await cloudwatch.send(new GetDashboardCommand({ DashboardName }));
  return parseJson(bodySchema, DashboardBody)?.widgets.map(({ properties }) => {
    const { title = 'without a title', period, stat } = properties;
    const lines = properties.metrics.map((line): GraphLine => {
      const last = line.at(-1);
      const options = { period, stat, ...(typeof last === 'object' && last) };
      const [Namespace = '', MetricName = '', ...rest] = line.filter((part) => typeof part === 'string');
      const Dimensions = rest.flatMap((Name, at) => (at % 2 === 0 ? [{ Name, Value: rest[at + 1] ?? '' }] : []));
      return { metric: options.expression ? undefined : { Namespace, MetricName, Dimensions }, options };
    });
    return { title, lines };
  });
}

/** All metrics that alarms or dashboard read. */
export async function watchedMetrics(place: WatchedStack): Promise<Metric[]> {
  const alarms = await deployedAlarms(place);
  const widgets = (await dashboardWidgets(place)) ?? [];
  return [
    ...alarms.map(({ Namespace, MetricName, Dimensions }) => ({ Namespace, MetricName, Dimensions })),
    ...widgets.flatMap(({ lines }) => lines.flatMap(({ metric }) => metric ?? [])),
  ];
}

/**
 * Counted over the whole account, without a dimension: https://docs.aws.amazon.com/lambda/latest/dg/monitoring-metrics-view.html,
 * "Across all functions"; https://docs.aws.amazon.com/step-functions/latest/dg/procedure-cw-metrics.html.
 */
const OF_THE_ACCOUNT = ['AWS/Lambda Throttles', 'AWS/States ExecutionThrottled'];

/** Whether nothing counts this metric: its name, its dimensions, or what it is of is wrong. */
export function misreadMetric(
  { Namespace = '', MetricName = '', Dimensions = [] }: Metric,
  place: WatchedStack,
): boolean {
  const { target, stack } = place;
  const names = Dimensions.map(({ Name = '' }) => Name);
  const values = Dimensions.map(({ Value = '' }) => Value);
  if (Namespace === namespaceOf(target.stack.replace(/^crm-export-/, ''))) {
    const sets: readonly (readonly string[])[] =
      Object.entries(METRICS).find(([name]) => name === MetricName)?.[1].dimensions ?? [];
    return !sets.some((set) => set.length === names.length && set.every((name) => names.includes(name)));
  }
  if (names.length === 0 && OF_THE_ACCOUNT.includes(`${Namespace} ${MetricName}`)) return false;
  const physical = (type: string) => stack.ofType(type).map(({ physicalId }) => physicalId);
  const known: Record<string, [dimension: string, of: string[]]> = {
    'AWS/States': ['StateMachineArn', physical('AWS::StepFunctions::StateMachine')],
    'AWS/Lambda': ['FunctionName', physical('AWS::Lambda::Function')],
    'AWS/SQS': ['QueueName', physical('AWS::SQS::Queue').map((url) => url.split('/').at(-1) ?? '')],
  };
  const [dimension, of] = known[Namespace] ?? ['', []];
  // Children of a map are counted under the machine and the label of the map.
  return names.join() !== dimension || !of.some((one) => values[0] === one || values[0]?.startsWith(`${one}/`));
}

/** `crm-export-prod RunsEnded {entity=leads}` */
export function metricText({ Namespace, MetricName, Dimensions = [] }: Metric): string {
  return `${Namespace} ${MetricName} {${Dimensions.map(({ Name, Value }) => `${Name}=${Value}`).join(', ')}}`;
}
