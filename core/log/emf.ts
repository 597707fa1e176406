import { DASHBOARD_ONLY, type Dimension, METRICS, type MetricName } from './metrics.ts';

export type Measures = { [N in MetricName]?: number | undefined };

interface Context {
  namespace: string;
  /** Milliseconds since 1970. */
  at: number;
  dimensions: { [D in Dimension]?: string | undefined };
  /** Whether the deployment has a dashboard. */
  dashboard: boolean;
}

/**
 * A log line in the embedded metric format of CloudWatch; `undefined` where no metric is left. A set of dimensions counts
 * where all of them are known.
 * Not by `@aws-lambda-powertools/metrics`: it gives all metrics of a line the same sets, writes an invalid
 * `"Dimensions": []`, is silent where POWERTOOLS_METRICS_DISABLED or POWERTOOLS_DEV is set, and adds 11 KB.
 */
export function embeddedMetrics(
  values: Measures,
  { namespace, at, dimensions, dashboard }: Context,
): Record<string, unknown> | undefined {
  const directives = (Object.keys(values) as MetricName[]).flatMap((name) => {
    if (!dashboard && DASHBOARD_ONLY.includes(name)) return [];
    const sets: readonly (readonly Dimension[])[] = METRICS[name].dimensions;
    const known = sets.filter((set) => set.every((dimension) => dimensions[dimension]));
    if (!Number.isFinite(values[name]) || known.length === 0) return [];
    return [{ Namespace: namespace, Dimensions: known, Metrics: [{ Name: name, Unit: METRICS[name].unit }] }];
  });
  if (directives.length === 0) return undefined;
  const names = directives.flatMap(({ Metrics }) => Metrics.map(({ Name }) => [Name, values[Name]]));
  return { ...dimensions, ...Object.fromEntries(names), _aws: { Timestamp: at, CloudWatchMetrics: directives } };
}
