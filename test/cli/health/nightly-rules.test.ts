import { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { expect, test } from 'vitest';
import { stackOf } from '../../../cli/health/deployed-stack.ts';
import { checked } from '../../../cli/health/health-check.ts';
import { RULES } from '../../../cli/health/nightly-rules.ts';
import { deploymentSchema } from '../../../core/config/deployment.ts';
import { ENTITIES, type Entity } from '../../../core/config/entities.ts';
import { refused } from '../support/cloud/answers.ts';
import type { Call } from '../support/cloud/call.ts';
import { aws } from '../support/cloud/cloud.ts';
import { OUTPUTS } from '../support/cloud/stack.ts';

const crm = { baseUrl: 'https://crm.example.com/api/v1', authUrl: 'https://auth.example.com' };
const SCHEDULE = 'cron(0 1 * * ? *)';
const all = Object.fromEntries(ENTITIES.map((entity) => [entity, { enabled: false }]));

const QUEUE = 'arn:aws:sqs:us-east-1:000000000000:undelivered-starts';
const StateMachineArn = 'arn:aws:states:us-east-1:000000000000:stateMachine:crm-export-prod-ExportRun';

interface Given {
  /** Entities without nightly runs in the template. */
  off?: readonly Entity[];
  /** Differences of the account from the template; null: the rule is missing. */
  account?: Partial<Record<Entity, { State?: string; ScheduleExpression?: string; Arn?: string } | null>>;
  /** The entities of the next deployment. */
  entities?: object;
  denied?: string;
}

/** The report about the rules of a deployment. */
async function check({ off = [], account = {}, entities, denied }: Given = {}) {
  const stateOf = (entity: Entity) => (off.includes(entity) ? 'DISABLED' : 'ENABLED');
  const answer = ({ operation, input }: Call) => {
    if (operation === denied) return refused('AccessDeniedException', 'no');
    const entity = ENTITIES.find((one) => `crm-export-prod-${one}` === (input.Name ?? input.Rule)) ?? 'leads';
    const here = account[entity];
    if (here === null) return refused('ResourceNotFoundException');
    const { Arn = StateMachineArn, ...rule } = here ?? {};
    if (operation === 'ListTargetsByRule') return { Targets: [{ Id: '1', Arn, DeadLetterConfig: { Arn: QUEUE } }] };
    return { State: stateOf(entity), ScheduleExpression: SCHEDULE, ...rule };
  };
  const { client } = await aws({ DescribeRule: answer, ListTargetsByRule: answer });
  const events = client(EventBridgeClient);
  const rules = ENTITIES.map((entity) => {
    const properties = { Name: `crm-export-prod-${entity}`, State: stateOf(entity), ScheduleExpression: SCHEDULE };
    return { logicalId: entity, type: 'AWS::Events::Rule', physicalId: properties.Name, properties };
  });
  // The rules of the mails start no run and have no fixed name.
  const properties = { State: 'ENABLED', ScheduleExpression: 'rate(15 minutes)' };
  const mails = { logicalId: 'Every', type: 'AWS::Events::Rule', physicalId: 'crm-export-prod-Every-1A2B', properties };
  const file = entities && deploymentSchema.parse({ crm, entities });
  const target = {
    events,
    stack: 'crm-export-prod',
    StateMachineArn,
    UndeliveredStartsUrl: OUTPUTS.UndeliveredStartsUrl,
  };
  const [found] = await checked(
    RULES,
    { target, stack: stackOf([...rules, mails]), place: { deployment: 'prod' }, file },
    { deployment: 'prod' },
  );
  return found;
}

const PAUSED = { State: 'DISABLED' };
const RESTORE = expect.stringContaining('npx cdk deploy -c deployment=prod --revert-drift');

test('rules as they were deployed hold, also where the template switches some off', async () => {
  expect(await check()).toMatchObject({
    verdict: 'holds',
    found: expect.stringMatching(/^All 7 entities are exported every night\. /),
  });
  expect(await check({ off: ['leads'] })).toMatchObject({
    verdict: 'holds',
    found: expect.stringMatching(/^6 of 7 entities are exported every night; switched off: leads\. /),
  });
});

test('a paused rule is named, with the command that switches it on', async () => {
  expect(await check({ account: { leads: PAUSED, meetings: PAUSED }, entities: {} })).toMatchObject({
    verdict: 'broken',
    found:
      '5 of 7 entities are exported every night; paused: leads, meetings. crm-export-prod-leads is DISABLED, configured as ENABLED; crm-export-prod-meetings is DISABLED, configured as ENABLED.',
    advice: 'If these nights are wanted: npx --no -- crm-export resume leads meetings --deployment prod',
  });
});

test.each<[string, NonNullable<Given['account']>, string]>([
  [
    'is gone',
    { leads: null },
    '6 of 7 entities are exported every night; without a rule: leads. crm-export-prod-leads is gone.',
  ],
  [
    'starts at another time',
    { leads: { ScheduleExpression: 'rate(1 day)' } },
    `6 of 7 entities are exported every night; rule changed: leads. crm-export-prod-leads starts at rate(1 day), configured is ${SCHEDULE}.`,
  ],
  ['starts something else', { leads: { Arn: 'arn:other' } }, 'crm-export-prod-leads does not start the machine alone.'],
])('a rule that %s is named, with the command that restores it', async (_, account, found) => {
  expect(await check({ account })).toMatchObject({
    verdict: 'broken',
    found: expect.stringContaining(found),
    advice: RESTORE,
  });
});

test('nights that are all switched off as deployed are a warning', async () => {
  expect(await check({ off: ENTITIES, entities: all })).toMatchObject({
    verdict: 'warning',
    advice: expect.stringMatching(/^Set entities\.NAME\.enabled in the configuration and deploy/),
  });
});

test('what the configuration wants otherwise waits for a deployment', async () => {
  expect(await check({ entities: { leads: { enabled: false } } })).toMatchObject({
    verdict: 'holds',
    found: expect.stringContaining('The configuration switches off leads: not deployed yet.'),
  });
  expect(await check({ off: ['leads'], entities: {} })).toMatchObject({
    verdict: 'warning',
    found: expect.stringContaining('The configuration wants leads: not deployed yet.'),
    advice: 'If these nights are wanted, deploy.',
  });
});

test('without the right to look nothing is said of the rules', async () => {
  expect(await check({ denied: 'DescribeRule' })).toMatchObject({
    verdict: 'unknown',
    found: expect.stringMatching(/^these credentials lack the right /),
    advice: expect.stringMatching(/^AWS denies access/),
  });
});
