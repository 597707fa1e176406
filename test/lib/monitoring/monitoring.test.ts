import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { textTable } from '../../../cli/support/text.ts';
import { ENTITIES } from '../../../core/config/entities.ts';
import { ERRORS } from '../../../core/errors.ts';
import { METRICS, type MetricName } from '../../../core/log/metrics.ts';
import { ALARMS } from '../../../lib/monitoring/monitoring.ts';
import { fullDeployment, updatingDeployment } from '../../../scripts/deployments.ts';
import { synthesise } from '../../../scripts/synthesise.ts';
import { resolved } from '../../../scripts/template.ts';
import { AWS_METRICS } from '../support/aws-metrics.ts';
import { warningsOf } from '../support/stack.ts';
import { allOf, oneOf } from '../support/template.ts';

const SCREEN = join(import.meta.dirname, '../../screens/alarms.txt');
const full = fullDeployment();
const { leads } = full.entities;
const json = synthesise({ ...full, entities: { ...full.entities, leads: { ...leads, schedule: 'rate(1 day)' } } });
const [topicId] = oneOf(json, 'AWS::SNS::Topic');

interface Dimension {
  Name: string;
  Value: unknown;
}

/** Alarms of a template by name, without the name of the stack. */
function alarmsOf(template = json) {
  return new Map(
    allOf(template, 'AWS::CloudWatch::Alarm').map(([, { Properties }]) => [
      String(Properties.AlarmName).replace(/^crm-export-example-/, ''),
      Properties,
    ]),
  );
}

const alarms = alarmsOf();
const named = [...alarms.keys()];
/** All entities disabled, another runbook, and two mail addresses. */
const allOff = synthesise(
  updatingDeployment({
    entities: off(),
    alarms: { runbookUrl: 'https://wiki.example.com/runbook', email: ['night@example.com', 'ops+crm@example.com'] },
  }),
);

/** What an alarm counts, and when it comes. */
// biome-ignore lint/suspicious/noExplicitAny: the properties of an alarm, as CloudFormation writes them.
function rowOf([name, alarm]: [string, any]): string[] {
  const { Namespace, MetricName, Dimensions = [], Statistic, Threshold, Period, EvaluationPeriods } = alarm;
  const of = (Dimensions as Dimension[]).map(({ Name, Value }) => `${Name}=${resolved(Value)}`);
  const sign = alarm.ComparisonOperator === 'LessThanThreshold' ? '<' : '>=';
  const any = alarm.DatapointsToAlarm ? `${alarm.DatapointsToAlarm} of ` : '';
  const comes = `${Statistic} ${sign} ${Threshold} in ${any}${EvaluationPeriods} x ${Period} s`;
  const end = alarm.OKActions ? 'mailed' : 'not mailed';
  return [name, `${Namespace} ${MetricName}`, of.join(' '), comes, alarm.TreatMissingData, end];
}

describe('the alarms', () => {
  test('equal the stored table', async () => {
    const columns = ['alarm', 'counts', 'of', 'comes at', 'without data', 'its end is'];
    await expect(`${textTable(columns, [...alarms].toSorted().map(rowOf))}\n`).toMatchFileSnapshot(SCREEN);
    expect(new Set(named.map((name) => name.split('-')[0]))).toEqual(new Set(Object.keys(ALARMS)));
  });

  test.each(named)('%s reads an existing metric with its dimensions, without unit or metric math', (name) => {
    const { Metrics, Namespace, MetricName, Unit, Dimensions = [] } = alarms.get(name);
    const dimensions = (Dimensions as Dimension[]).map(({ Name }) => Name);
    const { outcome = 'PUBLISHED' } = Object.fromEntries(
      (Dimensions as Dimension[]).map((one) => [one.Name, one.Value]),
    );

    expect([Metrics, Unit]).toEqual([undefined, undefined]);
    expect(['PUBLISHED', ...Object.keys(ERRORS)]).toContain(outcome);
    if (Namespace === 'crm-export-example') {
      expect(Object.keys(METRICS)).toContain(MetricName);
      expect(METRICS[MetricName as MetricName].dimensions).toContainEqual(dimensions);
    } else {
      expect(AWS_METRICS[Namespace]?.names).toContain(MetricName);
      const ofAccount = AWS_METRICS[Namespace]?.ofAccount.includes(MetricName);
      expect(ofAccount ? [] : AWS_METRICS[Namespace]?.dimensions).toEqual(dimensions);
    }
  });

  test.each(named)('%s describes what happened, links its entry in the runbook, and notifies the topic', (name) => {
    const { AlarmDescription, AlarmActions, ActionsEnabled } = alarms.get(name);
    const id = name.split('-')[0] ?? '';

    const entry = `https://git.example.com/crm-export/blob/main/docs/runbook.md#${id.toLowerCase()}`;
    expect(AlarmDescription).toBe(`${ALARMS[id as keyof typeof ALARMS]} Runbook: ${entry}`);
    expect(AlarmActions).toEqual([{ Ref: topicId }]);
    expect(ActionsEnabled).toBeUndefined();
  });

  test('link the configured runbook', () => {
    expect(alarmsOf(allOff).get('UndeliveredStarts')?.AlarmDescription).toContain(
      'Runbook: https://wiki.example.com/runbook#undeliveredstarts',
    );
  });
});

