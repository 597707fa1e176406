import * as z from 'zod';

/** CloudWatch's units that this project might use. */
const unit = z.enum(['Count', 'Seconds', 'Milliseconds', 'Bytes', 'Bytes/Second', 'Percent', 'None']);

const directive = z.strictObject({
  Namespace: z
    .string()
    .regex(/^[\w.\-/#:]+$/)
    .min(1)
    .max(256),
  Dimensions: z.array(z.array(z.string().min(1).max(250)).max(30)).min(1),
  Metrics: z
    .array(z.strictObject({ Name: z.string().min(1).max(1024), Unit: unit }))
    .min(1)
    .max(100),
});

/**
 * The embedded metric format, as AWS specifies it ("Specification: Embedded metric format", CloudWatch's user guide):
 * each dimension is a text at the root, each metric a number there, and the line is one JSON object.
 */
const emfLineSchema = z
  .looseObject({
    _aws: z.strictObject({ Timestamp: z.int().positive(), CloudWatchMetrics: z.array(directive).min(1) }),
  })
  .superRefine((line, context) => {
    const problem = (message: string) => context.addIssue({ code: 'custom', message });
    for (const { Dimensions, Metrics } of line._aws.CloudWatchMetrics) {
      for (const dimension of Dimensions.flat()) {
        const value = line[dimension];
        if (typeof value !== 'string' || value.length < 1 || value.length > 1024) problem(`no text for ${dimension}`);
      }
      for (const { Name } of Metrics) if (!Number.isFinite(line[Name])) problem(`no number for ${Name}`);
    }
  });

/** One metric that CloudWatch reads from a line: its dimensions sorted, with their values. */
export interface EmittedMetric {
  namespace: string;
  name: string;
  unit: string;
  dimensions: Record<string, string>;
  value: number;
}

/** Every metric that CloudWatch reads from a line. @throws ZodError if the line is not in the format */
export function metricsIn(line: unknown): EmittedMetric[] {
  const parsed = emfLineSchema.parse(line);
  return parsed._aws.CloudWatchMetrics.flatMap(({ Namespace, Dimensions, Metrics }) =>
    Metrics.flatMap(({ Name, Unit }) =>
      Dimensions.map((set) => ({
        namespace: Namespace,
        name: Name,
        unit: Unit,
        dimensions: Object.fromEntries(set.toSorted().map((dimension) => [dimension, String(parsed[dimension])])),
        value: Number(parsed[Name]),
      })),
    ),
  );
}
