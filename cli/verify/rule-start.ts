import { PutRuleCommand, PutTargetsCommand } from '@aws-sdk/client-eventbridge';
import { DescribeExecutionCommand, ListExecutionsCommand } from '@aws-sdk/client-sfn';
import type { Check } from '../checks/check.ts';
import { broken, CannotTell, type Finding, holds } from '../checks/finding.ts';
import { deployedRules, RULE_RIGHTS } from '../checks/rules.ts';
import { REWRITE } from '../support/aws-error.ts';
import { RULE_TARGET, removeRule, removingAll, temporaryName } from './temporary.ts';
import { lookUntil, type Verifying } from './verifying.ts';

/** Whether the role of the nightly rules may start the machine: nothing else shows it before the first night. */
export const RULE_START: Check<Verifying> = {
  id: 'rule-start',
  question: 'Does a temporary rule with the role of the nightly rules start a run?',
  rights: [
    ...RULE_RIGHTS,
    'events:PutRule on rules named `crm-export-NAME_verify_*`',
    'events:PutTargets on rules named `crm-export-NAME_verify_*`',
    'events:RemoveTargets on rules named `crm-export-NAME_verify_*`',
    'events:DeleteRule on rules named `crm-export-NAME_verify_*`',
    'iam:PassRole on the role of the rules, to EventBridge',
    'states:ListExecutions on ExportRun',
    'states:DescribeExecution on executions of ExportRun',
  ],
  makes: true,
  look: ruleStart,
};

/** Clocks differ. */
const CLOCK_MS = 60_000;

async function ruleStart(verifying: Verifying): Promise<Finding> {
  const { target, id } = verifying;
  const [rule] = await deployedRules(verifying);
  if (!rule?.role) throw new CannotTell('no nightly rule has a role');
  const name = temporaryName(target.stack, id);
  // Whoever may not remove a rule that fires every minute must not make one.
  await removeRule(target, name);
  return removingAll(async (made) => {
    made(`rule ${name}`, () => removeRule(target, name));
    return started(verifying, name, rule.role);
  });
}

async function started(verifying: Verifying, Name: string, RoleArn: string): Promise<Finding> {
  const { target, id, runs } = verifying;
  const since = new Date(Date.now() - CLOCK_MS);
  // Such a run requests nothing: it ends in InvalidInput. A rule may start one more after its removal, which says the same.
  const Input = JSON.stringify({ verify: id });
  const goal = { Id: RULE_TARGET, Arn: target.StateMachineArn, RoleArn, Input };
  // A rate begins to count when the rule is made; this one starts at the next full minute.
  const every = { ScheduleExpression: 'cron(* * * * ? *)', Description: 'Temporary, of verify: to be deleted' };
  await target.events.send(new PutRuleCommand({ Name, ...every }));
  const { FailedEntries = [] } = await target.events.send(new PutTargetsCommand({ Rule: Name, Targets: [goal] }));
  if (FailedEntries.length > 0) return broken(`${Name} took no target`, 'Look again.');
  const run = await lookUntil(() => startedBy(verifying, Input, since), Boolean, verifying);
  if (run) runs.names.push(run);
  if (run) return holds(`${Name} started ${run}, which fails in InvalidInput`);
  const should = `It should start a run within a minute. If the role of the rules may not start the machine, ${REWRITE}.`;
  return broken(`${Name} started no run`, should);
}

/** The name of the run with this input. */
async function startedBy({ target }: Verifying, input: string, since: Date): Promise<string | undefined> {
  const look = { stateMachineArn: target.StateMachineArn, maxResults: 50 };
  const { executions = [] } = await target.sfn.send(new ListExecutionsCommand(look));
  for (const { executionArn, name, startDate } of executions) {
    if (!startDate || startDate < since) continue;
    const execution = await target.sfn.send(new DescribeExecutionCommand({ executionArn }));
    if (execution.input === input) return name;
  }
  return undefined;
}
