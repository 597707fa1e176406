import { beforeAll, describe, expect, test } from 'vitest';
import { ALL_FUNCTIONS } from '../../core/step/steps.ts';
import { readCalls, requestsOf } from './support/calls.ts';
import { type Decisions, decide } from './support/decide.ts';
import { platformCalls } from './support/platform-calls.ts';
import { type Right, rightsOf } from './support/policies.ts';
import { wholeStack } from './support/stack.ts';
import { UNRECORDED } from './support/unrecorded.ts';

/**
 * What the functions did in all end-to-end tests of this run, faults included, against the policies that go to AWS. Runs
 * behind those tests: vitest.config.ts.
 */

const { template, names, policies } = wholeStack();
const calls = readCalls(process.env.RECORDED_CALLS ?? '');
const rights = rightsOf(policies);
const requests = [...calls.flatMap((call) => requestsOf(call, template, names)), ...platformCalls(template, names)];
const idOf = (arn: string) => arn.split('/').at(-1) ?? '';
const unrecorded = ({ role, action, resource }: Right) =>
  UNRECORDED.find(
    ({ roles, actions, resources = /^/ }) => roles.test(idOf(role)) && actions.test(action) && resources.test(resource),
  );
let decisions: Decisions;

beforeAll(async () => {
  decisions = await decide(policies, requests, rights);
});

test('the end-to-end tests of this run left calls of every function', () => {
  expect([...new Set(calls.map((call) => call.function))].toSorted()).toEqual(ALL_FUNCTIONS.toSorted());
});

describe('the rights of every role', () => {
  test('allow everything that was done', () => {
    const refused = requests.filter((_, index) => decisions.requests[index] !== 'Allow');

    expect([...new Set(refused.map(({ role, action, resource }) => `${idOf(role)} ${action} ${resource}`))]).toEqual(
      [],
    );
  });

  test('are each used by something that was done, or have a reason', () => {
    const idle = rights.filter((right, index) => decisions.rights[index]?.length === 0 && !unrecorded(right));

    expect(idle.map(({ role, action, resource }) => `${idOf(role)} ${action} ${resource}`)).toEqual([]);
  });

  test('are excused only where they exist and nothing uses them', () => {
    const idle = rights.filter((_, index) => decisions.rights[index]?.length === 0);
    const excused = new Set(idle.map(unrecorded));
    const existing = new Set(rights.map(unrecorded));

    expect(UNRECORDED.filter((entry) => !(entry.byChance ? existing : excused).has(entry))).toEqual([]);
  });
});
