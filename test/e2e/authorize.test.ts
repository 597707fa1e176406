import { PassThrough } from 'node:stream';
import { PutSecretValueCommand } from '@aws-sdk/client-secrets-manager';
import { describe, expect, inject, onTestFinished, test, vi } from 'vitest';
import { type AuthorizeOptions, authorize } from '../../cli/access/authorize.ts';
import { BEFORE_THE_FIRST, successorOf } from '../../core/oauth/grant.ts';
import { answerConsent, approveConsent } from '../../sandbox/approve.ts';
import { startSandbox } from '../../sandbox/sandbox.ts';
import type { SandboxOptions } from '../../sandbox/sandbox-settings.ts';
import { deployment } from '../support/builders.ts';
import { failing, functionAt, makePlaces } from './support/grant-places.ts';

/** Tests authorization between the sandbox CRM and real calls to a local cloud. */

const cloud = inject('cloud');

const SCOPES = ['openid', 'global:export'];

async function setting(options: SandboxOptions = {}, crmOptions: Partial<AuthorizeOptions['crm']> = {}) {
  const sandbox = await startSandbox(options);
  onTestFinished(sandbox.close);
  const places = await makePlaces(cloud.endpoint);
  const { crm } = deployment({ crm: { authUrl: sandbox.authUrl, scopes: SCOPES, ...crmOptions } });
  const { clientId, clientSecret } = sandbox;
  const go = (more: Partial<AuthorizeOptions> = {}) =>
    authorize(places.target, {
      ...{ crm, configuration: 'config/NAME.json', clientId, clientSecret, onUrl: approveConsent },
      ...more,
    });
  const nothingStored = async () => {
    expect(await places.tokensText()).toBe('');
    expect(await places.clientText()).toBe('');
  };
  const tokenCalls = () => sandbox.ledger.calls({ kind: 'token' });
  return { sandbox, places, crm, clientId, clientSecret, go, nothingStored, tokenCalls };
}

function paste() {
  const stream = new PassThrough();
  return { stream, input: { stream, print: () => undefined } };
}

describe('a person who consents', () => {
  test('stores client and first token set, and prints no token', async () => {
    const { places, clientId, clientSecret, go } = await setting();
    const done = await go();
    expect(JSON.parse(await places.clientText())).toEqual({ clientId, clientSecret });
    const tokens = await places.tokens();
    expect(tokens.scope).toBe('openid global:export');
    const versionId = successorOf(BEFORE_THE_FIRST);
    const { TokensSecretId: secret } = places;
    expect(done).toEqual({ secret, versionId, scope: tokens.scope, expiresAt: tokens.expiresAt, notes: [] });
    expect(await places.ledger.read(BEFORE_THE_FIRST)).toMatchObject({ state: 'STORED' });
    for (const text of [tokens.accessToken, tokens.refreshToken, clientSecret])
      expect(JSON.stringify(done)).not.toContain(text);
  });

  test('opens an address with PKCE, a new state and a loopback callback for each authorization', async () => {
    const { sandbox, places, go, tokenCalls } = await setting();
    const urls: URL[] = [];
    const onUrl = (url: string) => {
      urls.push(new URL(url));
      return approveConsent(url);
    };
    const first = await go({ onUrl });
    const second = await go({ onUrl });
    const [one, two] = urls.map(({ searchParams }) => Object.fromEntries(searchParams));
    expect(one).toMatchObject({
      response_type: 'code',
      client_id: sandbox.clientId,
      scope: 'openid global:export',
      code_challenge_method: 'S256',
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      state: expect.stringMatching(/^[\w-]{43}$/),
      redirect_uri: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/callback$/),
    });
    expect(one?.state).not.toBe(two?.state);
    expect(one?.code_challenge).not.toBe(two?.code_challenge);
    expect(second.versionId).toBe(successorOf(first.versionId));
    expect(await places.store.currentVersionId()).toBe(second.versionId);
    expect(tokenCalls()).toHaveLength(2);
    expect(sandbox.ledger.violations()).toEqual([]);
  });
});

