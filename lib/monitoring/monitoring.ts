import { Annotations, Duration, Stack } from 'aws-cdk-lib';
import * as cloudwatch from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import { Rule } from 'aws-cdk-lib/aws-events';
import { LambdaFunction } from 'aws-cdk-lib/aws-events-targets';
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Subscription, SubscriptionProtocol, Topic } from 'aws-cdk-lib/aws-sns';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import type { IStateMachine } from 'aws-cdk-lib/aws-stepfunctions';
import { Construct } from 'constructs';
import type { Configuration } from '../../core/config/configuration.ts';
import type { Deployment } from '../../core/config/deployment.ts';
import { ENTITIES, type Entity } from '../../core/config/entities.ts';
import { freshnessOf } from '../../core/config/timing.ts';
import { type Dimension, type MetricName, namespaceOf } from '../../core/log/metrics.ts';
import { isWatchedAlone } from '../../core/night/night-schedule.ts';
import { MAILER } from '../../core/step/steps.ts';
import { tableEntities } from '../../core/table/stored-table.ts';
import { alarmArns, type EncryptionKey } from '../resources/encryption-key.ts';
import type { ExportBucket } from '../resources/export-bucket.ts';
import { StepFunction } from '../workflow/step-function.ts';

/** The resources that the alarms watch. */
export interface Watched {
  machines: { export: IStateMachine; updates: IStateMachine | undefined };
  deadLetterQueue: IQueue;
}

interface MonitoringProps extends Watched {
  configuration: Configuration;
  key: EncryptionKey;
  exports: ExportBucket;
}

const SOON = Duration.minutes(5);

/** The alarms, the mails about failed runs, and their topic. All alarms are metric alarms (docs/adr/0018). */
export class Monitoring extends Construct {
  readonly topic: Topic;
  /** Alarms for the night, and for entities that are watched separately. */
  readonly nights: cloudwatch.Alarm[] = [];
  readonly others: cloudwatch.Alarm[] = [];
  private readonly settings: Deployment['alarms'];
  private readonly ours: OurMetric;

  constructor(scope: Construct, id: string, { configuration, key, exports, ...watched }: MonitoringProps) {
    super(scope, id);
    this.settings = configuration.deployment.alarms;
    this.ours = metricsOf(configuration.name);
    this.topic = this.topicWith(key);
    this.add('ExecutionsAborted', abortedOf(watched.machines.export));
    // The children of the machine's map do not count here, because they never fail.
    const { updates } = watched.machines;
    if (updates) this.add('ExecutionsAborted', abortedOf(updates), { of: 'CustomerUpdates' });
    this.watchNights(configuration.deployment);
    this.watchAll(watched.deadLetterQueue, tableEntities(configuration.deployment).length > 0);
    this.mailFailedRuns({ configuration, key, exports, ...watched });
  }

  private topicWith(key: EncryptionKey): Topic {
    const stack = Stack.of(this);
    const topic = new Topic(this, 'Topic', { displayName: stack.stackName, masterKey: key.key, enforceSSL: true });
    // A topic with its own policy loses the default policy, which lets the whole account publish.
    topic.addToResourcePolicy(
      new PolicyStatement({
        sid: 'AlarmsPublish',
        principals: [new ServicePrincipal('cloudwatch.amazonaws.com')],
        actions: ['sns:Publish'],
        resources: [topic.topicArn],
        conditions: {
          StringEquals: { 'aws:SourceAccount': stack.account },
          ArnLike: { 'aws:SourceArn': alarmArns(stack) },
        },
      }),
    );
    for (const endpoint of this.settings.email) {
      new Subscription(this, endpoint, { topic, endpoint, protocol: SubscriptionProtocol.EMAIL });
    }
    return topic;
  }

  /**
   * Each hourly check writes whether a night is incomplete. CloudWatch evaluates earlier periods if data is missing,
   * so one late or failed check raises no alarm, and several hours without data do
   * (https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/alarms-and-missing-data.html). The alarm ends six
   * hours after the deadline, even if the night is still incomplete, so its end is not mailed.
   */
  private watchNights(deployment: Deployment): void {
    const metric = this.ours('NightIncomplete', {}, { period: Duration.hours(1), statistic: cloudwatch.Stats.MAXIMUM });
    this.nights.push(
      this.alarm('NightIncomplete', metric, { treatMissingData: cloudwatch.TreatMissingData.BREACHING }),
    );
    for (const entity of ENTITIES.filter((each) => isWatchedAlone(deployment, each, new Date())))
      this.watchAlone(deployment, entity);
  }

