import type { Entity } from '../../core/config/entities.ts';
import type { NightlyPlan } from './nightly-plan.ts';
import type { NotStarted } from './rules.ts';

/** How a nightly rule stands: `paused` by hand, or switched `off` by the configuration. */
export const RULE_STATES = ['on', 'paused', 'withoutRule', 'changed', 'off'] as const;
export type RuleState = (typeof RULE_STATES)[number];

/** What is said of a rule in every command. */
export const RULE_WORDS: Record<RuleState, string> = {
  on: '',
  paused: 'paused',
  withoutRule: 'without a rule',
  changed: 'rule changed',
  off: 'switched off',
};

export function ruleStateOf(
  { paused, withoutRule, changed }: NotStarted,
  { enabled }: Pick<NightlyPlan, 'enabled'>,
  entity: Entity,
): RuleState {
  if (changed.includes(entity)) return 'changed';
  const rule = withoutRule.includes(entity) ? 'withoutRule' : paused.includes(entity) ? 'paused' : 'on';
  return rule === 'on' || enabled[entity] ? rule : 'off';
}

interface Ruled {
  entity: Entity;
  rule: RuleState;
}

type RuleLists = Record<Exclude<RuleState, 'on'>, Entity[]>;

/** The entities that no rule starts as it was deployed, by why; `off` on purpose. */
export function rulesOf(rows: Ruled[]): RuleLists {
  const having = (rule: RuleState) => rows.flatMap((row) => (row.rule === rule ? row.entity : []));
  return {
    paused: having('paused'),
    withoutRule: having('withoutRule'),
    changed: having('changed'),
    off: having('off'),
  };
}

/** `paused: leads`, for each way in which rules do not start entities as they were deployed. */
export function rulesNotes(lists: RuleLists): string[] {
  const kinds = ['paused', 'withoutRule', 'changed', 'off'] as const;
  return kinds.flatMap((rule) => (lists[rule].length > 0 ? [`${RULE_WORDS[rule]}: ${lists[rule].join(', ')}`] : []));
}
