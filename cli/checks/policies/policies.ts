import { eachOf } from '../../../core/each-of.ts';
import { REWRITE } from '../../support/aws-error.ts';
import type { Target } from '../../support/target.ts';
import type { Check } from '../check.ts';
import { type DeployedStack, TEMPLATE_RIGHTS } from '../deployed-stack.ts';
import { broken, type Finding, holds } from '../finding.ts';
import { findingOf } from '../finding-of.ts';
import { differences, policyOf } from './document.ts';
import { placeOf, resolve } from './intrinsics.ts';
import { ROLE_RIGHTS, rolePolicies } from './roles.ts';
import { type PolicySource, policySources, type Reading, SOURCE_RIGHTS } from './sources.ts';

/** What the policies are compared with. */
export interface PoliciesContext {
  target: Reading & Pick<Target, 'StateMachineArn'>;
  stack: DeployedStack;
}

/** CloudFormation compares none of them, so `drift` says nothing of it (`docs/adr/0039`). */
export const POLICIES: Check<PoliciesContext> = {
  id: 'policies',
  question: 'Are the policies of buckets, key, queues, topic and roles those of the template?',
  rights: [...TEMPLATE_RIGHTS, ...SOURCE_RIGHTS, ...ROLE_RIGHTS],
  look: policies,
};

/** IAM is asked by a few at a time: it answers no more than some requests in a second. */
const AT_ONCE = 4;

async function policies({ target, stack }: PoliciesContext): Promise<Finding[]> {
  const place = placeOf(target.StateMachineArn);
  const resolved = (value: unknown) => resolve(value, stack, place);
  const compareAll = (sources: PolicySource[]) => Promise.all(sources.map((source) => compared(source, resolved)));
  // What brings a role back stands before what lets it in.
  const roles = stack.ofType('AWS::IAM::Role').map((role) => async () => {
    const { sources, findings } = await rolePolicies(target, stack, role, resolved);
    return [...findings, ...(await compareAll(sources))];
  });
  const others = policySources(target, stack, resolved).map((source) => () => compareAll([source]));
  const told = (look: () => Promise<Finding[]>) => look().catch((error: unknown) => [findingOf(error)]);
  return joined((await eachOf([...roles, ...others], told, AT_ONCE)).flat());
}

async function compared({ what, wanted, read }: PolicySource, resolved: (value: unknown) => unknown): Promise<Finding> {
  const text = await read();
  const [want, live] = [JSON.stringify(resolved(wanted)), text].map(policyOf);
  if (!want || !live) return broken(`${what} has no policy`, REWRITE);
  const wrong = differences(want, live);
  return wrong.length === 0 ? holds(what) : broken(`${what}: ${wrong.join('; ')}`, REWRITE);
}

/** One finding for all that is wrong, with each advice once, and one for each reason for which nothing could be told. */
function joined(findings: Finding[]): Finding[] {
  const wrong = findings.filter(({ verdict }) => verdict === 'broken');
  const unseen = findings.filter(({ verdict }) => verdict === 'unknown');
  const reasons = [...new Map(unseen.map((one) => [one.found, one])).values()];
  const [first] = wrong;
  if (first) {
    const [found, advice] = [wrong.map((one) => one.found), wrong.flatMap((one) => one.advice ?? [])];
    return [broken(found.join('. '), [...new Set(advice)].join('; '), first.exitCode), ...reasons];
  }
  return reasons.length > 0 ? reasons : [holds(`${findings.length} policies say what the template says`)];
}
