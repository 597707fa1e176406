import { platformCalls, readCalls, requestsOf } from './calls.ts';
import { decide } from './decide.ts';
import { type Right, rightsOf, wholeStack } from './policies.ts';
import { UNRECORDED, type Unrecorded } from './unrecorded.ts';

const idOf = (arn: string) => arn.split('/').at(-1) ?? '';

/**
 * Compares the calls of the functions in this run's end-to-end tests, faults included, with the policies that go to
 * AWS. A refused call, and a right that no call used, is one line: role, action, resource.
 */
export async function compareRecorded() {
  const { template, names, policies } = wholeStack();
  const calls = readCalls(process.env.RECORDED_CALLS ?? '');
  const rights = rightsOf(policies);
  const requests = [...calls.flatMap((call) => requestsOf(call, template, names)), ...platformCalls(template, names)];
  const decisions = await decide(policies, requests, rights);
  const refused = requests.filter((_, index) => decisions.requests[index] !== 'Allow');
  const idle = rights.filter((_, index) => decisions.rights[index]?.length === 0);
  const used = rights.filter((right) => !idle.includes(right));
  return {
    functions: [...new Set(calls.map((call) => call.function))],
    refused: [...new Set(refused.map(lineOf))],
    idleWithoutReason: idle.filter((right) => !excuseOf(right)).map(lineOf),
    /** Rights that an entry of the list excuses, although something uses them. */
    usedDespiteExcuse: used.filter((right) => excuseOf(right) && !excuseOf(right)?.byChance).map(lineOf),
    /** Entries of the list that excuse nothing. */
    needless: UNRECORDED.filter(
      (entry) => !(entry.byChance ? rights : idle).some((right) => excuseOf(right) === entry),
    ),
  };
}

const lineOf = ({ role, action, resource }: Pick<Right, 'role' | 'action' | 'resource'>) =>
  `${idOf(role)} ${action} ${resource}`;

function excuseOf({ role, action, resource }: Right): Unrecorded | undefined {
  return UNRECORDED.find(
    ({ roles, actions, resources = /^/ }) => roles.test(idOf(role)) && actions.test(action) && resources.test(resource),
  );
}
