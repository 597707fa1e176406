import { createServer, request } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { type CallbackListener, callbackOf, listenForCallback } from '../../../cli/access/consent.ts';
import { CommandError } from '../../../cli/support/exit.ts';
import { freePort } from '../../../local/ministack/ports.ts';

const expected = {
  state: 'the-state',
  crm: { authUrl: 'https://crm.example/tenant/auth/', scopes: ['openid'] },
  configuration: 'config/dev.json',
};

async function listener(options: Parameters<typeof callbackOf>[0] = {}): Promise<CallbackListener> {
  const listening = await listenForCallback(expected, callbackOf(options));
  onTestFinished(listening.close);
  return listening;
}

async function come(to: CallbackListener, query: string, init: RequestInit = {}): Promise<string> {
  const response = await fetch(`${to.redirectUri}${query}`, init);
  const html = await response.text();
  const [heading, text] = ['h1', 'p'].map((tag) => new RegExp(`<${tag}>(.*)</${tag}>`).exec(html)?.[1]);
  return `${response.status} ${heading}. ${text}`;
}

const endOf = (promise: Promise<unknown>) => promise.then(String, (error: unknown) => error);

test('the code arrives at an address of this machine only', async () => {
  const waiting = await listener();
  expect(waiting.redirectUri).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/callback$/);
  expect(await come(waiting, '?code=the%2Bcode&state=the-state')).toMatch(/^200 Authorized at the CRM\./);
  expect(await waiting.code).toBe('the+code');
});

test('what does not belong to this authorization is refused, and it goes on waiting', async () => {
  const waiting = await listener();
  expect(await come(waiting, '?code=stolen&state=another')).toMatch(/^400 .*still waits/);
  expect(await come(waiting, '?error=access_denied')).toMatch(/^400 .*still waits/);
  expect(await come(waiting, '?state=the-state')).toMatch(/^400 The answer holds no code/);
  expect(await come(waiting, '/other?code=1&state=the-state')).toMatch(/^404/);
  expect(await come(waiting, '?code=1&state=the-state', { method: 'POST' })).toMatch(/^404/);
  expect(await come(waiting, '?code=right&state=the-state')).toMatch(/^200/);
  expect(await waiting.code).toBe('right');
});

test('an address that cannot be read does not end the command', async () => {
  const waiting = await listener();
  const { port } = new URL(waiting.redirectUri);
  const status = await new Promise((resolve, reject) => {
    request({ port, host: '127.0.0.1', path: '//' }, (response) => resolve(response.statusCode))
      .on('error', reject)
      .end();
  });
  expect(status).toBe(404);
  expect(await come(waiting, '?code=right&state=the-state')).toMatch(/^200/);
});

test('a refusal is reported by its code, and by no word of the CRM', async () => {
  const waiting = await listener();
  const description = encodeURIComponent('\u001b[2Jno\u0007 \u202eway\r\n<script>');
  expect(await come(waiting, `?error=access_denied&error_description=${description}&state=the-state`)).toBe(
    '200 The authorization was refused. The command in the terminal says why. This window can be closed.',
  );
  const error = await endOf(waiting.code);
  expect(error).toEqual(new CommandError('The CRM refused the authorization: access_denied.', 1));
});

test('a refusal by a code of its own is another word', async () => {
  const waiting = await listener();
  await come(waiting, `?error=${'x'.repeat(5000)}&state=the-state`);
  expect(await endOf(waiting.code)).toMatchObject({
    message: 'The CRM refused the authorization: another word than those of RFC 6749.',
  });
});

test('a port that is taken is a matter of the environment', async () => {
  const port = await freePort();
  const other = createServer().listen(port, '127.0.0.1');
  onTestFinished(() => void other.close());
  const error = await endOf(listener({ port }));
  expect(error).toMatchObject({ exitCode: 3, message: expect.stringMatching(/^The port \d+ on 127.* --port\.$/) });
});

test('a closed listener answers nobody', async () => {
  const waiting = await listener();
  waiting.close();
  await expect(fetch(waiting.redirectUri)).rejects.toThrow();
});