describe('the client', () => {
  test('is read from its secret if none is given, and not stored again', async () => {
    const { go, places, clientId, clientSecret } = await setting();
    await expect(go({ clientId: undefined })).rejects.toMatchObject({
      exitCode: 2,
      message: expect.stringContaining('--client-id'),
    });
    await places.secrets.send(
      new PutSecretValueCommand({
        SecretId: places.ClientSecretId,
        SecretString: JSON.stringify({ clientId, clientSecret, note: 'kept' }),
      }),
    );
    await go({ clientId: undefined, clientSecret: undefined });
    expect(await places.clientText()).toContain('kept');
    expect((await places.tokens()).refreshToken).toBeTruthy();
  });

  test('is that of the grant if another command has stored another one since', async () => {
    const { go, places, clientId, clientSecret } = await setting();
    await go();
    const other = JSON.stringify({ clientId: 'other', clientSecret: 'its own' });
    await places.secrets.send(new PutSecretValueCommand({ SecretId: places.ClientSecretId, SecretString: other }));
    await go({ clientId: undefined, clientSecret: undefined });
    expect(JSON.parse(await places.clientText())).toEqual({ clientId, clientSecret });
  });

  test('needs a secret from the prompt or the environment, else ends with exit code 2', async () => {
    const { go, places, clientId, clientSecret, nothingStored } = await setting();
    await expect(go({ clientSecret: '' })).rejects.toMatchObject({
      exitCode: 2,
      message: expect.stringContaining('give it in the environment variable CRM_CLIENT_SECRET'),
    });
    await nothingStored();
    const asked: string[] = [];
    const askSecret = async (id: string) => {
      asked.push(id);
      return clientSecret;
    };
    await go({ clientSecret: '', askSecret });
    await go({ clientSecret: '', askSecret });
    // A named client never comes with the stored secret.
    expect(asked).toEqual([clientId, clientId]);
    expect(JSON.parse(await places.clientText())).toEqual({ clientId, clientSecret });
  });

  test.for([
    ['a wrong secret', 2, 'invalid_client', /401: invalid_client.*"basic_raw" or "post" in config\/NAME\.json/],
    [
      'a 401 with a code of its own',
      2,
      'Bad credentials',
      /answered 401: .*The secret of the client .*CRM_CLIENT_SECRET/,
    ],
    ['a 401 about the code of the consent', 1, 'invalid_grant', /401: invalid_grant\.(?!.*CRM_CLIENT_SECRET)/s],
  ] as const)('that meets %s ends with fitting advice, and stores nothing', async ([, exitCode, error, words]) => {
    const { go, nothingStored, sandbox, tokenCalls } = await setting();
    sandbox.faults.add({ path: 'token', calls: [1], answer: { status: 401, body: { error } } });
    await expect(go()).rejects.toMatchObject({ exitCode, message: expect.stringMatching(words) });
    await nothingStored();
    expect(tokenCalls()).toHaveLength(1);
  });

  test('with an unreadable stored value ends with advice, without the value', async () => {
    const { go, places } = await setting();
    const value = { SecretId: places.ClientSecretId, SecretString: 'hunter2' };
    await places.secrets.send(new PutSecretValueCommand(value));
    const refused = go({ clientId: undefined });
    await expect(refused).rejects.toMatchObject({ exitCode: 2, message: expect.stringContaining('--client-id') });
    await expect(refused).rejects.not.toThrow(/hunter2/);
    await go();
    expect((await places.tokens()).refreshToken).toBeTruthy();
  });
});

