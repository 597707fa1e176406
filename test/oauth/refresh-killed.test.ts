import { expect, test } from 'vitest';
import { successorOf } from '../../core/oauth/grant.ts';
import { LEASE_MS } from '../../core/oauth/ledger.ts';
import { FIRST_VERSION, Simulation } from './support/simulation.ts';

/** A function that is killed at any call of AWS or the CRM, and the tokens that other functions then have. */

/** Lets a function refresh the grant; it dies at its `diesAt`-th call. @returns whether it was killed */
async function refreshing(world: Simulation, diesAt: number, arrives: boolean): Promise<boolean> {
  let calls = 0;
  const mortal =
    <A extends unknown[], T>(call: (...of: A) => Promise<T>) =>
    async (...of: A): Promise<T> => {
      calls += 1;
      if (calls < diesAt) return call(...of);
      if (calls === diesAt && arrives) await call(...of).catch(() => undefined);
      return new Promise(() => undefined);
    };
  const client = world.client({
    change: ({ store, ledger, readClient, callTokenEndpoint }) => ({
      store: {
        ...store,
        current: mortal(store.current),
        version: mortal(store.version),
        store: mortal(store.store),
      },
      ledger: { ...ledger, claim: mortal(ledger.claim), end: mortal(ledger.end) },
      readClient: mortal(readClient),
      callTokenEndpoint: mortal(callTokenEndpoint),
    }),
  });
  void client();
  await world.pass(1000);
  return calls >= diesAt;
}

test.each(['none', 'strict'] as const)(
  'a kill at any call loses a grant only if it was refreshed and not yet stored (rotation: %s)',
  async (rotation) => {
    const losses: boolean[] = [];
    for (const arrives of [false, true]) {
      for (let diesAt = 1, killed = true; killed; diesAt += 1) {
        const world = new Simulation().stored(-1);
        world.endpoint.rotation = rotation;

        killed = await refreshing(world, diesAt, arrives);
        const [issued, stored] = [world.endpoint.calls > 0, world.secrets.versions.has(successorOf(FIRST_VERSION))];
        const start = world.clock.time;
        const answers = await world.ask(world.clients(5));

        const what = `killed at call ${diesAt}`;
        const lost = rotation === 'strict' && issued && !stored;
        const dead = expect.objectContaining({ name: 'ReauthorizationRequired' });
        expect(answers, what).toEqual(Array(5).fill(lost ? dead : world.secrets.tokens.accessToken));
        expect(world.endpoint.reuses, what).toBe(lost ? 1 : 0);
        expect(world.endpoint.calls, what).toBeLessThanOrEqual(2);
        expect(world.clock.time - start, what).toBeLessThan(LEASE_MS + 5000);
        if (killed) losses.push(lost);
      }
    }
    expect(losses.length).toBeGreaterThan(14);
    expect(losses.includes(true)).toBe(rotation === 'strict');
  },
);
