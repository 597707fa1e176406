import { describe, expect, test } from 'vitest';
import { fullDeployment, resolved, synthesise } from '../../../scripts/definition.ts';
import { documentedExecutionPattern, matchesPattern } from '../../support/event-pattern.ts';
import { oneOf, statementsOf } from '../support/template.ts';

const json = synthesise(fullDeployment());
const machineOf = (name: string) => oneOf(json, 'AWS::StepFunctions::StateMachine', name)[0];
const [queueId, queue] = oneOf(json, 'AWS::SQS::Queue', 'FailureMails');
const [deadLettersId] = oneOf(json, 'AWS::SQS::Queue', 'NightlyUndeliveredStarts');
const [failedId, failed] = oneOf(json, 'AWS::Events::Rule', 'FailureMailsFailed');
const [, every] = oneOf(json, 'AWS::Events::Rule', 'FailureMailsEvery');

/** An event with the fields that the authors of LocalStack recorded on AWS (test_event_bridge_events_base). */
function event(status: string, stateMachineArn: string) {
  const name = 'leads-20261120T020000Z-1a2b3c';
  const ended = status !== 'RUNNING';
  return {
    ...{ version: '0', id: 'e', 'detail-type': 'Step Functions Execution Status Change', source: 'aws.states' },
    ...{ account: '111111111111', time: '2026-11-20T02:40:00Z', region: 'us-east-1', resources: ['arn'] },
    detail: {
      ...{ executionArn: 'arn', stateMachineArn, name, status, startDate: 1, stopDate: ended ? 2 : null },
      ...{ input: '{"entity":"leads"}', output: null, stateMachineVersionArn: null, stateMachineAliasArn: null },
      ...{ redriveCount: 0, redriveDate: null, redriveStatus: 'NOT_REDRIVABLE', redriveStatusReason: null },
      ...{ inputDetails: { included: true }, outputDetails: null, error: null, cause: null },
    },
  };
}

describe('the rule on ended executions', () => {
  const { detail, ...others } = failed.Properties.EventPattern;
  const pattern = { ...others, detail: { ...detail, stateMachineArn: detail.stateMachineArn.map(resolved) } };

  test.each(['FAILED', 'TIMED_OUT'])('takes %s of both machines', (status) => {
    for (const machine of ['ExportRun', 'CustomerUpdates'])
      expect(matchesPattern(pattern, event(status, machineOf(machine)))).toBe(true);
  });

  test.each(['RUNNING', 'SUCCEEDED', 'ABORTED'])('does not take %s, and nothing of another machine', (status) => {
    expect(matchesPattern(pattern, event(status, machineOf('ExportRun')))).toBe(false);
    expect(matchesPattern(pattern, event('FAILED', 'another'))).toBe(false);
    // Children of a map have their own.
    expect(matchesPattern(pattern, event('FAILED', `${machineOf('CustomerUpdates')}/ApplyChunks`))).toBe(false);
  });

  test('sends the end alone to the queue, which takes nothing of anybody else', () => {
    const [target, ...more] = failed.Properties.Targets;
    const allowed = statementsOf(oneOf(json, 'AWS::SQS::QueuePolicy', 'FailureMails')[1]).filter(
      ({ Effect }) => Effect === 'Allow',
    );

    expect(more).toEqual([]);
    expect(target).toMatchObject({ InputPath: '$.detail' });
    expect(resolved(target.Arn)).toBe(`${queueId}.Arn`);
    expect(resolved(target.DeadLetterConfig.Arn)).toBe(`${deadLettersId}.Arn`);
    expect(allowed.map(({ Action, Condition }) => [Action, resolved(Condition.ArnEquals['aws:SourceArn'])])).toEqual([
      ['sqs:SendMessage', `${failedId}.Arn`],
    ]);
  });
});

test('the function reads the queue every quarter of an hour, and no message twice at once', () => {
  const [, { Properties }] = oneOf(json, 'AWS::Lambda::Function', 'MailFailedRuns');

  expect(every.Properties.ScheduleExpression).toBe('rate(15 minutes)');
  expect(resolved(every.Properties.Targets[0].Arn)).toMatch(/^MailFailedRunsLive/);
  expect(Properties.Timeout).toBeLessThan(queue.Properties.VisibilityTimeout);
  expect(queue.Properties.VisibilityTimeout).toBeLessThan(15 * 60);
});

test('what cannot be mailed for five hours is in the queue of undelivered starts, which has an alarm', () => {
  const { deadLetterTargetArn, maxReceiveCount } = queue.Properties.RedrivePolicy;

  expect(resolved(deadLetterTargetArn)).toBe(`${deadLettersId}.Arn`);
  expect(maxReceiveCount * 15).toBe(5 * 60);
});

test('a mail that is not sent raises an alarm of its own, also while that of undelivered starts is raised', () => {
  const of = (end: string) =>
    Object.values(json.Resources).find(({ Properties }) => String(Properties?.AlarmName).endsWith(end))?.Properties;
  const [mails, starts] = [of('-MailsNotSent'), of('-UndeliveredStarts')];

  expect(resolved(mails.Dimensions[0].Value)).toBe(`${queueId}.QueueName`);
  expect(resolved(starts.Dimensions[0].Value)).toBe(`${deadLettersId}.QueueName`);
  // Longer than a mail may wait for others of its cause, shorter than the queue gives it up.
  expect(mails).toMatchObject({ MetricName: 'ApproximateAgeOfOldestMessage', Threshold: 2 * 60 * 60 });
});

/** SQS leaves a message that was received three times out of its age: the first alarm would never hear of a mail that is refused. */
test('a mail that is refused again and again raises one too, before its message is given up', () => {
  const refused = Object.values(json.Resources).find(({ Properties }) =>
    String(Properties?.AlarmName).endsWith('-MailsNotSent-MailFailedRuns'),
  )?.Properties;

  expect(refused).toMatchObject({ MetricName: 'Errors', Period: 2 * 60 * 60, EvaluationPeriods: 1 });
  expect(resolved(refused.Dimensions[0].Value)).toMatch(/MailFailedRuns/);
  // One failure for each reading: seven or eight in two hours, the first of which are no more than a mail may wait.
  expect(refused.Threshold).toBe(5);
});

test('the documented pattern takes every end of an execution, and no start', () => {
  const pattern = JSON.parse(documentedExecutionPattern('machine'));

  for (const status of ['SUCCEEDED', 'FAILED', 'TIMED_OUT', 'ABORTED'])
    expect(matchesPattern(pattern, event(status, 'machine')), status).toBe(true);
  expect(matchesPattern(pattern, event('RUNNING', 'machine'))).toBe(false);
  expect(matchesPattern(pattern, event('FAILED', 'another'))).toBe(false);
});
