import type { Tokens } from '../../../core/oauth/secrets.ts';
import { randomFrom } from '../../support/seeds.ts';
import type { Outcome } from './lost-grants.ts';
import { type ClientOptions, Simulation } from './simulation.ts';

/**
 * Worlds in which people authorize while functions refresh: two concurrent commands, perhaps with different clients, a
 * CRM that ends the former grants at each consent, commands that die, and a second deployment. A seed decides them.
 */

/** An authorization: the time of the consent, and how far the command came. */
interface Authorization {
  consentedAt: number;
  end: 'stored' | 'later' | 'died' | 'refused' | 'elsewhere' | 'exchanging';
  tokens?: Tokens;
}

const MINUTE = 60_000;

export async function authorizeWorld(seed: number): Promise<Outcome> {
  const random = randomFrom(seed);
  const chance = (share: number) => random() < share;
  const world = new Simulation(undefined, seed).stored(chance(0.5) ? -1 : 2000);
  world.secrets.oauthClient = JSON.stringify({ clientId: 'id', clientSecret: 's of id' });
  world.endpoint.rotation = chance(0.5) ? 'strict' : 'none';
  const endsFormer = chance(0.7);
  const endsCodes = chance(0.5);
  const authorizations: Authorization[] = [];
  /** Refresh tokens of all grants of the client, which a consent may end. */
  const granted: Tokens[] = [world.secrets.tokens];
  /** The CRM accepts each refresh token from its own client only. */
  const owners = new Map([[world.secrets.tokens.refreshToken, 'id']]);
  const call: ClientOptions['change'] = () => ({
    callTokenEndpoint: async ({ clientId, clientSecret }, tokens, timeoutMs) => {
      if (owners.get(tokens.refreshToken) !== clientId || clientSecret !== `s of ${clientId}`)
        return { kind: 'refused', message: 'The token endpoint answered 401: invalid_client.' };
      const answer = await world.endpoint.call(tokens, timeoutMs);
      if (answer.kind === 'granted') owners.set(answer.tokens.refreshToken ?? tokens.refreshToken, clientId);
      return answer;
    },
  });

  const consent = () => {
    if (endsFormer) for (const { refreshToken } of granted) world.endpoint.revoke(refreshToken);
    const authorization: Authorization = { consentedAt: world.clock.time, end: 'exchanging' };
    authorizations.push(authorization);
    return authorization;
  };
  const pause = (most: number) => world.clock.sleep(random() * most);

  /** Runs a command of this deployment from the consent on. */
  const authorize = async (dies: boolean, clientId: string) => {
    await pause(2 * MINUTE);
    const done = consent();
    await pause(20_000);
    const authorization = await world.places().ledger.takeNumber(1);
    // A CRM that ends former grants may end the codes of former consents, too.
    if (endsFormer && endsCodes && authorizations.at(-1) !== done) {
      done.end = 'refused';
      return;
    }
    done.tokens = world.endpoint.grant({ authorization });
    granted.push(done.tokens);
    owners.set(done.tokens.refreshToken, clientId);
    if (dies) {
      done.end = 'died';
      return;
    }
    await pause(90_000);
    done.end = await world.storeAuthorization({ clientId, clientSecret: `s of ${clientId}` }, done.tokens).then(
      () => 'stored',
      () => 'later',
    );
  };
  /** Authorizes in another deployment of the same client, with its own secret and ledger. */
  const elsewhere = async () => {
    await pause(3 * MINUTE);
    const done = consent();
    const tokens = world.endpoint.grant();
    granted.push(tokens);
    Object.assign(done, { end: 'elsewhere', tokens });
  };
  const functions = async () => {
    for (let time = 0; time < 4; time += 1) {
      await pause(MINUTE);
      await world
        .client({ change: call })({ ...(chance(0.3) && { rejected: world.secrets.tokens.accessToken }) })
        .catch(() => undefined);
    }
  };

  const hasElsewhere = chance(0.25);
  const dies = chance(0.2);
  const other = chance(0.5) ? 'other' : 'id';
  const people = [authorize(dies, 'id'), authorize(false, other), ...(hasElsewhere ? [elsewhere()] : [])];
  await world.clock.run(Promise.all([...people, functions(), functions()]));
  await world.pass(10 * MINUTE);
  const { accessToken: rejected } = world.secrets.tokens;
  const [answer = new Error('nobody answered')] = await world.ask([world.client({ change: call })], { rejected });
  return { answer, documented: documentedLoss(authorizations, endsFormer), reuses: world.endpoint.reuses };
}

/** The reason in docs/adr/0013 for which a person has to authorize again. */
function documentedLoss(authorizations: Authorization[], endsFormer: boolean): string | undefined {
  if (!endsFormer) return undefined;
  const last = authorizations.toSorted((a, b) => a.consentedAt - b.consentedAt).at(-1);
  if (last?.end === 'elsewhere') return 'a consent for another deployment of the client';
  if (last?.end === 'died') return 'a command that died between the consent and storing';
  return undefined;
}
