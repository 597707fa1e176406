import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { FIRST_VERSION, Simulation } from '../oauth/support/simulation.ts';

/** Abuse case: a person restores an old version of the secret with the tokens. */

/** Three token sets after the first; the newest has expired, so every client has to refresh. */
async function afterThreeRefreshes() {
  const world = new Simulation().stored(-1);
  const old = world.secrets.tokens;
  world.endpoint.lifeSeconds = 2;
  for (let tokenSet = 0; tokenSet < 3; tokenSet += 1) {
    await world.ask(world.clients(3));
    await world.pass(3000);
  }
  expect(world.endpoint).toMatchObject({ calls: 3, reuses: 0 });
  return { world, old };
}

test('after the label moves back to an old version, clients spend the newest grant, not the old one', async () => {
  const { world, old } = await afterThreeRefreshes();
  world.secrets.place(FIRST_VERSION, old);

  const answers = await world.ask(world.clients(50));

  expect(new Set(answers)).toEqual(new Set([world.endpoint.issued.at(-2)]));
  expect(world.endpoint).toMatchObject({ calls: 4, reuses: 0 });
});

test('the ledger refuses to spend an old version even if all later versions are deleted', async () => {
  const { world, old } = await afterThreeRefreshes();
  world.secrets.versions.clear();
  world.secrets.place(FIRST_VERSION, old);

  const answers = await world.ask(world.clients(5));

  for (const answer of answers) expect(answer).toBeInstanceOf(Error);
  expect(world.endpoint).toMatchObject({ calls: 3, reuses: 0 });
});

test('an old grant stored as a new version is spent once, and all clients fail with ReauthorizationRequired', async () => {
  const { world, old } = await afterThreeRefreshes();
  world.secrets.place(randomUUID(), old);

  const answers = [...(await world.ask(world.clients(50))), ...(await world.ask(world.clients(50)))];

  for (const answer of answers) expect(answer).toMatchObject({ name: 'ReauthorizationRequired' });
  expect(world.endpoint).toMatchObject({ calls: 4, reuses: 1 });
});
