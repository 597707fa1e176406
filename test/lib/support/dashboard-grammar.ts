import * as z from 'zod';

/**
 * The body of a dashboard, as AWS documents it in "Dashboard body structure and syntax"
 * (https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/CloudWatch-Dashboard-Body-Structure.html): the
 * widgets of this project with all documented properties, and no others. CloudWatch silently drops unknown ones.
 */

/** A time relative to now, such as -PT6H or -P14D, or a date. */
const time = z.string().regex(/^(-P(\d+[DWM]|T\d+[HM]|\d+DT\d+[HM])|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z)$/);

/** A period in seconds. Short periods are for high-resolution metrics. */
const period = z.int().refine((seconds) => [1, 5, 10, 30].includes(seconds) || (seconds > 0 && seconds % 60 === 0));

const statistic = z
  .string()
  .regex(/^(SampleCount|Average|Sum|Minimum|Maximum|IQM|(p|tm|wm|tc|ts)\d{1,2}(\.\d+)?|(TM|WM|PR|TC|TS)\(.*\))$/);

const color = z.string().regex(/^#[0-9a-f]{6}$/i);

const rendering = z.strictObject({
  accountId: z.string().optional(),
  color: color.optional(),
  expression: z.string().min(1).max(2048).optional(),
  id: z
    .string()
    .regex(/^[a-z][A-Za-z0-9_]*$/)
    .optional(),
  label: z.string().optional(),
  period: period.optional(),
  region: z.string().optional(),
  stat: statistic.optional(),
  visible: z.boolean().optional(),
  yAxis: z.enum(['left', 'right']).optional(),
});

/** A metric: namespace, name, pairs of dimension and value, then the display options. Or an expression alone. */
const metric = z
  .array(z.union([z.string().min(1), rendering]))
  .min(1)
  .superRefine((parts, context) => {
    const problem = (message: string) => context.addIssue({ code: 'custom', message });
    const [last] = parts.slice(-1);
    const words = parts.filter((part) => typeof part === 'string');
    const drawn = typeof last === 'object' ? last : undefined;
    if (words.length !== parts.length - (drawn ? 1 : 0)) problem('what is drawn how is at the end');
    if (drawn?.expression !== undefined && words.length > 0) problem('an expression has no namespace and no name');
    if (drawn?.expression === undefined && words.length < 2) problem('a metric has a namespace and a name');
    if (words.length % 2 !== 0) problem('a dimension has a value');
    if (words.length > 2 + 2 * 30) problem('a metric has 30 dimensions at most');
  });

const axis = z.strictObject({
  label: z.string().optional(),
  max: z.number().optional(),
  min: z.number().optional(),
  showUnits: z.boolean().optional(),
});

const metricProperties = z
  .strictObject({
    accountId: z.string().optional(),
    annotations: z.record(z.string(), z.unknown()).optional(),
    end: time.optional(),
    labels: z.strictObject({ visible: z.boolean() }).optional(),
    legend: z.strictObject({ position: z.enum(['right', 'bottom', 'hidden']) }).optional(),
    liveData: z.boolean().optional(),
    metrics: z.array(metric).min(1).max(500),
    period: period.optional(),
    region: z.string().min(1),
    setPeriodToTimeRange: z.boolean().optional(),
    singleValueFullPrecision: z.boolean().optional(),
    sparkline: z.boolean().optional(),
    stacked: z.boolean().optional(),
    start: time.optional(),
    stat: statistic.optional(),
    timezone: z
      .string()
      .regex(/^[+-]\d{4}$/)
      .optional(),
    title: z.string().optional(),
    trend: z.boolean().optional(),
    view: z.enum(['timeSeries', 'singleValue', 'gauge', 'bar', 'pie', 'table']).optional(),
    yAxis: z.strictObject({ left: axis.optional(), right: axis.optional() }).optional(),
  })
  .superRefine(({ metrics, stacked, sparkline, view = 'timeSeries' }, context) => {
    const problem = (message: string) => context.addIssue({ code: 'custom', message });
    const drawn = metrics.flatMap((parts) => parts.filter((part) => typeof part === 'object'));
    const ids = drawn.flatMap(({ id }) => (id === undefined ? [] : [id]));
    if (new Set(ids).size !== ids.length) problem('an id stands for one metric');
    for (const { expression = '' } of drawn) {
      for (const unknown of unknownIds(expression, ids)) problem(`the expression names ${unknown}, which no metric is`);
    }
    if (stacked && view !== 'timeSeries') problem('only a time series is stacked');
    if (sparkline !== undefined && view !== 'singleValue') problem('only a single value has a sparkline');
  });

/** The unknown ids in an expression. Ids start in lower case, functions and keywords are upper case, texts quoted. */
function unknownIds(expression: string, ids: string[]): string[] {
  const words = expression.replace(/'[^']*'/g, '').match(/\b[a-z][A-Za-z0-9_]*\b/g) ?? [];
  return words.filter((word) => !ids.includes(word));
}

const alarmProperties = z.strictObject({
  alarms: z.array(z.string().min(1)).min(1).max(100),
  sortBy: z.enum(['default', 'stateUpdatedTimestamp', 'timestamp']).optional(),
  states: z.array(z.enum(['ALARM', 'INSUFFICIENT_DATA', 'OK'])).optional(),
  title: z.string().optional(),
});

const textProperties = z.strictObject({
  markdown: z.string().min(1),
  background: z.enum(['solid', 'transparent']).optional(),
});

const place = {
  x: z.int().min(0).max(23).optional(),
  y: z.int().min(0).optional(),
  width: z.int().min(1).max(24).optional(),
  height: z.int().min(1).max(1000).optional(),
};

const widget = z
  .discriminatedUnion('type', [
    z.strictObject({ type: z.literal('metric'), ...place, properties: metricProperties }),
    z.strictObject({ type: z.literal('alarm'), ...place, properties: alarmProperties }),
    z.strictObject({ type: z.literal('text'), ...place, properties: textProperties }),
  ])
  .refine(({ x = 0, width = 6 }) => x + width <= 24, { error: 'a widget ends within the 24 columns' });

export const dashboardBody = z.strictObject({
  start: time.optional(),
  end: time.optional(),
  periodOverride: z.enum(['auto', 'inherit']).optional(),
  widgets: z.array(widget).max(500),
});
