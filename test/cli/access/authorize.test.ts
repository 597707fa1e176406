import { expect, onTestFinished, test, vi } from 'vitest';
import { LEASE_MS } from '../../../core/oauth/ledger.ts';
import { approveConsent } from '../../../sandbox/approve.ts';
import { startSandbox } from '../../../sandbox/sandbox.ts';
import { clockAt } from '../../support/clock.ts';
import { eventually } from '../../support/project.ts';
import { expectResults } from '../../support/screen.ts';
import type { Answers } from '../support/cloud/answers.ts';
import { denied, type Handler, Reply, refused, send } from '../support/cloud/answers.ts';
import { aws } from '../support/cloud/cloud.ts';
import { type Execution, executions } from '../support/cloud/executions.ts';
import { grant, storedTokens } from '../support/cloud/grant.ts';
import { configured } from '../support/cloud/stack.ts';
import { type CliResult, startCli } from '../support/run-cli.ts';

const AT = '2026-11-20T01:00:00.000Z';
clockAt('2026-11-20T12:00:00.000Z');

const WITH_CLIENT = ['--client-id', 'id'];
const PUBLISHED = { status: 'SUCCEEDED', start: AT, stop: AT, output: '{}' };

interface World {
  /** The status and body of the token endpoint; default: those of the sandbox. */
  answer?: { status: number; body?: Record<string, string | number> };
  /** Values of the secrets `client` and `tokens`. */
  values?: Record<string, string>;
  aws?: Answers;
  run?: Omit<Execution, 'name' | 'input'>;
  /** The environment variable CRM_CLIENT_SECRET; default: the secret of the client. */
  secret?: string;
}

/** Runs `authorize` with a person who consents at once. */
async function authorize({ answer, values = {}, aws: more = {}, run = PUBLISHED, secret }: World, ...args: string[]) {
  const sandbox = await startSandbox({ rows: 5, jobChecks: 1, clientId: 'id' });
  onTestFinished(() => sandbox.close());
  if (answer) sandbox.faults.add({ path: 'token', answer });
  const { baseUrl, authUrl } = sandbox;
  const machine = executions([], { onStart: () => run });
  const cloud = await aws(configured({ crm: { baseUrl, authUrl } }), more, grant(values), machine);
  vi.stubEnv('CRM_CLIENT_SECRET', secret ?? sandbox.clientSecret);
  const { soFar, ended } = startCli('authorize', '--no-browser', ...args, ...cloud.place);
  let isOver = false;
  void ended.then(() => {
    isOver = true;
  });
  await eventually(() => isOver || addressIn(soFar) !== undefined);
  const address = addressIn(soFar);
  if (address) await approveConsent(address);
  const result = await ended;
  // What follows the instructions for the person.
  const lasting = result.shown
    .replace(/^Open: .*then open the address\.\n/ms, '')
    .replace(/VersionId: [\w-]+/, 'VersionId: ID')
    .replace(/expires at \S+Z/, 'expires at TIME');
  const exchanges = sandbox.ledger.count({ kind: 'token' });
  const clients = cloud.calls.flatMap(({ operation, input: { SecretId, SecretString } }) =>
    operation === 'PutSecretValue' && SecretId === 'arn:client' && SecretString ? [SecretString] : [],
  );
  const expected = JSON.stringify({ clientId: 'id', clientSecret: sandbox.clientSecret });
  return { result: { ...result, shown: lasting }, started: cloud.started, exchanges, clients, expected };
}

function addressIn({ shown }: CliResult): string | undefined {
  return /Open: (\S+)/.exec(shown)?.[1];
}

// If the CRM does not rotate the refresh token, the run continues and the claim is released.
const NOT_STORED = { GetItem: { Item: { state: { S: 'CLAIMED' }, owner: { S: 'a' }, deadline: { N: '0' } } } };
const FAILED = { ...PUBLISHED, status: 'FAILED', error: 'ConfigInvalid', cause: 'The ledger may not be used.' };

test('authorize stores client and grant, starts the run of --run, and reports what the run shows about the grant', async () => {
  const ends: [what: string, world: World, ...args: string[]][] = [
    ['without a run', {}],
    // No function refreshes the grant in this test.
    ['the run is published, and did not refresh the grant', {}, '--run', 'meetings'],
    ['the refreshed grant is not stored', { aws: NOT_STORED }, '--run', 'leads'],
    ['the run failed', { run: FAILED }, '--run', 'leads'],
  ];
  const results: [string, CliResult][] = [];
  const runs: unknown[] = [];
  for (const [what, world, ...args] of ends) {
    const { result, started, clients, expected } = await authorize(world, ...WITH_CLIENT, ...args);
    results.push([what, result]);
    runs.push(...started);
    expect(clients, what).toEqual([expected]);
  }

  await expectResults('first-run', results);
  expect(runs).toEqual([{ entity: 'meetings' }, { entity: 'leads' }, { entity: 'leads' }]);
});

