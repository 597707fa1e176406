import { describe, expect, test } from 'vitest';
import type { AccessTokenDeps } from '../../core/oauth/deps.ts';
import type { Tokens } from '../../core/oauth/secrets.ts';
import type { TokenAnswer } from '../../core/oauth/token-endpoint.ts';
import { Simulation } from './support/simulation.ts';

/** An authorization that dies at any AWS call while it stores the grant, and the tokens that functions then have. */

const DEAD: TokenAnswer = { kind: 'invalidGrant', message: 'The token endpoint answered 400: invalid_grant.' };

type Sender = { send: (command: never, options?: never) => Promise<unknown> };

/** For a while, a CRM accepts the old secret of a client beside the new one. */
const TAKEN = ['id c4n4ry-5ecret', 'id new', 'another its own'];
const SECRETS: Record<string, string> = { id: 'new', another: 'its own' };

/** A world with a grant of the client `id`, and a CRM that knows the client of each grant. */
function worldOf(former: { saysWhose: boolean }) {
  const world = new Simulation().stored(-1, former.saysWhose ? { clientId: 'id' } : {});
  const owners = new Map([[world.secrets.tokens.refreshToken, 'id']]);
  const call: AccessTokenDeps['callTokenEndpoint'] = async ({ clientId, clientSecret }, tokens, timeoutMs) => {
    if (!TAKEN.includes(`${clientId} ${clientSecret}`)) return { kind: 'refused', message: '401: invalid_client' };
    if (owners.get(tokens.refreshToken) !== clientId) return DEAD;
    const answer = await world.endpoint.call(tokens, timeoutMs);
    if (answer.kind === 'granted') owners.set(answer.tokens.refreshToken ?? '', clientId);
    return answer;
  };
  const functions = (count: number) => world.clients(count, { change: () => ({ callTokenEndpoint: call }) });
  const granted = (clientId: string) => {
    const tokens = world.endpoint.grant();
    owners.set(tokens.refreshToken, clientId);
    return tokens;
  };
  return { world, granted, functions };
}

/** Stores a new grant of a client and dies at its `diesAt`-th AWS call. */
function storing(
  world: Simulation,
  tokens: Tokens,
  clientId: string,
  diesAt = Number.POSITIVE_INFINITY,
  arrives = true,
): Promise<'stored' | 'killed'> {
  const killed = Promise.withResolvers<'killed'>();
  let calls = 0;
  const through = <T>(client: T): T => {
    const send = async (command: never, options?: never) => {
      const dies = ++calls >= diesAt;
      const answer = dies && !arrives ? undefined : await (client as Sender).send(command, options);
      if (!dies) return answer;
      killed.resolve('killed');
      return new Promise(() => undefined);
    };
    return { send } as T;
  };
  const client = { clientId, clientSecret: SECRETS[clientId] ?? '' };
  const done = world.storeAuthorization(client, tokens, through).then(() => 'stored' as const);
  return world.clock.run(Promise.race([done, killed.promise]));
}

test.for([
  { what: 'a new secret of the same client', clientId: 'id', saysWhose: true },
  { what: 'another client', clientId: 'another', saysWhose: true },
  { what: 'another client, over a grant of an earlier release', clientId: 'another', saysWhose: false },
])(
  'with $what, functions keep a working grant if the command is killed at any call',
  async ({ clientId, saysWhose }) => {
    for (const arrives of [true, false]) {
      const ends: boolean[] = [];
      for (let diesAt = 1; ; diesAt += 1) {
        const { world, granted, functions } = worldOf({ saysWhose });
        const tokens = granted(clientId);

        const end = await storing(world, tokens, clientId, diesAt, arrives);
        const isNew = world.secrets.tokens.accessToken === tokens.accessToken;
        const answers = await world.ask(functions(10));

        const what = `killed at call ${diesAt}`;
        const { accessToken, functionStoredAt } = world.secrets.tokens;
        expect(functionStoredAt, what).toEqual(expect.any(String));
        expect(answers, what).toEqual(Array(10).fill(accessToken));
        expect(world.endpoint.reuses, what).toBe(0);
        expect(world.state, what).not.toContain('DEAD');
        // The next refresh succeeds, and so does the next authorization.
        const later = await world.ask(functions(5), { rejected: accessToken });
        expect(later, what).toEqual(Array(5).fill(world.secrets.tokens.accessToken));
        const again = granted(clientId);
        expect(await storing(world, again, clientId)).toBe('stored');
        expect(world.secrets.tokens, what).toMatchObject({ accessToken: again.accessToken, functionStoredAt: null });
        expect(await world.ask(functions(5)), what).toEqual(Array(5).fill(world.secrets.tokens.accessToken));
        if (end === 'stored') break;
        ends.push(isNew);
      }
      // The kills happened before and after the new grant was stored.
      expect(ends.length).toBeGreaterThan(6);
      expect(new Set(ends)).toEqual(new Set([true, false]));
    }
  },
);

