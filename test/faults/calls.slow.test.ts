import { expect, test } from 'vitest';
import { ALL_STEPS, RECORDER } from '../../core/step/steps.ts';
import { CALLS, SCENARIOS, type Scenario } from './calls.ts';
import { expectNoCanary } from './support/checks.ts';
import { STORIES, worldOf } from './support/scenarios.ts';
import { CANARY } from './support/world.ts';

const nameOf = ({ step, call }: { step: string; call: string }) => `${step}: ${call}`;

test('the table lists exactly the calls that the steps make', async () => {
  const made = new Set<string>();
  for (const scenario of Object.keys(SCENARIOS) as Scenario[]) {
    const world = await worldOf(scenario);
    await STORIES[scenario].execute(world);
    for (const met of world.met) made.add(nameOf(met));
    await world.stop();
  }

  expect([...made].sort()).toEqual([...new Set(CALLS.map(nameOf))].sort());
});

test('the table has calls of every function that a machine invokes', () => {
  expect(new Set(CALLS.map(({ step }) => step))).toEqual(new Set([...Object.keys(ALL_STEPS), RECORDER]));
});

test('the canary check finds a token in a state, and customer data in the metadata of an object', async () => {
  const world = await worldOf('night');
  await STORIES.night.execute(world);
  expectNoCanary(world);

  world.states.push({ token: world.newTokens(0).accessToken });
  expect(() => expectNoCanary(world)).toThrow('a canary in');
  world.states.pop();
  const object = world.store.object('published/entity=leads/latest.json');
  if (object) object.headers['x-amz-meta-name'] = CANARY;
  expect(() => expectNoCanary(world)).toThrow('a canary in');
  await world.stop();
});