  /**
   * An hour without data counts as an hour without an export, so a disabled rule raises the alarm too. Only periods of
   * an hour or more may cover more than a day, up to seven
   * (https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_PutMetricAlarm.html, "Period").
   */
  private watchAlone(deployment: Deployment, entity: Entity): void {
    const { hours, needed } = freshnessOf(deployment, entity);
    if (hours < needed) {
      const text = `NoPublishedExport-${entity} comes after ${hours} hours, and a night of ${entity} may take until its deadline: set at least ${needed} hours, so that a good night does not raise it (freshnessHours).`;
      Annotations.of(this).addWarningV2(`crm-export:freshness-${entity}`, text);
    }
    const alarm = this.alarm(
      'NoPublishedExport',
      this.ours('RunsEnded', { entity, outcome: 'PUBLISHED' }, { period: Duration.hours(1) }),
      {
        of: entity,
        comparisonOperator: cloudwatch.ComparisonOperator.LESS_THAN_THRESHOLD,
        evaluationPeriods: hours,
        datapointsToAlarm: hours,
        treatMissingData: cloudwatch.TreatMissingData.BREACHING,
        mailsEnd: true,
      },
    );
    this.nights.push(alarm);
  }

  /** @param tables whether an entity has tables */
  private watchAll({ queueName }: IQueue, tables: boolean): void {
    const soon = (name: MetricName, outcome?: string) =>
      this.ours(name, outcome === undefined ? {} : { outcome }, { period: SOON });
    // This alarm lasts longer than a day, so that a warning that comes with every file is mailed once.
    const warnings = this.ours('FileWarnings', {}, { period: Duration.hours(1) });
    this.add('PublishedWithWarnings', warnings, { evaluationPeriods: 26, datapointsToAlarm: 1 });
    this.add('FileQuarantined', soon('RunsEnded', 'FileQuarantined'));
    this.add('SchemaChanged', soon('SchemaChanges'));
    // A function that died writes no metric, but its run is mailed.
    if (tables) this.add('TableNotWritten', soon('TablesNotWritten'));
    // SQS sends no metric of a queue after six idle hours, even if it has messages: missing data must not end the alarm
    // (https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/monitoring-using-cloudwatch.html).
    const options = { statistic: cloudwatch.Stats.MAXIMUM, period: SOON };
    const messages = awsMetric('AWS/SQS', 'ApproximateNumberOfMessagesVisible', { QueueName: queueName }, options);
    this.add('UndeliveredStarts', messages, { treatMissingData: cloudwatch.TreatMissingData.IGNORE, mailsEnd: true });
    this.add('ReauthorizationRequired', soon('RunsEnded', 'ReauthorizationRequired'));
    for (const id of ['GrantRotatedButNotStored', 'TokenEndpointUnanswered'] as const) this.add(id, soon(id));
    const refreshes = this.ours('TokenRefreshes', {}, { period: Duration.days(1) });
    this.add('SecretVersionsNearLimit', refreshes, { threshold: MOST_REFRESHES_A_DAY, mailsEnd: true });
    // Throttling concerns the account. Without a dimension both metrics count all functions and machines, and the
    // children of maps (https://docs.aws.amazon.com/lambda/latest/dg/monitoring-metrics-view.html, "Across all
    // functions"; https://docs.aws.amazon.com/step-functions/latest/dg/procedure-cw-metrics.html, "account level").
    const ofAccount = (namespace: string, name: string) => awsMetric(namespace, name, {}, { period: SOON });
    this.add('ExecutionsThrottled', ofAccount('AWS/States', 'ExecutionThrottled'), { mailsEnd: true });
    this.add('FunctionThrottled', ofAccount('AWS/Lambda', 'Throttles'), { mailsEnd: true });
  }

  /**
   * Mails each run that failed or timed out: a rule invokes the function MailFailedRuns for it (docs/adr/0018). If that
   * fails, the alarm MailsNotSent fires, and the event goes to the queue of undelivered starts.
   */
  private mailFailedRuns({ configuration, key, exports, machines, deadLetterQueue }: MonitoringProps): void {
    const { topicArn } = this.topic;
    const mailer = new StepFunction(Stack.of(this), MAILER, {
      configuration,
      key,
      memorySize: 256,
      timeout: Duration.minutes(1),
      deadLetterQueue,
      environment: { TOPIC_ARN: topicArn, BUCKET_NAME: exports.bucket.bucketName },
    });
    mailer.role.addToPolicy(new PolicyStatement({ actions: ['sns:Publish'], resources: [topicArn] }));
    for (const service of ['sns', 'sqs'] as const)
      key.allow(mailer.role, service, ['kms:Decrypt', 'kms:GenerateDataKey']);
    exports.allow(MAILER, mailer.role);
    // Lambda retries a failed invocation after one and two minutes, so the mail may still come after this alarm.
    const errors = awsMetric('AWS/Lambda', 'Errors', { FunctionName: mailer.functionName }, { period: SOON });
    this.add('MailsNotSent', errors, { mailsEnd: true });
    const watched = [machines.export, machines.updates ?? []].flat();
    // A run that a person stopped is not mailed: that person knows, and the alarm ExecutionsAborted informs the others.
    new Rule(new Construct(Stack.of(this), 'FailureMails'), 'Failed', {
      description: 'Mails executions that failed or timed out',
      eventPattern: {
        source: ['aws.states'],
        detailType: ['Step Functions Execution Status Change'],
        detail: { stateMachineArn: watched.map((machine) => machine.stateMachineArn), status: ['FAILED', 'TIMED_OUT'] },
      },
      targets: [new LambdaFunction(mailer.alias, { deadLetterQueue })],
    });
  }

