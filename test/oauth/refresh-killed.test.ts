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

/** The other functions after a kill. @returns whether the grant is lost; `undefined` if the function was not killed */
async function afterKill(rotation: Simulation['endpoint']['rotation'], diesAt: number, arrives: boolean) {
  const what = `killed at call ${diesAt}`;
  const world = new Simulation().stored(-1);
  world.endpoint.rotation = rotation;
  const killed = await refreshing(world, diesAt, arrives);
  const [issued, stored] = [world.endpoint.calls > 0, world.secrets.versions.has(successorOf(FIRST_VERSION))];
  const lost = rotation === 'strict' && issued && !stored;
  // Others wait for the end of the claim, unless the function has stored the successor.
  const waits = world.state[0] === 'CLAIMED' && !stored ? LEASE_MS : 0;
  const start = world.clock.time;

  const answers = await world.ask(world.clients(5));

  const dead = expect.objectContaining({ name: 'ReauthorizationRequired' });
  expect(answers, what).toEqual(Array(5).fill(lost ? dead : world.secrets.tokens.accessToken));
  expect(world.endpoint, what).toMatchObject({ calls: issued && !stored ? 2 : 1, reuses: lost ? 1 : 0 });
  expect(Math.abs(world.clock.time - start - waits), what).toBeLessThan(3000);
  return killed ? lost : undefined;
}

test.each([
  ['none', true],
  ['none', false],
  ['strict', true],
  ['strict', false],
  [{ graceSeconds: 60 }, true],
  [{ graceSeconds: 60 }, false],
] as const)(
  'a kill at any call loses a grant only if it was refreshed and not yet stored (rotation: %j, the call arrives: %o)',
  async (rotation, arrives) => {
    const losses: boolean[] = [];
    for (let diesAt = 1; ; diesAt += 1) {
      const lost = await afterKill(rotation, diesAt, arrives);
      if (lost === undefined) break;
      losses.push(lost);
    }

    expect(losses.length).toBeGreaterThan(6);
    expect(losses.includes(true)).toBe(rotation === 'strict');
  },
);
