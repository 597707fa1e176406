import { expect, test } from 'vitest';
import { CALLS, SCENARIOS, type Scenario } from '../../scripts/faults/calls.ts';
import { STORIES, worldOf } from './support/scenarios.ts';

const nameOf = ({ step, call }: { step: string; call: string }) => `${step}: ${call}`;

test('every call that a step makes is in the table, and the table has no other', async () => {
  const made = new Set<string>();
  for (const scenario of Object.keys(SCENARIOS) as Scenario[]) {
    const world = await worldOf(scenario);
    await STORIES[scenario].execute(world);
    for (const met of world.met) made.add(nameOf(met));
    await world.stop();
  }

  expect([...made].sort()).toEqual([...new Set(CALLS.map(nameOf))].sort());
});
