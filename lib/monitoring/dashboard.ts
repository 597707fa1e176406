import { Duration, Stack } from 'aws-cdk-lib';
import {
  AlarmStatusWidget,
  Dashboard,
  GraphWidget,
  type IMetric,
  type IWidget,
  MathExpression,
  PeriodOverride,
  SingleValueWidget,
  Stats,
  TextWidget,
} from 'aws-cdk-lib/aws-cloudwatch';
import { Construct } from 'constructs';
import type { Configuration } from '../../core/config/configuration.ts';
import { ENTITIES, type Entity } from '../../core/config/entities.ts';
import { namespaceOf } from '../../core/log/metrics.ts';
import { tableEntities } from '../../core/table/table-key.ts';
import { awsMetric, type Monitoring, metricsOf, type OurMetric, type Watched } from './monitoring.ts';

interface NightDashboardProps extends Watched {
  configuration: Configuration;
  monitoring: Monitoring;
}

const HOUR = Duration.hours(1);
const DAY = Duration.days(1);
const COUNTS = { leftYAxis: { min: 0, showUnits: false } };
const TWO_AXES = { leftYAxis: { min: 0 }, rightYAxis: { min: 0 } };

/** Answers "did last night work?" with alarms, a row for each entity, and details for two weeks. */
export class NightDashboard extends Construct {
  readonly name: string;
  private readonly deployment: string;
  private readonly ours: OurMetric;
  private readonly tables: boolean;

  constructor(scope: Construct, id: string, { configuration, monitoring, ...watched }: NightDashboardProps) {
    super(scope, id);
    this.name = Stack.of(this).stackName;
    this.deployment = configuration.name;
    this.ours = metricsOf(configuration.name);
    this.tables = tableEntities(configuration.deployment).length > 0;
    const { runbookUrl } = configuration.deployment.alarms;
    new Dashboard(this, 'Board', {
      dashboardName: this.name,
      defaultInterval: Duration.days(14),
      // Keeps the periods given here: by default, CloudWatch uses longer ones for longer ranges.
      periodOverride: PeriodOverride.INHERIT,
      widgets: [
        [title(runbookUrl)],
        lights(monitoring),
        ...ENTITIES.map((entity) => this.entityRow(entity)),
        this.machines(watched),
        this.functions(watched),
        this.tokensAndQueue(watched),
      ],
    });
  }

  private entityRow(entity: Entity): IWidget[] {
    const last = (name: 'FileRows' | 'FileBytes' | 'RunDuration' | 'StatusChecks', label: string) =>
      this.ours(name, { entity }, { period: HOUR, statistic: Stats.MAXIMUM, label });
    const figures = [
      last('FileRows', 'rows'),
      last('FileBytes', 'bytes'),
      last('RunDuration', 'seconds'),
      last('StatusChecks', 'status checks'),
    ];
    return [
      new SingleValueWidget({ title: `${entity}: last published`, metrics: [this.age(entity)], width: 5, height: 4 }),
      new SingleValueWidget({ title: `${entity}: last export`, metrics: figures, width: 10, height: 4 }),
      new GraphWidget({
        title: `${entity}: runs by day (crashed, stopped, timed out: in Export runs)`,
        left: [this.outcomes(entity)],
        stacked: true,
        ...COUNTS,
        width: 9,
        height: 4,
      }),
    ];
  }

  /**
   * Hours since the newest point with a count. EPOCH has a value for every point; IF keeps those with a count
   * (https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/using-metric-math.html).
   */
  private age(entity: Entity): IMetric {
    const published = this.ours('RunsEnded', { entity, outcome: 'PUBLISHED' }, { period: HOUR });
    const at = 'IF(published > 0, EPOCH(published), published)';
    return new MathExpression({
      expression: `(EPOCH(FILL(published, 0)) - FILL(${at}, REPEAT)) / 3600`,
      usingMetrics: { published },
      label: 'hours ago',
      period: HOUR,
    });
  }