describe('the alarm NoPublishedExport', () => {
  const RATE = { schedule: 'rate(1 day)' };

  test('exists for entities with rate(…) or their own hours, and waits these hours in periods that CloudWatch allows', () => {
    const entities = {
      leads: { ...RATE, polling: { deadlineSeconds: 86_400 } },
      customers: { schedule: 'cron(0 1 ? * SUN *)' },
      meetings: { freshnessHours: 168 },
      employers: { ...RATE, enabled: false },
    };
    const own = [...alarmsOf(synthesise(updatingDeployment({ entities })))].filter(([name]) =>
      name.startsWith('NoPublishedExport-'),
    );

    expect(
      own.map(([name, { EvaluationPeriods, DatapointsToAlarm, Period }]) => [
        name.slice('NoPublishedExport-'.length),
        ...[EvaluationPeriods, DatapointsToAlarm, Period],
      ]),
    ).toEqual([
      ['leads', 49, 49, 3600],
      ['meetings', 168, 168, 3600],
    ]);
  });

  test('warns at synthesis if the hours are shorter than a good night may take', () => {
    const values = {
      polling: { firstWaitSeconds: 15, largestWaitSeconds: 300, deadlineSeconds: 21_600 },
      alarms: { freshnessHours: 30 },
    };
    const warned = (entities: Record<string, unknown>) =>
      warningsOf(updatingDeployment({ ...values, entities: { ...off('leads', 'contacts'), ...entities } }));

    expect(warned({ leads: RATE, contacts: { freshnessHours: 32 } })).toEqual(['freshness-leads']);
    // No entity has the alarm.
    expect(warned({ leads: {}, contacts: {} })).toEqual([]);
  });
});

/** Switches off the nights of all entities except these. */
function off(...but: string[]) {
  return Object.fromEntries(
    ENTITIES.filter((entity) => !but.includes(entity)).map((entity) => [entity, { enabled: false }]),
  );
}

describe('the alarm topic', () => {
  const [policyId] = oneOf(json, 'AWS::SNS::TopicPolicy');

  test('has its policy before any alarm is created, so that no early alarm is lost', () => {
    for (const [id, alarm] of allOf(json, 'AWS::CloudWatch::Alarm')) expect(alarm.DependsOn, id).toContain(policyId);
  });

  test('mails every configured address, in any order', () => {
    const subscriptions = (template = allOff) =>
      Object.fromEntries(allOf(template, 'AWS::SNS::Subscription').map(([id, { Properties }]) => [id, Properties]));
    const email = ['ops+crm@example.com', 'night@example.com'];
    const both = subscriptions();

    expect(Object.values(both)).toMatchObject([
      { Protocol: 'email', Endpoint: 'night@example.com', TopicArn: { Ref: topicId } },
      { Protocol: 'email', Endpoint: 'ops+crm@example.com', TopicArn: { Ref: topicId } },
    ]);
    const reordered = subscriptions(synthesise(updatingDeployment({ alarms: { email } })));
    expect(reordered, 'subscriptions do not change').toEqual(both);
    const none = subscriptions(synthesise(updatingDeployment({ alarms: {} })));
    expect(none, 'an address is optional').toEqual({});
  });
});
