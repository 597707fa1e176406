import { expect } from 'vitest';
import { storeGrant } from '../../../cli/access/store-grant.ts';
import { createGetAccessToken, type GetAccessToken } from '../../../core/oauth/access-token.ts';
import { createGrantStore, type TokenSet } from '../../../core/oauth/grant.ts';
import { createLedger } from '../../../core/oauth/ledger.ts';
import { type AccessTokenDeps, accessTokenDeps } from '../../../core/oauth/refresh.ts';
import { type Tokens, writeSecret } from '../../../core/oauth/secrets.ts';
import { deployment } from '../../support/builders.ts';
import { randomFrom } from '../../support/seeds.ts';
import { FakeEndpoint } from './fake-endpoint.ts';
import { FakeLedger } from './fake-ledger.ts';
import { FakeSecrets } from './fake-secrets.ts';
import { VirtualClock } from './virtual-clock.ts';

export const FIRST_VERSION = '00000000-0000-4000-8000-000000000001';
const PLACES = { clientSecretId: 'client', tokensSecretId: 'tokens', ledgerTable: 'ledger' };

export interface ClientOptions {
  /** How far this client's clock is ahead, in milliseconds. */
  skewMs?: number;
  secondsLeft?: () => number;
  /** Whether the client runs in a function; otherwise in a person's command. */
  inFunction?: boolean;
  /** The process dies once it has the claim, and does nothing afterwards. */
  diesAfterClaim?: boolean;
  change?: (deps: AccessTokenDeps) => Partial<AccessTokenDeps>;
}

/**
 * The environment of the token module, in one process and in virtual time: secrets, table and token endpoint with real
 * conditional semantics and delays, and any number of clients with their own module instances.
 */
export class Simulation {
  readonly clock: VirtualClock;
  readonly endpoint: FakeEndpoint;
  readonly secrets: FakeSecrets;
  readonly ledger: FakeLedger;
  /** The events that were counted for alarms. */
  readonly counted: string[] = [];
  readonly #random: () => number;

