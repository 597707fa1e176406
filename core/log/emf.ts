import { type Dimension, METRICS, type MetricName, type MetricUnit } from './metrics.ts';

/** Values of metrics, in the unit of each. */
export type Measures = { [N in MetricName]?: number | undefined };

interface Context {
  namespace: string;
  /** Milliseconds since 1970. */
  at: number;
  dimensions: { [D in Dimension]?: string | undefined };
}

/** One metric of a line: where it counts, and under which sets of dimensions. */
interface Directive {
  Namespace: string;
  Dimensions: Dimension[][];
  Metrics: { Name: MetricName; Unit: MetricUnit }[];
}

/**
 * The members that make a line of a log carry metrics (CloudWatch's embedded metric format), or `undefined` where no
 * metric is left. A set of dimensions counts where each of its dimensions is known, a metric where one of its sets does.
 *
 * Written here instead of by `@aws-lambda-powertools/metrics`: that gives all metrics of a line the same sets, writes
 * `"Dimensions": []` for a metric without any, which the format does not allow (at least one set, which may be empty), and
 * is silent where POWERTOOLS_METRICS_DISABLED or POWERTOOLS_DEV is set, and with it the alarms. It also adds 11 KB to each function.
 */
export function embeddedMetrics(
  values: Measures,
  { namespace, at, dimensions }: Context,
): Record<string, unknown> | undefined {
  const directives = Object.entries(values).flatMap(([name, value]): Directive[] => {
    if (!Number.isFinite(value)) return [];
    const { unit, dimensions: sets }: { unit: MetricUnit; dimensions: readonly (readonly Dimension[])[] } =
      METRICS[name as MetricName];
    const known = sets.filter((set) => set.every((dimension) => dimensions[dimension])).map((set) => [...set]);
    if (known.length === 0) return [];
    return [{ Namespace: namespace, Dimensions: known, Metrics: [{ Name: name as MetricName, Unit: unit }] }];
  });
  if (directives.length === 0) return undefined;
  const names = directives.flatMap(({ Metrics }) => Metrics.map(({ Name }) => [Name, values[Name]]));
  return { ...dimensions, ...Object.fromEntries(names), _aws: { Timestamp: at, CloudWatchMetrics: directives } };
}
