import { Duration, Stack } from 'aws-cdk-lib';
import * as cloudwatch from 'aws-cdk-lib/aws-cloudwatch';
import { Construct } from 'constructs';
import type { Configuration } from '../../core/config/configuration.ts';
import { ENTITIES, type Entity } from '../../core/config/entities.ts';
import { type MetricName, namespaceOf } from '../../core/log/metrics.ts';
import { tableEntities } from '../../core/table/stored-table.ts';
import { awsMetric, type Monitoring, metricsOf, type OurMetric, type Watched } from './monitoring.ts';

interface NightDashboardProps extends Watched {
  configuration: Configuration;
  monitoring: Monitoring;
}

const HOUR = Duration.hours(1);
const DAY = Duration.days(1);
const COUNTS = { leftYAxis: { min: 0, showUnits: false } };
const TWO_AXES = { leftYAxis: { min: 0 }, rightYAxis: { min: 0 }, width: 8 };

/** Answers "did last night work?" with alarms, a row for each entity, and details for two weeks. */
export class NightDashboard extends Construct {
  readonly name: string;

  constructor(scope: Construct, id: string, { configuration, monitoring, ...watched }: NightDashboardProps) {
    super(scope, id);
    this.name = Stack.of(this).stackName;
    const { name, deployment } = configuration;
    const ours = metricsOf(name);
    new cloudwatch.Dashboard(this, 'Board', {
      dashboardName: this.name,
      defaultInterval: Duration.days(14),
      // Keeps the periods of the widgets. By default, CloudWatch uses longer periods for longer ranges.
      periodOverride: cloudwatch.PeriodOverride.INHERIT,
      widgets: [
        [new cloudwatch.TextWidget({ markdown: titleText(deployment.alarms.runbookUrl), width: 24, height: 2 })],
        // An entity that does not belong to the night has its own alarm, which is shown separately.
        Object.entries({ 'The night': monitoring.nights, 'Everything else': monitoring.others }).map(
          ([title, alarms]) => new cloudwatch.AlarmStatusWidget({ title, alarms, width: 12, height: 5 }),
        ),
        ...ENTITIES.map((entity) => entityRow(entity, ours, namespaceOf(name))),
        machinesRow(watched),
        lastRow(watched, ours, tableEntities(deployment).length > 0),
      ],
    });
  }
}

function entityRow(entity: Entity, ours: OurMetric, namespace: string): cloudwatch.IWidget[] {
  const last = (name: MetricName, label: string) =>
    ours(name, { entity }, { period: HOUR, statistic: cloudwatch.Stats.MAXIMUM, label });
  const figures = [
    last('FileRows', 'rows'),
    last('FileBytes', 'bytes'),
    last('RunDuration', 'seconds'),
    last('StatusChecks', 'status checks'),
  ];
  // Hours since the newest point with a count. EPOCH has a value for every point; IF keeps those with a count
  // (https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/using-metric-math.html).
  const age = new cloudwatch.MathExpression({
    expression: '(EPOCH(FILL(published, 0)) - FILL(IF(published > 0, EPOCH(published), published), REPEAT)) / 3600',
    usingMetrics: { published: ours('RunsEnded', { entity, outcome: 'PUBLISHED' }, { period: HOUR }) },
    label: 'hours ago',
    period: HOUR,
  });
  // All outcomes, including unknown error names. A run that crashed or was stopped has no outcome; it is in the graph of
  // its machine.
  const search = `{"${namespace}",entity,outcome} MetricName="RunsEnded" entity="${entity}"`;
  const expression = `SEARCH('${search}', 'Sum', ${DAY.toSeconds()})`;
  const outcomes = new cloudwatch.MathExpression({ expression, usingMetrics: {}, label: '', period: DAY });
  const title = `${entity}: runs by day (Export runs has crashed, stopped and timed-out runs)`;
  return [
    new cloudwatch.SingleValueWidget({ title: `${entity}: last published`, metrics: [age], width: 5, height: 4 }),
    new cloudwatch.SingleValueWidget({ title: `${entity}: last export`, metrics: figures, width: 10, height: 4 }),
    new cloudwatch.GraphWidget({ title, left: [outcomes], stacked: true, ...COUNTS, width: 9, height: 4 }),
  ];
}

function machinesRow({ machines }: Watched): cloudwatch.IWidget[] {
  const all = [machines.export, machines.updates ?? []].flat();
  const names = ['ExecutionsSucceeded', 'ExecutionsFailed', 'ExecutionsTimedOut', 'ExecutionsAborted'];
  return all.map(({ stateMachineArn: StateMachineArn }, index) => {
    const left = names.map((name) => awsMetric('AWS/States', name, { StateMachineArn }, { period: DAY }));
    const title = `${index === 0 ? 'Export' : 'Customer update'} runs, by day`;
    return new cloudwatch.GraphWidget({ title, left, stacked: true, ...COUNTS, width: 24 / all.length });
  });
}

/** @param tables whether an entity has tables */
function lastRow(
  { deadLetterQueue: { queueName: QueueName } }: Watched,
  ours: OurMetric,
  tables: boolean,
): cloudwatch.IWidget[] {
  const daily = (name: MetricName, label: string) => ours(name, {}, { period: DAY, label });
  const hourly = (statistic: string, label: string) => ({ period: HOUR, statistic, label });
  const most = (label: string) => hourly(cloudwatch.Stats.MAXIMUM, label);
  const lost = daily('GrantRotatedButNotStored', 'lost grants');
  const warned = [daily('FileWarnings', 'warnings'), daily('SchemaChanges', 'changed columns')];
  if (tables) warned.push(daily('TablesNotWritten', 'tables not written'));
  return [
    new cloudwatch.GraphWidget({
      title: 'Tokens: refreshes and lost grants, by day',
      left: [daily('TokenRefreshes', 'refreshes')],
      right: [lost, daily('TokenEndpointUnanswered', 'refreshes without an answer')],
      ...TWO_AXES,
    }),
    new cloudwatch.GraphWidget({
      title: 'Starts that were not delivered, and incomplete nights',
      left: [
        awsMetric('AWS/SQS', 'ApproximateNumberOfMessagesVisible', { QueueName }, most('in the queue')),
        ours('NightIncomplete', {}, most('not complete')),
      ],
      ...COUNTS,
      width: 8,
    }),
    new cloudwatch.GraphWidget({
      title: 'Files: bytes per second; warnings and changed columns by day',
      left: ENTITIES.map((entity) => ours('TransferRate', { entity }, hourly(cloudwatch.Stats.AVERAGE, entity))),
      right: warned,
      ...TWO_AXES,
    }),
  ];
}

function titleText(runbookUrl: string): string {
  const link = /^https:/.test(runbookUrl) ? `[the runbook](${runbookUrl})` : runbookUrl;
  return `# Did last night work?\nRed for six hours after the deadline: the night was incomplete. See ${link}; \`status\` shows it at any time.`;
}