test('pages are plain and accessible, hold nothing of the query, and may not be kept or framed', async () => {
  const waiting = await listener();
  for (const query of [
    '?code=q7q7&state=wrong',
    '?error=q7q7&state=the-state',
    '?code=q7q7&state=the-state',
    '/q7q7',
  ]) {
    const response = await fetch(`${waiting.redirectUri}${query}`);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': expect.stringMatching(/^default-src 'none';.*frame-ancestors 'none'/),
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
    });
    const html = await response.text();
    expect(html).toMatch(/^<!doctype html>\n<html lang="en">/);
    for (const part of ['<title>', '<main>', '<h1>']) expect(html.split(part)).toHaveLength(2);
    expect(html).not.toMatch(/q7q7|the-state|<script|<style|style=|<img|<link/);
  }
});

test('an answer of another issuer ends it, and the issuer of the CRM does not', async () => {
  for (const issuer of ['https://crm.example', 'https://crm.example/tenant', 'https://crm.example/tenant/auth']) {
    const waiting = await listener();
    await come(waiting, `?code=right&state=the-state&iss=${encodeURIComponent(issuer)}`);
    expect(await waiting.code).toBe('right');
  }
  for (const issuer of ['https://evil.example', 'https://crm.example/ten', 'https://crm.example/other', 'x', '']) {
    const waiting = await listener();
    expect(await come(waiting, `?code=right&state=the-state&iss=${encodeURIComponent(issuer)}`)).toMatch(
      /^200 .*refused/,
    );
    expect(await endOf(waiting.code)).toMatchObject({
      exitCode: 1,
      message: expect.stringContaining('another issuer'),
    });
  }
});

test('no part of an issuer that is not the one of the CRM is repeated', async () => {
  const token = 'rT-live-7f3a';
  for (const issuer of [`https://evil.example/?grant=refresh_token%3D${token}`, `https://${token}.example`, token]) {
    const waiting = await listener();
    const page = await come(waiting, `?code=right&state=the-state&iss=${encodeURIComponent(issuer)}`);
    const error = await endOf(waiting.code);
    expect(error).toMatchObject({
      message:
        'The redirect names another issuer than crm.authUrl does (https://crm.example/tenant/auth/). Nothing was stored: ' +
        'compare crm.authUrl with "iss" in the address line of the browser, correct what is wrong, and authorize again.',
    });
    for (const text of [page, String(error)]) expect(text.toLowerCase()).not.toContain(token.toLowerCase());
  }
});

test('localhost is listened for on both addresses that it may mean', async () => {
  const waiting = await listener({ redirectUri: 'http://localhost:0/back' });
  const { port } = new URL(waiting.redirectUri);
  expect(waiting.redirectUri).toBe(`http://localhost:${port}/back`);
  for (const host of ['127.0.0.1', '[::1]', 'localhost']) {
    const response = await fetch(`http://${host}:${port}/back?state=another`);
    expect(response.status).toBe(400);
  }
});

test('a redirect URI is taken as given, and what is none is a matter of usage', () => {
  expect(callbackOf({})).toMatchObject({ hosts: ['127.0.0.1'], port: 0, path: '/callback' });
  expect(callbackOf({ port: 8400 }).uriAt(8400)).toBe('http://127.0.0.1:8400/callback');
  const exact = callbackOf({ redirectUri: 'http://localhost/a%20b/?c=d' });
  expect(exact).toMatchObject({ hosts: ['127.0.0.1', '::1'], port: 80, path: '/a%20b/' });
  expect(exact.uriAt(80)).toBe('http://localhost/a%20b/?c=d');
  for (const elsewhere of ['https://127.0.0.1/x', 'https://crm.example/x', 'http://10.0.0.1:8400/x']) {
    expect(callbackOf({ redirectUri: elsewhere }).hosts).toEqual([]);
  }
  for (const none of [
    'callback',
    '/callback',
    'http://localhost/#x',
    'urn:ietf:wg:oauth:2.0:oob',
    'http://u@localhost/',
  ]) {
    expect(() => callbackOf({ redirectUri: none })).toThrow(/absolute address/);
  }
});
