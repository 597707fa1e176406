import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { textTable } from '../../../cli/support/text.ts';
import { METRICS, type MetricName } from '../../../core/log/metrics.ts';
import { fullDeployment } from '../../../scripts/deployments.ts';
import { synthesise } from '../../../scripts/synthesise.ts';
import { resolved } from '../../../scripts/template.ts';
import { AWS_METRICS } from '../support/aws-metrics.ts';
import { oneOf } from '../support/template.ts';

const SCREEN = join(import.meta.dirname, '../../screens/dashboard.txt');

interface Widget {
  type: string;
  x: number;
  y: number;
  width: number;
  properties: { title?: string; markdown?: string; alarms?: string[]; metrics?: (string | object)[][] };
}

const [, { Properties: dashboard }] = oneOf(synthesise(fullDeployment()), 'AWS::CloudWatch::Dashboard');
const body: { widgets: Widget[] } = JSON.parse(resolved(dashboard.DashboardBody));

/** Where a widget is, and what it shows: the alarms, or the metrics with their dimensions and searches. */
function rowOf({ type, x, y, width, properties }: Widget): string[] {
  const { title = '', markdown = '', alarms = [], metrics = [] } = properties;
  const wordOf = (part: string | object) => (typeof part === 'string' ? part : String(Object(part).expression ?? ''));
  const shown = metrics.map((parts) => parts.map(wordOf).join(' ').trim());
  return [`${x},${y},${width}`, type, title + markdown, [...alarms, ...shown].join('; ')];
}

/** All metrics that the widgets name by namespace and name, with the names of their dimensions. */
function metricsIn(widgets: Widget[]) {
  return widgets
    .flatMap(({ properties }) => properties.metrics ?? [])
    .map((parts) => parts.filter((part) => typeof part === 'string'))
    .filter((words) => words.length > 0)
    .map(([namespace = '', name = '', ...pairs]) => ({
      namespace,
      name,
      dimensions: pairs.filter((_, index) => index % 2 === 0),
    }));
}

describe('the dashboard', () => {
  test('equals the stored table, of two weeks with the periods of the widgets', async () => {
    const columns = ['x,y,width', 'type', 'title', 'shows'];
    await expect(`${textTable(columns, body.widgets.map(rowOf))}\n`).toMatchFileSnapshot(SCREEN);
    expect(body).toMatchObject({ start: '-P14D', periodOverride: 'inherit' });
  });

  test('reads existing metrics with their dimensions, and shows every metric of the deployment', () => {
    const read = metricsIn(body.widgets);

    for (const { namespace, name, dimensions } of read) {
      const ours = METRICS[name as MetricName];
      if (namespace === 'crm-export-example') expect(ours.dimensions, name).toContainEqual(dimensions);
      else {
        expect(AWS_METRICS[namespace]?.names).toContain(name);
        expect(AWS_METRICS[namespace]?.dimensions).toEqual(dimensions);
      }
    }
    const shown = new Set(read.map(({ name }) => name));
    for (const name of Object.keys(METRICS)) expect(shown, 'every metric is on the dashboard').toContain(name);
  });
});