describe('a client whose secret has changed', () => {
  /** A person has authorized; then the CRM accepts only another secret. */
  async function rotated() {
    const place = await setting();
    await place.go();
    place.sandbox.settings.clientSecret = 'the-new-secret';
    const again = (more: Partial<AuthorizeOptions>) =>
      place.go({ clientId: undefined, clientSecret: undefined, ...more });
    const secretNow = async () => JSON.parse(await place.places.clientText()).clientSecret;
    return { ...place, again, secretNow };
  }

  test('ends refreshes with advice to use --new-secret, and the grant works again after that', async () => {
    const { places, crm, again, clientId } = await rotated();
    const { accessToken: rejected } = await places.tokens();
    await expect(functionAt(places, crm)({ rejected })).rejects.toMatchObject({
      name: 'ConfigInvalid',
      message: expect.stringMatching(/invalid_client\. If the secret of the client has changed: .* --new-secret\.$/),
    });
    const asked: string[] = [];
    await again({ newSecret: true, askSecret: async (id) => `${asked.push(id) && 'the-new-secret'}` });
    expect(asked).toEqual([clientId]);
    expect(await functionAt(places, crm)({ rejected })).toMatchObject({
      accessToken: (await places.tokens()).accessToken,
    });
  });

  test.for([
    ['is the stored one', {}],
    ['came from CRM_CLIENT_SECRET', { clientSecret: 'x' }],
    ['was typed', { newSecret: true, askSecret: async () => 'x' }],
  ] as const)('reports that a wrong secret %s, and keeps the earlier grant', async ([source, more]) => {
    const { places, again, secretNow, clientSecret } = await rotated();
    const before = await places.tokensText();
    const words = `The secret of the client ${source}: give another in CRM_CLIENT_SECRET`;
    await expect(again(more)).rejects.toMatchObject({ exitCode: 2, message: expect.stringContaining(words) });
    expect([await secretNow(), await places.tokensText()]).toEqual([clientSecret, before]);
  });
});

describe('a grant with fewer scopes', () => {
  const less = { access_token: 'less', refresh_token: 'r', scope: 'openid', expires_in: 3600, token_type: 'Bearer' };

  test('replaces a working grant only with --replace', async () => {
    const { sandbox, go, places } = await setting();
    await go();
    const before = await places.tokens();
    for (const replace of [false, true]) {
      sandbox.faults.add({ path: 'token', calls: [1], answer: { status: 200, body: less } });
      const end = await go({ replace }).catch((error: Error) => error);
      if (replace)
        expect(end).toMatchObject({ scope: 'openid', notes: [expect.stringContaining('Missing: global:export.')] });
      else {
        expect(end).toMatchObject({
          exitCode: 1,
          message: expect.stringMatching(
            /^The new grant lacks global:export, .* not stored\. .* --replace\. The consent was given/,
          ),
        });
        expect(await places.tokens()).toEqual(before);
      }
    }
    expect((await places.tokens()).accessToken).toBe('less');
  });

  test('replaces a dead grant, and one that lacks only scopes the CRM never names', async () => {
    const { sandbox, go, places, crm } = await setting();
    const answer = (scope: string) =>
      sandbox.faults.add({ path: 'token', calls: [1], answer: { status: 200, body: { ...less, scope } } });
    answer('openid');
    await go();
    const { accessToken: rejected } = await places.tokens();
    await expect(functionAt(places, crm)({ rejected })).rejects.toMatchObject({ name: 'ReauthorizationRequired' });
    answer('openid');
    await go();
    answer('global:export');
    await expect(go()).rejects.toThrow('lacks openid');
    await go();
    answer('global:export');
    await go({ replace: true });
    answer('global:export');
    await go();
    expect(await places.tokens()).toMatchObject({ scope: 'global:export' });
  });
});

