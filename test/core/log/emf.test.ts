import { expect, test } from 'vitest';
import {
  DASHBOARD_ONLY,
  embeddedMetrics,
  METRICS,
  type Measures,
  type MetricName,
  namespaceOf,
} from '../../../core/log/metrics.ts';

const NAMES = Object.keys(METRICS) as MetricName[];
const NAMESPACE = namespaceOf('prod');

function emitted(values: Measures, dimensions: { entity?: string; outcome?: string } = {}, dashboard = true) {
  const line = embeddedMetrics(values, { namespace: NAMESPACE, at: 1_795_000_000_000, dimensions, dashboard });
  return line && metricsIn(JSON.parse(JSON.stringify(line)));
}

/** Every metric that CloudWatch reads from a line, by the specification of the embedded metric format. */
function metricsIn({ _aws, ...values }: { _aws: { CloudWatchMetrics: Directive[] }; [value: string]: unknown }) {
  return _aws.CloudWatchMetrics.flatMap(({ Namespace: namespace, Dimensions, Metrics }) =>
    Metrics.flatMap(({ Name: name, Unit: unit }) =>
      Dimensions.map((set) => {
        const dimensions = Object.fromEntries(set.map((dimension) => [dimension, values[dimension]]));
        return { namespace, name, unit, dimensions, value: values[name] };
      }),
    ),
  );
}

interface Directive {
  Namespace: string;
  Dimensions: string[][];
  Metrics: { Name: string; Unit: string }[];
}

test.each(NAMES)('writes %s in the embedded metric format with its unit and each of its sets of dimensions', (name) => {
  const dimensions = { entity: 'leads', outcome: 'PUBLISHED' };

  const metrics = emitted({ [name]: 7 }, dimensions);

  expect(metrics).toEqual(
    METRICS[name].dimensions.map((set) => ({
      namespace: 'crm-export-prod',
      name,
      unit: METRICS[name].unit,
      dimensions: Object.fromEntries(set.map((dimension) => [dimension, dimensions[dimension]])),
      value: 7,
    })),
  );
});

test('leaves out the metrics that only the dashboard reads if there is no dashboard', () => {
  const all = Object.fromEntries(NAMES.map((name) => [name, 1]));

  const counted = emitted(all, { entity: 'leads', outcome: 'PUBLISHED' }, false)?.map(({ name }) => name);

  expect(new Set(counted)).toEqual(new Set(NAMES.filter((name) => !DASHBOARD_ONLY.includes(name))));
});

test('counts a run without an entity by its outcome only', () => {
  expect(emitted({ RunsEnded: 1 }, { outcome: 'InvalidInput' })).toMatchObject([
    { name: 'RunsEnded', dimensions: { outcome: 'InvalidInput' } },
  ]);
});

test.each<[string, Measures]>([
  ['no measures', {}],
  ['an unknown value', { FileRows: undefined }],
  ['a value that is not a number', { FileBytes: Number.NaN }],
  ['an infinite value', { FileBytes: Number.POSITIVE_INFINITY }],
  ['a metric without its dimension', { StatusChecks: 1 }],
])('writes no line for %s', (_, values) => {
  expect(emitted(values)).toBeUndefined();
});

test('metrics have no other dimension than entity and outcome, because each combination is billed', () => {
  const all = NAMES.flatMap((name) => METRICS[name].dimensions.flat());

  expect(new Set(all)).toEqual(new Set(['entity', 'outcome']));
});
