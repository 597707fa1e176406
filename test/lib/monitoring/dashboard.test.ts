import { describe, expect, test } from 'vitest';
import { ENTITIES } from '../../../core/config/entities.ts';
import { METRICS, type MetricName } from '../../../core/log/metrics.ts';
import { exampleDeployment, fullDeployment, updatingDeployment } from '../../../scripts/deployments.ts';
import { synthesise } from '../../../scripts/synthesise.ts';
import { resolved, type Template } from '../../../scripts/template.ts';
import { AWS_METRICS } from '../support/aws-metrics.ts';
import { dashboardBody } from '../support/dashboard-grammar.ts';
import { allOf, oneOf } from '../support/template.ts';

const json = synthesise(fullDeployment());

function bodyText(template: Template): unknown {
  const [, { Properties }] = oneOf(template, 'AWS::CloudWatch::Dashboard');
  return JSON.parse(resolved(Properties.DashboardBody));
}

const body = dashboardBody.parse(bodyText(json));
const textOf = (widget: (typeof body.widgets)[number]) => JSON.stringify(widget);
const titleOf = ({ properties }: (typeof body.widgets)[number]) => ('title' in properties ? properties.title : '');

/** All metrics that the widgets name by namespace and name, with the names of their dimensions. */
function metricsIn(widgets: typeof body.widgets) {
  return widgets
    .flatMap((widget) => (widget.type === 'metric' ? widget.properties.metrics : []))
    .map((parts) => parts.filter((part) => typeof part === 'string'))
    .filter((words) => words.length > 0)
    .map(([namespace = '', name = '', ...pairs]) => ({
      namespace,
      name,
      dimensions: pairs.filter((_, index) => index % 2 === 0),
    }));
}

describe('the dashboard', () => {
  test.each([
    ['with customer updates', json],
    ['without', synthesise(exampleDeployment({ dashboard: true }))],
    [
      'without any night',
      synthesise(
        updatingDeployment({
          dashboard: true,
          entities: Object.fromEntries(ENTITIES.map((entity) => [entity, { enabled: false }])),
        }),
      ),
    ],
  ])("%s is what CloudWatch's grammar allows", (_, template) => {
    expect(dashboardBody.safeParse(bodyText(template)).error?.issues).toBeUndefined();
  });

  test('reads more metrics than a free one may, as its setting and docs/cost.md say', () => {
    const plain = dashboardBody.parse(bodyText(synthesise(exampleDeployment({ dashboard: true }))));

    expect(metricsIn(plain.widgets).length).toBe(68);
  });

  test('is named after the deployment, and found by an output', () => {
    const [, { Properties }] = oneOf(json, 'AWS::CloudWatch::Dashboard');

    expect(Properties.DashboardName).toBe('crm-export-example');
    expect(json.Outputs.DashboardName?.Value).toBe('crm-export-example');
  });

  test('is not there unless the configuration asks for it, and nothing else is missing', () => {
    const without = synthesise(fullDeployment({ dashboard: undefined }));
    const types = ({ Resources }: Template) => Object.values(Resources).map(({ Type }) => Type);

    expect(types(without)).toEqual(types(json).filter((type) => type !== 'AWS::CloudWatch::Dashboard'));
    expect(without.Outputs.DashboardName).toBeUndefined();
  });

  test('shows two weeks, in the periods that it names', () => {
    expect(body).toMatchObject({ start: '-P14D', periodOverride: 'inherit' });
  });

  test('answers first: a light for the night, and for what no night waits for; one for everything else', () => {
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
    expect(others?.type === 'alarm' && others.properties.alarms.length).toBe(
      allOf(json, 'AWS::CloudWatch::Alarm').length - 1,
    );
  });

  test.each(ENTITIES)(
    'has a row for %s: the age, size and length of its last export, and how its runs ended',
    (entity) => {
      const row = body.widgets.filter((widget) => titleOf(widget)?.startsWith(`${entity}: `));
      const [age, figures, outcomes] = row.map(textOf);
      expect(row.map(titleOf).at(-1), 'where the rest is').toContain('in Export runs');

      expect(new Set(row.map(({ y }) => y)).size, 'they stand beside each other').toBe(1);
      expect(row.reduce((sum, { width = 6 }) => sum + width, 0)).toBe(24);
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

  test('goes on with functions, tokens and the queue', () => {
    const titles = body.widgets.map(titleOf).slice(3 + 3 * ENTITIES.length);

    expect(titles).toEqual([
      'Export runs, by day',
      'Customer update runs, by day',
      'Functions: longest call',
      'Functions: errors',
      'Functions: throttled',
      'Tokens: refreshes and lost grants, by day',
      'Starts that were not delivered, nights that were not complete',
      'Files: bytes per second; warnings and changed columns by day',
    ]);
  });

  test('reads metrics that exist, under the dimensions that they are counted by', () => {
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
    for (const name of Object.keys(METRICS))
      expect(shown, 'a metric that nobody sees is not worth its price').toContain(name);
  });
});

describe('the grammar', () => {
  const graph = (properties: object) => ({
    widgets: [{ type: 'metric', properties: { region: 'r', metrics: [['A', 'B']], ...properties } }],
  });

  test.each<[what: string, body: object]>([
    ['a property that nobody knows', graph({ colour: 'red' })],
    ['a view that nobody knows', graph({ view: 'histogram' })],
    ['a widget without a region', { widgets: [{ type: 'metric', properties: { metrics: [['A', 'B']] } }] }],
    ['a dimension without a value', graph({ metrics: [['A', 'B', 'c']] })],
    ['an expression over a metric that is not there', graph({ metrics: [[{ expression: 'm1 * 2' }]] })],
    [
      'two metrics of one id',
      graph({
        metrics: [
          ['A', 'B', { id: 'a' }],
          ['A', 'C', { id: 'a' }],
        ],
      }),
    ],
    ['an id that begins large', graph({ metrics: [['A', 'B', { id: 'M1' }]] })],
    ['a period that is no minute', graph({ period: 90 })],
    ['lights without an alarm', { widgets: [{ type: 'alarm', properties: { alarms: [] } }] }],
    ['a widget beyond the columns', { widgets: [{ type: 'text', x: 20, width: 6, properties: { markdown: 'x' } }] }],
  ])('refuses %s', (_, wrong) => {
    expect(dashboardBody.safeParse(graph({})).success).toBe(true);
    expect(dashboardBody.safeParse(wrong).success).toBe(false);
  });
});