describe('before the command asks for consent', () => {
  test.for([
    ['secrets', 'GetSecretValueCommand', 'AccessDeniedException', 'no permission to read'],
    ['secrets', 'PutSecretValueCommand', 'AccessDeniedException', 'no permission to write'],
    ['secrets', 'PutSecretValueCommand', 'ResourceNotFoundException', 'npx cdk deploy --revert-drift'],
    ['secrets', 'GetSecretValueCommand', 'InvalidRequestException', 'aws secretsmanager restore-secret'],
    ['secrets', 'PutSecretValueCommand', 'InternalServiceError', 'InternalServiceError'],
    ['dynamo', 'GetItemCommand', 'ResourceNotFoundException', 'npx cdk deploy --revert-drift'],
    ['dynamo', 'UpdateItemCommand', 'AccessDeniedException', 'no permission to use'],
  ] as const)('a failure of %s at %s with %s ends the command with advice', async ([client, command, name, advice]) => {
    for (const authorizedBefore of [false, true]) {
      const { go, places } = await setting();
      if (authorizedBefore) await go();
      failing(places[client], command, name);
      const asked: string[] = [];
      const askSecret = async (id: string) => String(asked.push(id));
      await expect(go({ clientSecret: '', onUrl: (url) => asked.push(url), askSecret })).rejects.toMatchObject({
        exitCode: 3,
        message: expect.stringMatching(new RegExp(`${advice}.* No consent was requested`)),
      });
      expect(asked).toEqual([]);
    }
  });

  test('the command changes nothing that is stored', async () => {
    const { go, places, crm } = await setting();
    await go();
    const stored = [await places.clientText(), await places.tokensText(), await places.store.currentVersionId()];
    const claim = await places.ledger.read(successorOf(BEFORE_THE_FIRST));
    await expect(go({ onUrl: () => Promise.reject(new Error('no browser')) })).rejects.toThrow('no browser');
    expect([await places.clientText(), await places.tokensText(), await places.store.currentVersionId()]).toEqual(
      stored,
    );
    expect(await places.ledger.read(successorOf(BEFORE_THE_FIRST))).toEqual(claim);
    expect(await functionAt(places, crm)()).toMatchObject({ accessToken: (await places.tokens()).accessToken });
  });
});

describe('a CRM that grants less than needed', () => {
  test('without a refresh token, ends with the reason and stores nothing', async () => {
    const { sandbox, go, nothingStored, tokenCalls } = await setting();
    const body = { access_token: 'only-for-an-hour', token_type: 'Bearer', expires_in: 3600 };
    sandbox.faults.add({ path: 'token', answer: { status: 200, body } });
    await expect(go()).rejects.toThrow(/no refresh token.*offline_access.*openid global:export.*grant is not stored/);
    await nothingStored();
    expect(tokenCalls()).toHaveLength(1);
  });

  test.for([
    ['a lost answer', { reset: 'after' }],
    ['an answer that is not JSON', { answer: { status: 200, body: '<html>' } }],
    ['a server error', { answer: { status: 503 } }],
  ] as const)('after %s, does not exchange the code again and stores nothing', async ([, effect]) => {
    const { sandbox, go, nothingStored, tokenCalls } = await setting();
    sandbox.faults.add({ path: 'token', ...effect });
    await expect(go()).rejects.toThrow(/its grant is not stored: authorize again/);
    await nothingStored();
    expect(tokenCalls()).toHaveLength(1);
  });

  test('with control characters in its scopes, stores the grant, hides the scopes and adds notes', async () => {
    const { sandbox, go } = await setting();
    const body = { access_token: 'a', refresh_token: 'r', scope: 'openid\u001b[2J\u009b\n', expires_in: 300 };
    sandbox.faults.add({ path: 'token', answer: { status: 200, body } });
    expect(await go()).toMatchObject({
      scope: '',
      notes: [expect.stringContaining('Missing: openid, global:export'), expect.stringContaining('only 5 minutes')],
    });
  });
});

