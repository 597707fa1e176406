import { describe, expect, test } from 'vitest';
import { ENTITIES } from '../../../core/config/entities.ts';
import { METRICS, type MetricName } from '../../../core/log/metrics.ts';
import { exampleDeployment, fullDeployment } from '../../../scripts/deployments.ts';
import { synthesise } from '../../../scripts/synthesise.ts';
import { resolved, type Template } from '../../../scripts/template.ts';
import { AWS_METRICS } from '../support/aws-metrics.ts';
import { allOf, oneOf } from '../support/template.ts';

const json = synthesise(fullDeployment());

interface Widget {
  type: string;
  x: number;
  y: number;
  width: number;
  properties: { title?: string; markdown?: string; alarms?: string[]; metrics?: (string | object)[][] };
}

function bodyOf(template: Template): { widgets: Widget[] } {
  const [, { Properties }] = oneOf(template, 'AWS::CloudWatch::Dashboard');
  return JSON.parse(resolved(Properties.DashboardBody));
}

const body = bodyOf(json);
const titleOf = ({ properties }: Widget) => properties.title;

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
  test('reads 53 metrics, more than a free dashboard may', () => {
    const plain = bodyOf(synthesise(exampleDeployment({ dashboard: true })));

    expect(metricsIn(plain.widgets).length).toBe(53);
  });

  test('is named after the deployment, and its name is an output', () => {
    const [, { Properties }] = oneOf(json, 'AWS::CloudWatch::Dashboard');

    expect(Properties.DashboardName).toBe('crm-export-example');
    expect(json.Outputs.DashboardName?.Value).toBe('crm-export-example');
  });

  test('exists only if the configuration asks for it, and changes no other resource', () => {
    const without = synthesise(fullDeployment({ dashboard: undefined }));
    const types = ({ Resources }: Template) => Object.values(Resources).map(({ Type }) => Type);

    expect(types(without)).toEqual(types(json).filter((type) => type !== 'AWS::CloudWatch::Dashboard'));
    expect(without.Outputs.DashboardName).toBeUndefined();
  });

  test('shows two weeks, with the periods of its widgets', () => {
    expect(body).toMatchObject({ start: '-P14D', periodOverride: 'inherit' });
  });

  test('begins with one light for the alarms of nights and one for all other alarms', () => {
    const [title, nights, others] = body.widgets;
    const arns = (type: string) =>
      allOf(json, 'AWS::CloudWatch::Alarm')
        .filter(([, { Properties }]) => Properties.AlarmName.includes(type))
        .map(([id]) => `${id}.Arn`);

    expect(title).toMatchObject({
      type: 'text',
      y: 0,
      properties: { markdown: expect.stringContaining('last night') },
    });
    expect(nights).toMatchObject({
      type: 'alarm',
      x: 0,
      properties: { alarms: [...arns('-NightIncomplete'), ...arns('-NoPublishedExport-')] },
    });
    expect(others?.properties.alarms).toHaveLength(allOf(json, 'AWS::CloudWatch::Alarm').length - 1);
  });

  test.each(ENTITIES)(
    'has a row for %s with age, size and duration of its last export, and the outcomes of its runs',
    (entity) => {
      const row = body.widgets.filter((widget) => titleOf(widget)?.startsWith(`${entity}: `));
      const [age, figures, outcomes] = row.map((widget) => JSON.stringify(widget));
      expect(row.map(titleOf).at(-1), 'names the widget with the other outcomes').toContain('in Export runs');

      expect(new Set(row.map(({ y }) => y)).size, 'they are in one row').toBe(1);
      expect(row.reduce((sum, { width }) => sum + width, 0)).toBe(24);
      expect(age).toContain(`"RunsEnded","entity","${entity}","outcome","PUBLISHED"`);
      for (const name of ['FileRows', 'FileBytes', 'RunDuration'])
        expect(figures).toContain(`"${name}","entity","${entity}"`);
      expect(outcomes).toContain(
        JSON.stringify(
          `SEARCH('{"crm-export-example",entity,outcome} MetricName="RunsEnded" entity="${entity}"', 'Sum', 86400)`,
        ),
      );
    },
  );

  test('continues with runs, tokens, undelivered starts and files', () => {
    const titles = body.widgets.map(titleOf).slice(3 + 3 * ENTITIES.length);

    expect(titles).toEqual([
      'Export runs, by day',
      'Customer update runs, by day',
      'Tokens: refreshes and lost grants, by day',
      'Starts that were not delivered, and incomplete nights',
      'Files: bytes per second; warnings and changed columns by day',
    ]);
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