test('a function uses the secret of the client that a person changed by hand after the grant', async () => {
  const { world, granted, functions } = worldOf({ saysWhose: true });
  await world.clock.run(world.storeAuthorization({ clientId: 'id', clientSecret: 'replaced since' }, granted('id')));
  world.secrets.oauthClient = JSON.stringify({ clientId: 'id', clientSecret: 'new' });
  const before = world.endpoint.calls;

  const [answer] = await world.ask(functions(1));

  expect(answer).toBe(world.secrets.tokens.accessToken);
  expect([world.endpoint.calls - before, world.state]).toEqual([1, expect.not.arrayContaining(['DEAD'])]);

  // The new token set has the secret that was used, so it needs no other place.
  world.secrets.oauthClient = undefined;
  const [later] = await world.ask(functions(1), { rejected: String(answer) });
  expect(later).toBe(world.secrets.tokens.accessToken);
  expect(world.secrets.tokens).toMatchObject({ clientId: 'id', clientSecret: 'new' });
});

test('a refresh stores the client of a grant of an earlier release, which does not say whose it is', async () => {
  const { world, functions } = worldOf({ saysWhose: false });

  await world.ask(functions(1));

  expect(world.secrets.tokens).toMatchObject({ clientId: 'id', clientSecret: 'c4n4ry-5ecret' });
});

test('a function does not present a grant to the CRM with the secret of another client', async () => {
  const { world, functions } = worldOf({ saysWhose: true });
  world.secrets.oauthClient = JSON.stringify({ clientId: 'another', clientSecret: 'its own' });

  const [answer] = await world.ask(functions(1));

  expect(answer).toMatchObject({ name: 'ConfigInvalid', message: expect.stringContaining('authorize') });
  expect([world.endpoint.calls, ...(world.state as string[])]).toEqual([0, 'CLAIMED']);
});

describe('a function whose grant has its own client', () => {
  const own = { clientId: 'id', clientSecret: 'c4n4ry-5ecret' };
  const refused = (name: string) => ({ trouble: Object.assign(new Error('no'), { name }) });

  test('refreshes it while the secret of the client has no value', async () => {
    const world = new Simulation().stored(-1, own);
    world.secrets.oauthClient = undefined;

    await world.serves(1, 1);
  });

  test.each<[string, { trouble?: Error; oauthClient?: string }, RegExp]>([
    ['may not be read', refused('AccessDeniedException'), /^There is no permission to read the secret client /],
    ['is scheduled for deletion', refused('InvalidRequestException'), /^The secret client is scheduled for deletion/],
    ['is not JSON', { oauthClient: 'c4n4ry' }, /^The value of the secret client is not a JSON object/],
    ['has another shape', { oauthClient: '{"clientId":7}' }, /has wrong or missing fields: clientId/],
  ])('reports that the secret of the client %s', async (_, { trouble, ...values }, message) => {
    const world = new Simulation().stored(-1, own);
    Object.assign(world.secrets, values);
    world.secrets.trouble = (_operation, secret) => (secret === 'client' ? trouble : undefined);

    expect(await world.one()).toMatchObject({ name: 'ConfigInvalid', message: expect.stringMatching(message) });
    expect([world.endpoint.calls, ...(world.state as string[])]).toEqual([0, 'CLAIMED']);
  });
});

test.each([{}, { clientId: 'id' }])(
  'a function names the secret without a value if a grant with %j has no client of its own',
  async (whose) => {
    const world = new Simulation().stored(-1, whose);
    world.secrets.oauthClient = undefined;

    const message = 'The secret client has no value yet (to store both: npx --no -- crm-export authorize).';
    expect(await world.one()).toMatchObject({ name: 'ConfigInvalid', message });
    expect(world.endpoint.calls).toBe(0);
  },
);