describe('storing after the consent', () => {
  test('is retried after throttling', async () => {
    const { go, places } = await setting();
    // The first two writes are the permission check.
    failing(places.secrets, 'PutSecretValueCommand', 'ThrottlingException', (_, call) => call === 3 || call === 5);
    await go();
    expect((await places.tokens()).refreshToken).toBeTruthy();
    expect(await places.clientText()).toContain('clientSecret');
  });

  test.for([
    ['the grant', 3, 'The consent was given, but its grant is not stored: authorize again\\.'],
    ['the client', 4, 'The new grant is stored and in use\\.'],
  ] as const)('that is denied (%s) reports which grant is stored, with advice', async ([what, from, stands]) => {
    const { go, places } = await setting();
    failing(places.secrets, 'PutSecretValueCommand', 'AccessDeniedException', (_, call) => call >= from);
    const end = new RegExp(`no permission to write .* ${stands}`);
    await expect(go()).rejects.toMatchObject({
      name: 'CommandError',
      exitCode: 2,
      message: expect.stringMatching(end),
    });
    expect((await places.tokensText()) === '').toBe(what === 'the grant');
  });

  test('uses the time of AWS for its claim if the clock here is slow', async () => {
    const { go, places, crm } = await setting();
    await go();
    const before = successorOf(BEFORE_THE_FIRST);
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 300_000 });
    onTestFinished(() => void vi.useRealTimers());
    await go();
    vi.useRealTimers();
    expect(Date.parse((await places.tokens()).obtainedAt)).toBeGreaterThan(Date.now() - 100_000);
    expect((await places.ledger.read(before))?.deadline).toBeGreaterThan(Date.now());
    expect(await functionAt(places, crm)()).toMatchObject({ accessToken: (await places.tokens()).accessToken });
  });
});

describe('the wait ends', () => {
  test('at an interruption and at the timeout, without storing anything', async () => {
    const { go, nothingStored } = await setting();
    const interrupt = new AbortController();
    const onUrl = () => interrupt.abort(new Error('enough'));
    await expect(go({ onUrl, signal: interrupt.signal })).rejects.toThrow('enough');
    await expect(go({ onUrl: () => undefined, timeoutSeconds: 0.05 })).rejects.toThrow(/within 0\.05 seconds/);
    await nothingStored();
  });

  test('at an interruption while a function holds the claim, and keeps the grant', async () => {
    const { go, places } = await setting();
    const { versionId } = await go();
    await places.ledger.claim(versionId, Date.now());
    const before = await places.tokens();
    const interrupt = new AbortController();
    const waits = { signal: interrupt.signal, onWait: () => interrupt.abort() };
    await expect(go(waits)).rejects.toMatchObject({
      exitCode: 130,
      message: expect.stringMatching(/^Interrupted\. The consent was given, but its grant is not stored/),
    });
    expect(await places.tokens()).toEqual(before);
  });
});

describe('a person without a browser on this machine', () => {
  test('exchanges the code once if paste and browser answer at the same time', async () => {
    const { go, places, tokenCalls, sandbox } = await setting();
    const { stream, input } = paste();
    const onUrl = async (url: string) => {
      const back = await answerConsent(url, 'allow');
      stream.write(`${back.href}\n${back.href}\n`);
      await Promise.all([fetch(back).catch(() => undefined), fetch(back).catch(() => undefined)]);
    };
    await go({ paste: input, onUrl });
    expect((await places.tokens()).refreshToken).toBeTruthy();
    expect(tokenCalls()).toHaveLength(1);
    expect(sandbox.ledger.violations()).toEqual([]);
  });

  test('can still use the browser after closing the prompt, if a listener waits', async () => {
    const { go, places } = await setting();
    const one = paste();
    const two = paste();
    one.stream.end();
    two.stream.end('\n');
    await go({ paste: one.input });
    expect((await places.tokens()).refreshToken).toBeTruthy();
    const elsewhere = { redirectUri: 'https://crm.example/elsewhere', onUrl: () => undefined };
    await expect(go({ ...elsewhere, paste: two.input })).rejects.toThrow('No answer was pasted');
    await expect(go(elsewhere)).rejects.toMatchObject({ exitCode: 2 });
  });
});
