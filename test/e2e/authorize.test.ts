import { PassThrough } from 'node:stream';
import { describe, expect, inject, onTestFinished, test } from 'vitest';
import { type AuthorizeOptions, authorize } from '../../cli/access/authorize.ts';
import { BEFORE_THE_FIRST, successorOf } from '../../core/oauth/grant.ts';
import { approveConsent } from '../../sandbox/approve.ts';
import { startSandbox } from '../../sandbox/sandbox.ts';
import { deployment } from '../support/builders.ts';
import { functionAt, makePlaces } from './support/grant-places.ts';

/** Tests authorization between the sandbox CRM and real calls to a local cloud. */

const cloud = inject('cloud');

async function setting() {
  const sandbox = await startSandbox();
  onTestFinished(sandbox.close);
  const places = await makePlaces(cloud.endpoint);
  const { crm } = deployment({ crm: { authUrl: sandbox.authUrl, scopes: ['openid', 'global:export'] } });
  const { clientId, clientSecret } = sandbox;
  const go = (more: Partial<AuthorizeOptions> = {}) =>
    authorize(places.target, {
      ...{ crm, configuration: 'config/NAME.json', clientId, clientSecret, onUrl: approveConsent },
      ...more,
    });
  return { sandbox, places, crm, clientId, clientSecret, go };
}

function paste() {
  const stream = new PassThrough();
  return { stream, input: { stream, print: () => undefined } };
}

test('each authorization opens an address with PKCE, a new state and a loopback callback', async () => {
  const { sandbox, places, go } = await setting();
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
  expect(sandbox.ledger.count({ kind: 'token' })).toBe(2);
  expect(sandbox.ledger.violations()).toEqual([]);
});

const less = { access_token: 'less', refresh_token: 'r', scope: 'openid', expires_in: 3600, token_type: 'Bearer' };

test('a grant with fewer scopes replaces a dead grant, one that lacks only scopes the CRM never names, and any with --replace', async () => {
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

test('before it asks for consent, the command changes nothing that is stored', async () => {
  const { go, places, crm } = await setting();
  await go();
  const stored = [await places.clientText(), await places.tokensText(), await places.store.currentVersionId()];
  const claim = await places.ledger.read(successorOf(BEFORE_THE_FIRST));
  await expect(go({ onUrl: () => Promise.reject(new Error('no browser')) })).rejects.toThrow('no browser');
  expect([await places.clientText(), await places.tokensText(), await places.store.currentVersionId()]).toEqual(stored);
  expect(await places.ledger.read(successorOf(BEFORE_THE_FIRST))).toEqual(claim);
  expect(await functionAt(places, crm)()).toMatchObject({ accessToken: (await places.tokens()).accessToken });
});

test('storing after the consent is retried after throttling', async () => {
  const { go, places } = await setting();
  // The first two writes of secrets are the permission check.
  let writes = 0;
  places.secrets.middlewareStack.add(
    (next, { commandName }) =>
      (args) => {
        if (commandName === 'PutSecretValueCommand' && [3, 5].includes(++writes))
          throw Object.assign(new Error('refused'), { name: 'ThrottlingException' });
        return next(args);
      },
    { step: 'initialize' },
  );
  await go();
  expect((await places.tokens()).refreshToken).toBeTruthy();
  expect(await places.clientText()).toContain('clientSecret');
});

describe('the wait ends', () => {
  test('at an interruption and at the timeout, without storing anything', async () => {
    const { go, places } = await setting();
    const interrupt = new AbortController();
    const onUrl = () => interrupt.abort(new Error('enough'));
    await expect(go({ onUrl, signal: interrupt.signal })).rejects.toThrow('enough');
    await expect(go({ onUrl: () => undefined, timeoutSeconds: 0.05 })).rejects.toThrow(/within 0\.05 seconds/);
    expect([await places.tokensText(), await places.clientText()]).toEqual(['', '']);
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
      message: expect.stringMatching(/^Interrupted\. .* not stored/),
    });
    expect(await places.tokens()).toEqual(before);
  });
});

test('a person can still use the browser after closing the prompt, if a listener waits', async () => {
  const { go, places } = await setting();
  const one = paste();
  const two = paste();
  one.stream.end();
  two.stream.end('\n');
  await go({ paste: one.input });
  expect((await places.tokens()).refreshToken).toBeTruthy();
  const elsewhere = { redirectUri: 'https://crm.example/elsewhere', onUrl: () => undefined };
  await expect(go({ ...elsewhere, paste: two.input })).rejects.toThrow('pasted');
});
