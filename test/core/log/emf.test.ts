import { expect, test } from 'vitest';
import {
  DASHBOARD_ONLY,
  embeddedMetrics,
  METRICS,
  type Measures,
  type MetricName,
  namespaceOf,
} from '../../../core/log/metrics.ts';
import { metricsIn } from '../../support/emf.ts';

const NAMES = Object.keys(METRICS) as MetricName[];
const NAMESPACE = namespaceOf('prod');

function emitted(values: Measures, dimensions: { entity?: string; outcome?: string } = {}, dashboard = true) {
  const line = embeddedMetrics(values, { namespace: NAMESPACE, at: 1_795_000_000_000, dimensions, dashboard });
  return line && metricsIn(JSON.parse(JSON.stringify(line)));
}

test.each(NAMES)(
  '%s is written in the format of CloudWatch with its unit and each of its sets of dimensions',
  (name) => {
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
  },
);

test('all metrics of one end of a run stand in one line', () => {
  const values = { RunsEnded: 1, RunDuration: 61.5, FileBytes: 1000, FileRows: 10, StatusChecks: 3 };

  const metrics = emitted(values, { entity: 'leads', outcome: 'PUBLISHED' });

  expect(metrics?.map(({ name, dimensions, value }) => [name, Object.keys(dimensions).join(), value])).toEqual([
    ['RunsEnded', 'entity,outcome', 1],
    ['RunsEnded', 'outcome', 1],
    ['RunDuration', 'entity', 61.5],
    ['FileBytes', 'entity', 1000],
    ['FileRows', 'entity', 10],
    ['StatusChecks', 'entity', 3],
  ]);
});

test('what only the dashboard reads is counted where there is one', () => {
  const all = Object.fromEntries(NAMES.map((name) => [name, 1]));

  const counted = emitted(all, { entity: 'leads', outcome: 'PUBLISHED' }, false)?.map(({ name }) => name);

  expect(new Set(counted)).toEqual(new Set(NAMES.filter((name) => !DASHBOARD_ONLY.includes(name))));
});

test('a run that has no entity counts by its outcome alone', () => {
  expect(emitted({ RunsEnded: 1 }, { outcome: 'InvalidInput' })).toMatchObject([
    { name: 'RunsEnded', dimensions: { outcome: 'InvalidInput' } },
  ]);
});

test.each<[string, Measures]>([
  ['no value', {}],
  ['a value that is not known', { FileRows: undefined }],
  ['no number', { FileBytes: Number.NaN }],
  ['no end', { FileBytes: Number.POSITIVE_INFINITY }],
  ['no dimension that it needs', { StatusChecks: 1 }],
])('what has %s is left out, and a line without metrics is none', (_, values) => {
  expect(emitted(values)).toBeUndefined();
});

test('dimensions are entity and outcome only, for each combination is paid for and read by anyone', () => {
  const all = NAMES.flatMap((name) => METRICS[name].dimensions.flat());

  expect(new Set(all)).toEqual(new Set(['entity', 'outcome']));
});
