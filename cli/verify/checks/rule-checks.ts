import { DescribeRuleCommand, ListTargetsByRuleCommand } from '@aws-sdk/client-eventbridge';
import { GetQueueAttributesCommand } from '@aws-sdk/client-sqs';
import * as z from 'zod/mini';
import { parseJson } from '../../../core/json.ts';
import { broken, type Check, type Finding, heldUnless, NotChecked } from '../base/check.ts';
import { textOf } from '../base/deployed-stack.ts';
import type { Verifying } from '../base/verifying.ts';

/** The nightly rules, and where a start goes that they cannot deliver. */
export const RULE_CHECKS: Check[] = [
  { id: 'rules', does: 'compares every nightly rule with the template', look: rules },
  {
    id: 'undelivered-starts',
    does: 'reads whether the queue of undelivered starts lets every rule in',
    look: undeliveredStarts,
  },
];

interface DeployedRule {
  name: string;
  arn: string;
  state: string;
  schedule: string;
  /** Of its one target. */
  role: string;
  machine: string;
  queue: string;
}

/** The rules of the template, as they are in the account. */
export async function deployedRules({ target: { events }, stack }: Pick<Verifying, 'target' | 'stack'>) {
  const rules: DeployedRule[] = [];
  for (const resource of stack.ofType('AWS::Events::Rule')) {
    const name = textOf(resource, 'Name');
    const {
      Arn = '',
      State = '',
      ScheduleExpression = '',
    } = await events.send(new DescribeRuleCommand({ Name: name }));
    const { Targets = [] } = await events.send(new ListTargetsByRuleCommand({ Rule: name }));
    const [one] = Targets.length === 1 ? Targets : [];
    const at = { role: one?.RoleArn ?? '', machine: one?.Arn ?? '', queue: one?.DeadLetterConfig?.Arn ?? '' };
    rules.push({ name, arn: Arn, state: State, schedule: ScheduleExpression, ...at });
  }
  return rules;
}

async function rules(verifying: Verifying): Promise<Finding> {
  const { target, stack } = verifying;
  const configured = new Map(stack.ofType('AWS::Events::Rule').map((rule) => [textOf(rule, 'Name'), rule]));
  const queueName = target.UndeliveredStartsUrl?.split('/').at(-1);
  const found = await deployedRules(verifying);
  const wrong = found.flatMap(({ name, state, schedule, machine, queue }) => {
    const wanted = configured.get(name);
    const [want, when] = wanted ? [textOf(wanted, 'State'), textOf(wanted, 'ScheduleExpression')] : [];
    return [
      ...(state === want ? [] : [`${name} is ${state}, configured as ${want}`]),
      ...(schedule === when ? [] : [`${name} starts at ${schedule}, configured is ${when}`]),
      ...(machine === target.StateMachineArn ? [] : [`${name} does not start the machine alone`]),
      ...(queueName && queue.split(':').at(-1) !== queueName ? [`${name} does not use the queue`] : []),
    ];
  });
  if (found.length === 0) wrong.push('the stack has no rule');
  const on = found.filter(({ state }) => state === 'ENABLED').length;
  const advice = 'A paused rule: npm run cli -- resume ENTITY; else npx cdk deploy --revert-drift.';
  return heldUnless(wrong, `${found.length} rules start the machine, ${on} of them enabled, as configured`, advice);
}

const oneOrMore = z.union([z.string(), z.array(z.string())]);
const conditions = z.record(z.string(), z.record(z.string(), oneOrMore));
const policySchema = z.object({
  Statement: z.array(
    z.looseObject({
      Effect: z.string(),
      Principal: z.optional(z.union([z.string(), z.record(z.string(), oneOrMore)])),
      Action: z.optional(oneOrMore),
      Condition: z._default(conditions, {}),
    }),
  ),
});

/** Only EventBridge can show that a start arrives there; this reads the policy by which it may. */
async function undeliveredStarts(verifying: Verifying): Promise<Finding> {
  const { UndeliveredStartsUrl: QueueUrl, sqs } = verifying.target;
  if (!QueueUrl) throw new NotChecked('the stack is of a release that does not name the queue');
  const look = new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ['Policy'] });
  const policy = parseJson(policySchema, (await sqs.send(look)).Attributes?.Policy);
  if (!policy)
    return broken('the queue has no policy', 'It should let every rule send: npx cdk deploy --revert-drift.');
  const found = await deployedRules(verifying);
  const out = found.filter(({ arn }) => !policy.Statement.some((statement) => letsIn(statement, arn)));
  return heldUnless(
    out.map(({ name }) => `the policy does not let ${name} send`),
    `its policy lets each of ${found.length} rules send`,
  );
}

function letsIn(
  { Effect, Principal, Action, Condition }: z.infer<typeof policySchema>['Statement'][number],
  arn: string,
): boolean {
  const services = typeof Principal === 'string' ? [Principal] : [Principal?.Service ?? Principal?.AWS ?? []].flat();
  const sources = Object.entries(Condition).flatMap(([operator, keys]) =>
    /^Arn(Equals|Like)$/.test(operator) ? Object.entries(keys).flatMap(([key, of]) => (isSource(key) ? of : [])) : [],
  );
  return (
    Effect === 'Allow' &&
    services.some((service) => service === 'events.amazonaws.com') &&
    [Action ?? []].flat().some((action) => /^sqs:(SendMessage|\*)$/i.test(action)) &&
    sources.includes(arn)
  );
}

function isSource(key: string): boolean {
  return key.toLowerCase() === 'aws:sourcearn';
}