  private add(id: AlarmId, metric: cloudwatch.Metric, options: AlarmOptions = {}): void {
    this.others.push(this.alarm(id, metric, options));
  }

  /** An alarm that fires at the first count in one period, unless the options say otherwise. */
  private alarm(
    id: AlarmId,
    metric: cloudwatch.Metric,
    { of, mailsEnd = false, ...options }: AlarmOptions,
  ): cloudwatch.Alarm {
    const name = of === undefined ? id : `${id}-${of}`;
    const alarm = new cloudwatch.Alarm(this, name, {
      alarmName: `${Stack.of(this).stackName}-${name}`,
      // The anchor of a heading in the runbook is its text in lower case.
      alarmDescription: `${ALARMS[id]} Runbook: ${this.settings.runbookUrl}#${id.toLowerCase()}`,
      metric,
      threshold: 1,
      comparisonOperator: cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
      evaluationPeriods: 1,
      treatMissingData: cloudwatch.TreatMissingData.NOT_BREACHING,
      ...options,
    });
    const action = new SnsAction(this.topic);
    alarm.addAlarmAction(action);
    // An alarm that fires before the topic's policy exists is never mailed.
    alarm.node.addDependency(this.topic);
    if (mailsEnd) alarm.addOkAction(action);
    return alarm;
  }
}

interface AlarmOptions extends Partial<cloudwatch.AlarmProps> {
  /** An entity or a state machine. It distinguishes alarms with the same id. */
  of?: string;
  /** Whether the end of the alarm is mailed: not if the alarm ends only because no more events are counted. */
  mailsEnd?: boolean;
}

/** Counts aborted runs only, because a run that fails or times out is mailed. */
function abortedOf({ stateMachineArn: StateMachineArn }: IStateMachine): cloudwatch.Metric {
  return awsMetric('AWS/States', 'ExecutionsAborted', { StateMachineArn }, { period: SOON });
}

/** The statistic, by default the sum, and its period. */
type MetricOptions = Pick<cloudwatch.MetricProps, 'period' | 'statistic' | 'label'>;

export function awsMetric(
  namespace: string,
  metricName: string,
  dimensionsMap: Record<string, string>,
  { statistic = cloudwatch.Stats.SUM, ...options }: MetricOptions,
): cloudwatch.Metric {
  return new cloudwatch.Metric({ namespace, metricName, dimensionsMap, statistic, ...options });
}

/** Metrics that the functions of a deployment emit. @param deployment its name, for the namespace */
export function metricsOf(deployment: string) {
  return (name: MetricName, dimensions: Partial<Record<Dimension, string>>, options: MetricOptions) =>
    awsMetric(namespaceOf(deployment), name, dimensions, options);
}

export type OurMetric = ReturnType<typeof metricsOf>;

/**
 * All alarms: the id, which is also the entry in the runbook, and the first sentence of the mail. An alarm with the
 * name of an error comes when a run ends in that error, before the mail about the run.
 */
export const ALARMS = {
  MailsNotSent: 'A run failed, and MailFailedRuns could not mail it.',
  ExecutionsAborted: 'A person stopped a run.',
  ExecutionsThrottled: 'AWS Step Functions delays runs because the account has reached its limit of state transitions.',
  NightIncomplete:
    'A file or table of the night is missing after its deadline, or RecordNight could not check the night.',
  NoPublishedExport: 'No export was published for longer than the configuration allows.',
  PublishedWithWarnings: 'A file was published with a warning: it may differ from what readers expect.',
  FileQuarantined: 'The gate stopped a file: readers do not get it.',
  TableNotWritten: 'A table could not be written; its file is published.',
  SchemaChanged: 'The columns that the CRM lists are not those of the last published export.',
  UndeliveredStarts:
    'AWS could not deliver an event: the start of a run or the hourly check, or the end of a failed run.',
  ReauthorizationRequired: 'The OAuth grant is no longer valid: no export runs until a person authorizes again.',
  GrantRotatedButNotStored:
    'The CRM issued a new refresh token, and storing it failed: a person has to authorize again.',
  TokenEndpointUnanswered: 'The token endpoint of the CRM has not answered any refresh for four hours.',
  SecretVersionsNearLimit: 'The grant was refreshed unusually often in a day: refreshes may soon stop for up to a day.',
  FunctionThrottled:
    'AWS Lambda refused to run a function because the account has reached its limit of concurrent executions.',
} as const satisfies Record<string, string>;

export type AlarmId = keyof typeof ALARMS;

/**
 * Each refresh creates a version of the secret. Functions stop at 95 in 24 hours: a secret has about 100, and AWS
 * removes none younger than a day (https://docs.aws.amazon.com/secretsmanager/latest/userguide/reference_limits.html).
 */
const MOST_REFRESHES_A_DAY = 80;