  constructor(start: string | number = '2026-11-20T01:00:00.000Z', seed = 7) {
    this.clock = new VirtualClock(start);
    this.#random = randomFrom(seed);
    const latency = () => this.clock.sleep(1 + 20 * this.#random());
    this.endpoint = new FakeEndpoint(this.clock);
    this.secrets = new FakeSecrets(this.clock.now, latency);
    this.ledger = new FakeLedger(latency);
  }

  /** Stores a grant whose access token has this much life left; a negative value is expired. */
  stored(lifeLeftSeconds: number, overrides: Partial<Tokens> = {}): this {
    const expiresAt = new Date(this.clock.time + lifeLeftSeconds * 1000).toISOString();
    const obtainedAt = new Date(this.clock.time + (lifeLeftSeconds - 3600) * 1000).toISOString();
    this.secrets.place(FIRST_VERSION, this.endpoint.grant({ expiresAt, obtainedAt, ...overrides }));
    return this;
  }

  client(options: ClientOptions = {}): GetAccessToken {
    const { skewMs = 0, inFunction = true, secondsLeft = () => 900, diesAfterClaim = false, change } = options;
    const deps = accessTokenDeps({
      ...PLACES,
      crm: deployment().crm,
      secrets: this.secrets.client,
      dynamo: this.ledger.client,
      now: () => new Date(this.clock.time + skewMs),
      sleep: this.clock.sleep,
      random: this.#random,
      secondsLeft,
      count: (event) => this.counted.push(event),
      authorizeCommand: 'npx --no -- crm-export authorize --deployment dev',
      inFunction,
    });
    const known: AccessTokenDeps = {
      ...deps,
      callTokenEndpoint: (_, tokens, timeoutMs) => this.endpoint.call(tokens, timeoutMs),
    };
    const mortal = diesAfterClaim ? dyingAfterClaim(known) : known;
    return createGetAccessToken({ ...mortal, ...change?.(mortal) });
  }

  clients(count: number, options?: ClientOptions): GetAccessToken[] {
    return Array.from({ length: count }, () => this.client(options));
  }

  /** Makes all clients ask at once. Returns every answer or error. */
  ask(clients: GetAccessToken[], options?: Parameters<GetAccessToken>[0]): Promise<(string | Error)[]> {
    const answers = clients.map((client) =>
      client(options).then(
        ({ accessToken }) => accessToken,
        (error: Error) => error,
      ),
    );
    return this.clock.run(Promise.all(answers));
  }

  async one(options?: ClientOptions): Promise<string | Error> {
    return (await this.ask([this.client(options)]))[0] ?? new Error('no answer');
  }

  /** Makes clients ask at once. Expects that each gets the stored token, and this number of token calls so far. */
  async serves(
    clients: number | GetAccessToken[],
    calls: number,
    options?: Parameters<GetAccessToken>[0],
  ): Promise<void> {
    const all = typeof clients === 'number' ? this.clients(clients) : clients;
    expect(new Set(await this.ask(all, options))).toEqual(new Set([this.secrets.tokens.accessToken]));
    expect(this.endpoint).toMatchObject({ calls, reuses: 0 });
  }

  /** Starts a client that dies with the claim, and advances the time past its normal end. */
  async diesAfterClaim(forMs = 5_000): Promise<void> {
    void this.client({ diesAfterClaim: true })().catch(() => undefined);
    await this.pass(forMs);
  }

  pass(ms: number): Promise<void> {
    return this.clock.run(this.clock.sleep(ms));
  }

  /** The product's stores, `through` a proxy of each client of AWS. */
  places(through: <T>(client: T) => T = (client) => client) {
    return {
      store: createGrantStore(through(this.secrets.client), 'tokens'),
      ledger: createLedger(through(this.ledger.client), 'ledger', 'tokens'),
    };
  }

  /** Stores a grant and its client, as the command does after a consent. */
  storeAuthorization(
    client: { clientId: string; clientSecret: string },
    { earlierObtainedAt: _, ...tokens }: Tokens,
    through: <T>(client: T) => T = (client) => client,
  ): Promise<TokenSet> {
    const secrets = through(this.secrets.client);
    const granted = { ...tokens, clientId: client.clientId, functionStoredAt: null };
    return storeGrant(granted, {
      ...this.places(through),
      writeClient: () => writeSecret(secrets, 'client', client),
      now: () => this.clock.time,
      sleep: this.clock.sleep,
    });
  }

  /**
   * Stores a grant that a person has just given, without its client.
   * @param wait between the claim and the write
   */
  storeGrant(tokens: Tokens = this.endpoint.grant(), wait?: () => Promise<void>): Promise<unknown> {
    const { store, ledger } = this.places();
    const storesLate: typeof store.store = async (...of) => {
      await wait?.();
      return store.store(...of);
    };
    const late = { ...store, store: storesLate };
    return storeGrant(tokens, { store: late, ledger, now: () => this.clock.time, sleep: this.clock.sleep });
  }

  /** A person gives a new grant, and the command stores it as the newest. */
  async authorized(): Promise<void> {
    const grant = this.endpoint.grant();
    await this.clock.run(this.storeGrant(grant));
    expect(this.secrets.tokens).toMatchObject({ accessToken: grant.accessToken, refreshToken: grant.refreshToken });
  }

  get state(): unknown[] {
    return this.ledger.rows().map(({ state }) => state);
  }
}

/** Never settles: the process that waits for it has died. */
export const never = (): Promise<never> => new Promise(() => undefined);

function dyingAfterClaim(deps: AccessTokenDeps): AccessTokenDeps {
  const { ledger } = deps;
  const claim: typeof ledger.claim = async (...of) => {
    const answer = await ledger.claim(...of);
    return answer.won ? never() : answer;
  };
  return { ...deps, ledger: { ...ledger, claim } };
}
