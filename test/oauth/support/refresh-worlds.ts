import { randomFrom } from '../../support/seeds.ts';
import type { Fault } from './fake-endpoint.ts';
import type { Outcome } from './lost-grants.ts';
import { Simulation } from './simulation.ts';

/**
 * Worlds in which three functions refresh for hours, at a token endpoint that is slow and refuses in any way, while
 * Secrets Manager and the ledger fail now and then. A seed decides them. No answer of the endpoint is lost after it
 * has spent a token, so no grant may be lost.
 */

const FAULTS: Fault[] = [
  'lostBefore',
  { kind: 'unclear', message: 'The token endpoint answered 400.', status: 400 },
  { kind: 'busy', message: 'The token endpoint answered 429.', status: 429 },
  { kind: 'locked', message: 'The token endpoint answered 409.', status: 409 },
  { kind: 'elsewhere', message: 'The token endpoint answered 404.', status: 404 },
  { kind: 'refused', message: 'The token endpoint answered 401.', status: 401 },
  { kind: 'notSent', message: 'There is no connection to the token endpoint.' },
];
const MINUTE = 60_000;

export async function refreshWorld(seed: number): Promise<Outcome> {
  const random = randomFrom(seed);
  const chance = (share: number) => random() < share;
  const oneOf = <T>(values: readonly [T, ...T[]]): T => values[Math.floor(random() * values.length)] ?? values[0];
  const world = new Simulation(undefined, seed).stored(oneOf([-1, 20, 200, 4000]));
  const { endpoint, secrets, ledger, clock } = world;
  endpoint.rotation = oneOf(['strict', 'strict', 'none', { graceSeconds: 60 }]);
  endpoint.delayMs = oneOf([300, 3000, 8000, 12_000, 19_000]);
  secrets.staleMs = oneOf([0, 3000, 10_000]);
  const [refusing, forgetful, busy] = [oneOf([0, 0.2, 0.6]), oneOf([0, 0.05, 0.3]), oneOf([0, 0.05, 0.3])];
  let failing = true;
  const failsWith = (share: number) =>
    failing && chance(share) ? Object.assign(new Error(), { name: 'ThrottlingException' }) : undefined;
  secrets.trouble = (operation) => failsWith(operation === 'GetSecretValue' ? forgetful : forgetful / 3);
  ledger.trouble = () => failsWith(busy);
  const functions = async () => {
    for (let time = 0; time < 8; time += 1) {
      await clock.sleep(random() * 20 * MINUTE);
      const client = world.client({ skewMs: (random() - 0.5) * 8000, secondsLeft: () => oneOf([900, 54]) });
      for (const _ of [1, 2]) {
        endpoint.faults = chance(refusing) ? [oneOf(FAULTS as [Fault])] : [];
        await client(chance(0.3) ? { rejected: secrets.tokens.accessToken } : {}).catch(() => undefined);
        await clock.sleep(random() * MINUTE);
      }
    }
  };
  await clock.run(Promise.all([functions(), functions(), functions()]));
  failing = false;
  endpoint.faults = [];
  await world.pass(25 * 60 * MINUTE);
  const [answer = new Error('nobody answered')] = await world.ask([world.client()], {
    rejected: secrets.tokens.accessToken,
  });
  const isUnstored = world.counted.includes('GrantRotatedButNotStored');
  const documented = isUnstored ? 'a rotated token that a function could not store in time' : undefined;
  return { answer, documented, reuses: endpoint.reuses };
}
