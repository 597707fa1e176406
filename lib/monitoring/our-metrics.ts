import type { Duration } from 'aws-cdk-lib';
import { Metric, Stats } from 'aws-cdk-lib/aws-cloudwatch';
import { type Dimension, type MetricName, namespaceOf } from '../../core/log/metrics.ts';

interface MetricOptions {
  period: Duration;
  /** How values are combined; by default they are added. */
  statistic?: string;
  label?: string;
}

/** Metrics that the functions of a deployment emit. */
export type OurMetric = (
  name: MetricName,
  dimensions: Partial<Record<Dimension, string>>,
  options: MetricOptions,
) => Metric;

export function awsMetric(
  namespace: string,
  metricName: string,
  dimensionsMap: Record<string, string>,
  { statistic = Stats.SUM, ...options }: MetricOptions,
): Metric {
  return new Metric({ namespace, metricName, dimensionsMap, statistic, ...options });
}

/** @param deployment its name, which is in the namespace */
export function metricsOf(deployment: string): OurMetric {
  return (metricName, dimensions, options) => awsMetric(namespaceOf(deployment), metricName, dimensions, options);
}