test('authorize claims the grant by the time of AWS if the clock of this machine is wrong', async () => {
  const awsTime = Date.now() - 300_000;
  const dated: Handler = async (_, next) => {
    const answer = await next();
    return new Reply((response, call) => {
      response.setHeader('date', new Date(awsTime).toUTCString());
      send(response, call, answer);
    });
  };
  const deadlines: number[] = [];
  const claims: Handler = ({ input }, next) => {
    const { ':deadline': deadline, ':owner': owner } = input.ExpressionAttributeValues as Record<
      string,
      { N?: string }
    >;
    if (owner) deadlines.push(Number(deadline?.N));
    return next();
  };

  await authorize({ aws: { secretsmanager: dated, UpdateItem: claims } }, ...WITH_CLIENT);

  expect(deadlines).toHaveLength(1);
  expect(Math.abs((deadlines[0] ?? 0) - LEASE_MS - awsTime)).toBeLessThan(60_000);
});

test('authorize ends with what to change, and says which grant is stored', async () => {
  const GRANTED = { access_token: 'at_1', refresh_token: 'rt_1', expires_in: 300, token_type: 'Bearer' };
  const client = JSON.stringify({ clientId: 'id', clientSecret: 'an-old-s3cret' });
  const scope = 'openid profile global:export';
  const tokens = storedTokens({ refreshToken: 'rt_0', accessToken: 'at_0', obtainedAt: AT, scope });
  const later = storedTokens({ refreshToken: 'rt_0', accessToken: 'at_0', obtainedAt: AT, scope, authorization: 2 });
  const firstNumber: Handler = ({ input }, next) =>
    JSON.stringify(input).includes('authorizations') ? { Attributes: { number: { N: '1' } } } : next();
  const refusal = (status: number, error: string) => ({ answer: { status, body: { error } } });
  const ends: [what: string, world: World, ...args: string[]][] = [
    ['no client is stored or named', {}],
    ['the stored client cannot be read', { values: { client: 'hunter2' } }],
    ['the stored client cannot be read, and another is named', { values: { client: 'hunter2' } }, ...WITH_CLIENT],
    ['a named client has no secret', { secret: '', values: { client } }, ...WITH_CLIENT],
    ['nothing listens at the redirect URI', {}, ...WITH_CLIENT, '--redirect-uri', 'https://crm.example/back'],
    ['the redirect URI is not an address', {}, ...WITH_CLIENT, '--redirect-uri', 'callback'],
    ['the stored secret of the client is wrong', { secret: '', values: { client }, ...refusal(401, 'invalid_client') }],
    ['the given secret of the client is wrong', refusal(401, 'invalid_client'), ...WITH_CLIENT],
    ['a 401 has a code of its own', refusal(401, 'Bad credentials'), ...WITH_CLIENT],
    ['a 401 is about the code of the consent', refusal(401, 'invalid_grant'), ...WITH_CLIENT],
    ['the scopes are refused', refusal(400, 'invalid_scope'), ...WITH_CLIENT],
    ['the token endpoint fails', { answer: { status: 500 } }, ...WITH_CLIENT],
    ['there is no refresh token', { answer: { status: 200, body: { access_token: 'at_1' } } }, ...WITH_CLIENT],
    [
      'the grant lacks scopes of a working one',
      { values: { tokens }, answer: { status: 200, body: { ...GRANTED, scope: 'openid' } } },
      ...WITH_CLIENT,
    ],
    [
      'the first grant lacks scopes, and its access token lives five minutes',
      { answer: { status: 200, body: { ...GRANTED, scope: 'openid\u001b[2J\u009b\n' } } },
      ...WITH_CLIENT,
    ],
    [
      'a later authorization is stored',
      { values: { tokens: later }, aws: { UpdateItem: firstNumber } },
      ...WITH_CLIENT,
    ],
    ['the grant may not be stored', { aws: denied('PutSecretValue') }, ...WITH_CLIENT],
    ['the ledger does not exist', { aws: { GetItem: refused('ResourceNotFoundException') } }, ...WITH_CLIENT],
    ['the grant may not be claimed', { aws: denied('UpdateItem') }, ...WITH_CLIENT],
  ];
  const results: [string, CliResult][] = [];
  for (const [what, world, ...args] of ends) {
    const { result, exchanges } = await authorize(world, ...args);
    // A second exchange of a code may end the tokens of the first one.
    expect([what, exchanges]).not.toEqual([what, 2]);
    expect(result.shown).not.toMatch(/hunter2|[ar]t_\d|s3cret/);
    results.push([what, result]);
  }
  // Nobody is asked to consent without the rights to store the grant.
  expect(results.slice(-3).map(([, { stdout }]) => stdout)).toEqual(['', '', '']);

  await expectResults('authorize-ends', results);
});
