import { expect, test } from 'vitest';
import { whatStands } from '../../../cli/access/store-grant.ts';
import { createGrantStore } from '../../../core/oauth/grant.ts';
import { createLedger } from '../../../core/oauth/ledger.ts';
import { Simulation } from '../../oauth/support/simulation.ts';

const OBTAINED = '2026-11-20T00:00:00.000Z';

/** The sentence about the stored grant, an hour later. */
async function sentence(world: Simulation, reached: Parameters<typeof whatStands>[1] = {}) {
  const store = createGrantStore(world.secrets.client, 'tokens');
  const ledger = createLedger(world.ledger.client, 'ledger', 'tokens');
  return world.clock.run(whatStands({ store, ledger }, reached));
}

test('the grant that counts is named, and whether the CRM may have ended it', async () => {
  const world = new Simulation().stored(0);
  expect(await sentence(world)).toBe(`The grant obtained at ${OBTAINED} is still in use.`);
  const tokens = world.endpoint.grant();
  expect(await sentence(world, { consented: true, tokens })).toBe(
    `The grant obtained at ${OBTAINED} is still in use, unless the CRM has ended it for the new one (doctor --refresh tells).`,
  );
});

test('a new grant that is stored after all is said to be, though the answer to it was lost', async () => {
  const world = new Simulation();
  const tokens = world.endpoint.grant();
  await world.clock.run(world.storeGrant(tokens));
  expect(await sentence(world, { consented: true, tokens })).toBe('The new grant is stored and in use.');
});

test('a dead grant, none, and one that cannot be read now are said as such', async () => {
  const dead = new Simulation().stored(-1);
  dead.endpoint.revoke(dead.secrets.tokens.refreshToken);
  await dead.ask(dead.clients(1));
  expect(await sentence(dead)).toMatch(/^The grant obtained at \S+ is stored, and dead\.$/);
  expect(await sentence(new Simulation())).toBe('No grant is stored that can be used.');
  const throttled = new Simulation().stored(0);
  throttled.secrets.trouble = () => Object.assign(new Error('slow down'), { name: 'ThrottlingException' });
  expect(await sentence(throttled)).toBe('Which grant is stored cannot be read now: doctor says it.');
});
