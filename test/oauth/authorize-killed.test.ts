import { expect, test } from 'vitest';
import type { AccessTokenDeps } from '../../core/oauth/refresh.ts';
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

/** What functions have after a kill. @returns `undefined` if the command was not killed */
async function afterKill(clientId: string, diesAt: number, arrives: boolean) {
  const { world, granted, functions } = worldOf({ saysWhose: true });
  const tokens = granted(clientId);
  const what = `killed at call ${diesAt}`;

  const end = await storing(world, tokens, clientId, diesAt, arrives);
  const isNew = world.secrets.tokens.accessToken === tokens.accessToken;
  // Only the client of the command is stored, not its grant.
  const isCut = !isNew && !world.secrets.oauthClient?.includes('"id"');
  const answers = await world.ask(functions(10));

  const invalid = expect.objectContaining({ name: 'ConfigInvalid' });
  expect(answers, what).toEqual(Array(10).fill(isCut ? invalid : world.secrets.tokens.accessToken));
  expect(world.endpoint).toMatchObject({ calls: isCut ? 0 : 1, reuses: 0 });
  expect(world.state).not.toContain('DEAD');
  const again = granted(clientId);
  expect(await storing(world, again, clientId)).toBe('stored');
  expect(world.secrets.tokens, what).toMatchObject({ accessToken: again.accessToken, functionStoredAt: null });
  expect(await world.ask(functions(5)), what).toEqual(Array(5).fill(world.secrets.tokens.accessToken));
  if (end === 'stored') return undefined;
  return isNew ? 'new' : isCut ? 'cut' : 'former';
}

test.for([
  ['a new secret of the same client', 'id', ['former', 'new']],
  ['another client', 'another', ['former', 'cut', 'new']],
] as const)(
  'with %s, a kill at any call of the command leaves a grant that works, or that nobody spends',
  async ([, clientId, expected]) => {
    for (const arrives of [true, false]) {
      const ends: string[] = [];
      for (
        let end = await afterKill(clientId, 1, arrives);
        end;
        end = await afterKill(clientId, ends.length + 1, arrives)
      )
        ends.push(end);

      expect(ends.length).toBeGreaterThan(6);
      expect(new Set(ends)).toEqual(new Set(expected));
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
});

test('a refresh stores the client of a grant of an earlier release, which does not say whose it is', async () => {
  const { world, functions } = worldOf({ saysWhose: false });

  await world.ask(functions(1));

  expect(world.secrets.tokens).toMatchObject({ clientId: 'id' });
});

test('a function does not present a grant to the CRM with the secret of another client', async () => {
  const { world, functions } = worldOf({ saysWhose: true });
  world.secrets.oauthClient = JSON.stringify({ clientId: 'another', clientSecret: 'its own' });

  const [answer] = await world.ask(functions(1));

  expect(answer).toMatchObject({ name: 'ConfigInvalid', message: expect.stringContaining('authorize') });
  expect([world.endpoint.calls, ...(world.state as string[])]).toEqual([0, 'CLAIMED']);
});
