import { describe, expect, test } from 'vitest';
import { fullDeployment } from '../../../scripts/deployments.ts';
import { synthesise } from '../../../scripts/synthesise.ts';
import { resolved } from '../../../scripts/template.ts';
import { documentedExecutionPattern, matchesPattern } from '../../support/event-pattern.ts';
import { oneOf } from '../support/template.ts';

const json = synthesise(fullDeployment());
const machineOf = (name: string) => oneOf(json, 'AWS::StepFunctions::StateMachine', name)[0];
const [deadLettersId] = oneOf(json, 'AWS::SQS::Queue', 'NightlyUndeliveredStarts');
const [, failed] = oneOf(json, 'AWS::Events::Rule', 'FailureMailsFailed');

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

  test.each(['FAILED', 'TIMED_OUT'])('matches %s of both machines', (status) => {
    for (const machine of ['ExportRun', 'CustomerUpdates'])
      expect(matchesPattern(pattern, event(status, machineOf(machine)))).toBe(true);
  });

  test.each(['RUNNING', 'SUCCEEDED', 'ABORTED'])('does not match %s, or any end of another machine', (status) => {
    expect(matchesPattern(pattern, event(status, machineOf('ExportRun')))).toBe(false);
    expect(matchesPattern(pattern, event('FAILED', 'another'))).toBe(false);
    // The children of a map have another machine ARN.
    expect(matchesPattern(pattern, event('FAILED', `${machineOf('CustomerUpdates')}/ApplyChunks`))).toBe(false);
  });
});

test('a failed invocation of MailFailedRuns goes to the queue of undelivered starts', () => {
  const [, { Properties }] = oneOf(json, 'AWS::Lambda::Function', 'MailFailedRuns');

  expect(resolved(Properties.DeadLetterConfig.TargetArn)).toBe(`${deadLettersId}.Arn`);
});

test('the documented pattern matches every end of an execution, and no start', () => {
  const pattern = JSON.parse(documentedExecutionPattern('machine'));

  for (const status of ['SUCCEEDED', 'FAILED', 'TIMED_OUT', 'ABORTED'])
    expect(matchesPattern(pattern, event(status, 'machine')), status).toBe(true);
  expect(matchesPattern(pattern, event('RUNNING', 'machine'))).toBe(false);
  expect(matchesPattern(pattern, event('FAILED', 'another'))).toBe(false);
});
