import { expect, test } from 'vitest';
import { ALL_STEPS, RECORDER } from '../../core/step/steps.ts';
import { CALLS, SCENARIOS, type Scenario } from './calls.ts';
import { STORIES, worldOf } from './support/scenarios.ts';

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
