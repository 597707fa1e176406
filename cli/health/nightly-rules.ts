import { DescribeRuleCommand, ListTargetsByRuleCommand } from '@aws-sdk/client-eventbridge';
import type { Deployment } from '../../core/config/deployment.ts';
import { ENTITIES, type Entity } from '../../core/config/entities.ts';
import { eachOf } from '../../core/each-of.ts';
import { RULE_WORDS } from '../deployment-state.ts';
import { RESTORE } from '../support/aws-error.ts';
import { commandFor } from '../support/command-options.ts';
import type { Target, TargetOptions } from '../support/target.ts';
import { type DeployedStack, type Resource, TEMPLATE_RIGHTS, textOf } from './deployed-stack.ts';
import { broken, type Check, type Finding, holds, warning } from './health-check.ts';

/** The deployment and configuration to compare the rules with. */
interface RulesContext {
  target: Pick<Target, 'events' | 'stack' | 'StateMachineArn' | 'UndeliveredStartsUrl'>;
  stack: DeployedStack;
  place: TargetOptions;
  /** The configuration of the next deployment, if known. */
  file?: Deployment | undefined;
}

export const RULE_RIGHTS = [
  ...TEMPLATE_RIGHTS,
  'events:DescribeRule on the rules',
  'events:ListTargetsByRule on the rules',
];

export const RULES: Check<RulesContext> = {
  id: 'rules',
  question: 'Does every nightly rule start the machine as it was deployed?',
  rights: RULE_RIGHTS,
  look: async (context) => judged(context, await deployedRules(context)),
};

/** A rule of the template, with its current state in the account. */
interface DeployedRule {
  name: string;
  /** The rule as the template has it. */
  wanted: Resource;
  arn: string;
  /** Empty if the rule is gone. */
  state: string;
  schedule: string;
  /** The role of the rule's only target. */
  role: string;
  machine: string;
  queue: string;
}

/** The nightly rules of the template with their current state, each read by its name. */
export function deployedRules({ target, stack }: Pick<RulesContext, 'target' | 'stack'>): Promise<DeployedRule[]> {
  return eachOf(stack.ofType('AWS::Events::Rule').filter(isNightly), (wanted) => deployedRule(target, wanted));
}

/** Whether a rule is a nightly one: the other rules, which send mails, have no names in the template. */
const isNightly = (rule: Resource) => textOf(rule, 'Name') !== '';

async function deployedRule({ events }: Pick<Target, 'events'>, wanted: Resource): Promise<DeployedRule> {
  const name = textOf(wanted, 'Name');
  const gone = { name, wanted, arn: '', state: '', schedule: '', role: '', machine: '', queue: '' };
  try {
    const rule = await events.send(new DescribeRuleCommand({ Name: name }));
    const { Targets = [] } = await events.send(new ListTargetsByRuleCommand({ Rule: name }));
    const one = Targets.length === 1 ? Targets[0] : undefined;
    return {
      ...gone,
      arn: rule.Arn ?? '',
      state: rule.State ?? '',
      schedule: rule.ScheduleExpression ?? '',
      role: one?.RoleArn ?? '',
      machine: one?.Arn ?? '',
      queue: one?.DeadLetterConfig?.Arn ?? '',
    };
  } catch (error) {
    if (error instanceof Error && error.name === 'ResourceNotFoundException') return gone;
    throw error;
  }
}

function judged({ target, place, file }: RulesContext, rules: DeployedRule[]): Finding {
  const ruleOf = (entity: Entity) => rules.find(({ name }) => name === `${target.stack}-${entity}`);
  const isWanted = (entity: Entity) => file?.entities[entity].enabled;
  const off = ENTITIES.filter((entity) => ruleOf(entity)?.state !== 'ENABLED');
  const paused = off.filter((entity) => isPaused(ruleOf(entity)));
  const waiting = off.filter((entity) => isWanted(entity) && !paused.includes(entity));
  const still = ENTITIES.filter((entity) => file && !isWanted(entity) && !off.includes(entity));
  const text = [
    nightsText(target, ruleOf),
    ...(waiting.length > 0 ? [`The configuration wants ${waiting.join(', ')}: not deployed yet.`] : []),
    ...(still.length > 0 ? [`The configuration switches off ${still.join(', ')}: not deployed yet.`] : []),
  ].join(' ');
  const wrong = rules.length === 0 ? ['the stack has no rule'] : rules.flatMap((rule) => differences(target, rule));
  if (wrong.length > 0) {
    const resume = `If these nights are wanted: ${commandFor(`resume ${paused.join(' ')}`, place)}`;
    const advice = [...(wrong.length > paused.length ? [`${RESTORE}.`] : []), ...(paused.length > 0 ? [resume] : [])];
    return broken(`${text} ${wrong.join('; ')}.`, advice.join(' '));
  }
  if (waiting.length > 0) return warning(text, 'If these nights are wanted, deploy.');
  if (off.length < ENTITIES.length) return holds(`${text} Rules start the machine at the times of the template.`);
  return warning(text, 'Set entities.NAME.enabled in the configuration and deploy, if nights are wanted.');
}

/** Whether a person switched the rule off by hand. */
function isPaused(rule: DeployedRule | undefined): boolean {
  return rule?.state === 'DISABLED' && textOf(rule.wanted, 'State') === 'ENABLED';
}

/** The differences between a rule and the template. */
function differences({ StateMachineArn, UndeliveredStartsUrl }: RulesContext['target'], rule: DeployedRule): string[] {
  const { name, wanted, state, schedule, machine, queue } = rule;
  if (state === '') return [`${name} is gone`];
  const queueName = UndeliveredStartsUrl.split('/').at(-1);
  const want = textOf(wanted, 'State');
  const when = textOf(wanted, 'ScheduleExpression');
  return [
    ...(state === want ? [] : [`${name} is ${state}, configured as ${want}`]),
    ...(schedule === when ? [] : [`${name} starts at ${schedule}, configured is ${when}`]),
    ...(machine === StateMachineArn ? [] : [`${name} does not start the machine alone`]),
    ...(queue.split(':').at(-1) !== queueName ? [`${name} does not use the queue`] : []),
  ];
}

/** How many entities are exported every night as deployed, and why the others are not. */
function nightsText(target: RulesContext['target'], ruleOf: (entity: Entity) => DeployedRule | undefined): string {
  const lacking = Map.groupBy(ENTITIES, (entity) => lackOf(target, ruleOf(entity)));
  const all = ENTITIES.length;
  const count = lacking.get('')?.length ?? 0;
  if (count === all) return `All ${all} entities are exported every night.`;
  lacking.delete('');
  const lacks = [...lacking].map(([lack, entities]) => `; ${lack}: ${entities.join(', ')}`);
  return `${count} of ${all} entities are exported every night${lacks.join('')}.`;
}

/** The reason why an entity is not exported as deployed; empty if it is. */
function lackOf({ StateMachineArn }: RulesContext['target'], rule: DeployedRule | undefined): string {
  if (!rule || rule.state === '') return RULE_WORDS.withoutRule;
  if (rule.state !== 'ENABLED') return isPaused(rule) ? RULE_WORDS.paused : RULE_WORDS.off;
  const isAsDeployed = rule.machine === StateMachineArn && rule.schedule === textOf(rule.wanted, 'ScheduleExpression');
  return isAsDeployed ? '' : RULE_WORDS.changed;
}