  /**
   * The graph has all outcomes, including unknown error names. A run that crashed or was stopped has no outcome; it is
   * in the graph of its machine.
   */
  private outcomes(entity: Entity): IMetric {
    const search = `{"${namespaceOf(this.deployment)}",entity,outcome} MetricName="RunsEnded" entity="${entity}"`;
    return new MathExpression({
      expression: `SEARCH('${search}', 'Sum', ${DAY.toSeconds()})`,
      usingMetrics: {},
      label: '',
      period: DAY,
    });
  }

  private machines({ machines }: Watched): IWidget[] {
    const all = [machines.export, ...(machines.updates ? [machines.updates] : [])];
    const names = ['ExecutionsSucceeded', 'ExecutionsFailed', 'ExecutionsTimedOut', 'ExecutionsAborted'];
    return all.map(
      (machine, index) =>
        new GraphWidget({
          title: `${index === 0 ? 'Export' : 'Customer update'} runs, by day`,
          left: names.map((metricName) =>
            awsMetric('AWS/States', metricName, { StateMachineArn: machine.stateMachineArn }, { period: DAY }),
          ),
          stacked: true,
          ...COUNTS,
          width: 24 / all.length,
        }),
    );
  }

  private functions({ functions }: Watched): IWidget[] {
    const graph = (heading: string, metricName: string, statistic: string) =>
      new GraphWidget({
        title: heading,
        left: functions.map(({ functionName: label }) =>
          awsMetric('AWS/Lambda', metricName, { FunctionName: label }, { statistic, period: HOUR, label }),
        ),
        leftYAxis: { min: 0 },
        width: 8,
      });
    return [
      graph('Functions: longest call', 'Duration', Stats.MAXIMUM),
      graph('Functions: errors', 'Errors', Stats.SUM),
      graph('Functions: throttled', 'Throttles', Stats.SUM),
    ];
  }

  private tokensAndQueue({ deadLetterQueue: { queueName } }: Watched): IWidget[] {
    const rates = ENTITIES.map((entity) =>
      this.ours('TransferRate', { entity }, { period: HOUR, statistic: Stats.AVERAGE, label: entity }),
    );
    const inQueue = { statistic: Stats.MAXIMUM, period: HOUR, label: 'in the queue' };
    return [
      new GraphWidget({
        title: 'Tokens: refreshes and lost grants, by day',
        left: [this.ours('TokenRefreshes', {}, { period: DAY, label: 'refreshes' })],
        right: [
          this.ours('GrantRotatedButNotStored', {}, { period: DAY, label: 'lost grants' }),
          this.ours('TokenEndpointUnanswered', {}, { period: DAY, label: 'refreshes without an answer' }),
        ],
        ...TWO_AXES,
        width: 8,
      }),
      new GraphWidget({
        title: 'Starts that were not delivered, and incomplete nights',
        left: [
          awsMetric('AWS/SQS', 'ApproximateNumberOfMessagesVisible', { QueueName: queueName }, inQueue),
          this.ours('NightIncomplete', {}, { period: HOUR, statistic: Stats.MAXIMUM, label: 'not complete' }),
        ],
        ...COUNTS,
        width: 8,
      }),
      new GraphWidget({
        title: 'Files: bytes per second; warnings and changed columns by day',
        left: rates,
        right: [
          this.ours('FileWarnings', {}, { period: DAY, label: 'warnings' }),
          this.ours('SchemaChanges', {}, { period: DAY, label: 'changed columns' }),
          ...(this.tables ? [this.ours('TablesNotWritten', {}, { period: DAY, label: 'tables not written' })] : []),
        ],
        ...TWO_AXES,
        width: 8,
      }),
    ];
  }
}

function title(runbookUrl: string): IWidget {
  const link = /^https:/.test(runbookUrl) ? `[the runbook](${runbookUrl})` : runbookUrl;
  return new TextWidget({
    markdown: `# Did last night work?\nRed for six hours after the deadline: the night was incomplete. See ${link}; \`status\` shows it at any time.`,
    width: 24,
    height: 2,
  });
}

/** Alarm states. An entity that does not belong to the night has its own light. */
function lights({ nights, others }: Monitoring): IWidget[] {
  return [
    new AlarmStatusWidget({ title: 'The night', alarms: nights, width: 12, height: 5 }),
    new AlarmStatusWidget({ title: 'Everything else', alarms: others, width: 12, height: 5 }),
  ];
}
