import { createServer, request } from 'node:http';
import { PassThrough } from 'node:stream';
import { describe, expect, onTestFinished, test } from 'vitest';
import { callbackOf, consent } from '../../../cli/access/consent.ts';
import { askHidden } from '../../../cli/support/confirm.ts';
import type { CommandError } from '../../../cli/support/exit.ts';
import { portOf } from '../../support/loopback.ts';
import { expectTexts } from '../../support/screen.ts';

const settings = {
  crm: { authUrl: 'https://crm.example/tenant/auth/', scopes: ['openid', 'global:export'] },
  configuration: 'config/dev.json',
};

async function waitingConsent(place: Parameters<typeof callbackOf>[0] = {}, { isTTY = false } = {}) {
  const stream = Object.assign(new PassThrough(), { isTTY, setRawMode: () => stream });
  const said: string[] = [];
  const interrupts: number[] = [];
  const paste = { stream, print: (text: string) => said.push(text), interrupt: () => interrupts.push(1) };
  const ending = new AbortController();
  const shown = Promise.withResolvers<{ url: string; redirectUri: string; page: string | undefined }>();
  const onUrl = (url: string, redirectUri: string, page?: string) => shown.resolve({ url, redirectUri, page });
  const given = consent('the client', callbackOf(place), { ...settings, onUrl, paste, signal: ending.signal });
  given.catch(shown.reject);
  onTestFinished(() => ending.abort());
  const { url, redirectUri, page } = await shown.promise;
  const state = new URL(url).searchParams.get('state') ?? '';
  const come = async (query: string, init: RequestInit = {}): Promise<string> => {
    const response = await fetch(`${redirectUri}${query.replace('STATE', state)}`, init);
    const html = await response.text();
    const [heading, text] = ['h1', 'p'].map((tag) => new RegExp(`<${tag}>(.*)</${tag}>`).exec(html)?.[1]);
    return `${response.status} ${heading}. ${text}`;
  };
  const type = (text: string) => stream.write(text.replaceAll('STATE', state));
  const code = given.then((it) => it.code);
  code.catch(() => undefined);
  return { url, redirectUri, page, state, come, type, code, said: () => said.join(''), interrupts, ending };
}

const BACK = 'http://127.0.0.1:4444/callback';

type Waiting = Awaited<ReturnType<typeof waitingConsent>>;

/** A person's answer, and how the consent ends if the right answer comes after it: with its code, or an error. */
async function endAfter(answer: (of: Waiting) => Promise<string> | undefined): Promise<string> {
  const waiting = await waitingConsent({}, { isTTY: true });
  const page = await answer(waiting);
  waiting.type(`${BACK}?code=right&state=STATE\r`);
  const end = await waiting.code.then(
    (code) => (code === 'right' ? 'waits' : `code: ${code}`),
    (error: CommandError) => `error (exit code ${error.exitCode}): ${error.message}`,
  );
  return `${page ?? waiting.said()}\n-> ${end}`.replace(/\n+/g, '\n').trim();
}

const ISSUERS = {
  accepted: ['https://crm.example', 'https://crm.example/tenant', 'https://crm.example/tenant/auth'],
  refused: [
    'https://evil.example/?grant=refresh_token%3DrT-live-7f3a',
    'https://rt-live-7f3a.example',
    'https://crm.example/ten',
    'https://crm.example/other',
    'rT-live-7f3a',
    '',
  ],
};
const ofIssuer = (issuer: string) => `?code=the%2Bcode&state=STATE&iss=${encodeURIComponent(issuer)}`;
const DESCRIPTION = `error_description=${encodeURIComponent('\u001b[2Jno\u0007 \u202eway\r\n<script>')}`;

test('an answer in the browser ends the consent, or the command waits for another one', async () => {
  const answers: [what: string, query: string, init?: RequestInit][] = [
    ['the code', '?code=the%2Bcode&state=STATE'],
    ...ISSUERS.accepted.map((issuer): [string, string] => [`the code of the issuer ${issuer}`, ofIssuer(issuer)]),
    ['a code with another state', '?code=stolen&state=another'],
    ['an error without a state', '?error=access_denied'],
    ['neither code nor error', '?state=STATE'],
    ['another path', '/other?code=1&state=STATE'],
    ['a POST', '?code=1&state=STATE', { method: 'POST' }],
    ['a refusal', `?error=access_denied&${DESCRIPTION}&state=STATE`],
    ['a refusal with a code of its own', `?error=${'x'.repeat(5000)}&${DESCRIPTION}&state=STATE`],
    ['a refusal of the scopes', `?error=invalid_scope&${DESCRIPTION}&state=STATE`],
    ['another issuer', ofIssuer('https://evil.example')],
  ];
  const rows = answers.map(async ([what, ...of]) => [what, await endAfter(({ come }) => come(...of))] as const);

  await expectTexts('consent-in-browser', await Promise.all(rows));
});

test('a pasted answer ends the consent, or the command asks again with a reason', async () => {
  const answers: [what: string, line: string][] = [
    ['the full address', `${BACK}?code=the%2Bcode&state=STATE`],
    ['the full address with spaces around it and in it', `  ${BACK}?code=abc&st ate=STATE\t`],
    ['an address of another machine', 'https://else.example/?state=STATE&code=abc'],
    ['the query alone', '?code=abc&state=STATE'],
    ['the query alone, without its question mark', 'state=STATE&code=abc'],
    ['the bare code', ' 4/0AX4XfWh-abc_def== '],
    ['the bare code, as terminals bracket it', '\x1b[200~a-bare-code\x1b[201~'],
    ['an empty line', ''],
    ['the address of another authorization', `${BACK}?code=abc&state=another`],
    ['an address without a state', `${BACK}?code=abc`],
    ['an address without a code', `${BACK}?state=STATE`],
    ['the address to open', 'https://crm.example/auth/authorize?code_challenge=x&state=STATE'],
    ['an invalid address', 'https://'],
    ['words', 'where do I find it'],
    ['a letter', 'y'],
    ['a refusal of the scopes', `${BACK}?error=invalid_scope&error_description=No.&state=STATE`],
  ];
  const rows = answers.map(
    async ([what, line]) => [what, await endAfter(({ type }) => void type(`${line}\r`))] as const,
  );

  await expectTexts('consent-pasted', await Promise.all(rows));
});

describe('the callback in the browser', () => {
  test('receives the code at an address of this machine only, and then stops listening', async () => {
    const { redirectUri, come, code } = await waitingConsent();
    expect(redirectUri).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/callback$/);
    await come('?code=the%2Bcode&state=STATE');
    expect(await code).toBe('the+code');
    await expect(fetch(redirectUri)).rejects.toThrow();
  });

  test('opens the consent page through a local page that redirects once, without caching', async () => {
    const { url, page = '', redirectUri } = await waitingConsent();
    expect(page).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/[-\w]+$/);
    const answer = await fetch(page, { redirect: 'manual' });
    expect([answer.status, answer.headers.get('location')]).toEqual([302, url]);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    for (const later of [page, new URL('/', redirectUri)]) expect((await fetch(later)).status).toBe(404);
  });

  test('does not end the command if the request path cannot be parsed', async () => {
    const { redirectUri, come } = await waitingConsent();
    const status = await new Promise((resolve, reject) => {
      request({ port: new URL(redirectUri).port, host: '127.0.0.1', path: '//' }, (it) => resolve(it.statusCode))
        .on('error', reject)
        .end();
    });
    expect(status).toBe(404);
    expect(await come('?code=right&state=STATE')).toMatch(/^200/);
  });

  test('answers with pages that contain no part of the query, and cannot be cached or framed', async () => {
    const { redirectUri, state } = await waitingConsent();
    for (const query of ['?code=q7q7&state=wrong', '/q7q7', `?error=q7q7&state=${state}`]) {
      const response = await fetch(`${redirectUri}${query}`);
      expect(Object.fromEntries(response.headers)).toMatchObject({
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy': expect.stringMatching(/^default-src 'none';.*frame-ancestors 'none'/),
        'cache-control': 'no-store',
        'referrer-policy': 'no-referrer',
      });
      const html = await response.text();
      for (const secret of ['q7q7', state]) expect(html).not.toContain(secret);
    }
  });

  test.each(ISSUERS.refused)('ends with an error for another issuer, and repeats no part of it: %s', async (issuer) => {
    const end = await endAfter(({ come }) => come(ofIssuer(issuer)));
    expect(end).toContain('-> error (exit code 1)');
    expect(end).not.toMatch(/rt-live-7f3a/i);
  });

  test('listens on both loopback addresses if its host is localhost', async () => {
    const { redirectUri } = await waitingConsent({ redirectUri: 'http://localhost:0/back' });
    const { port } = new URL(redirectUri);
    expect(redirectUri).toBe(`http://localhost:${port}/back`);
    for (const host of ['127.0.0.1', '[::1]', 'localhost']) {
      expect((await fetch(`http://${host}:${port}/back?state=another`)).status).toBe(400);
    }
  });

  test('fails with an error if its port is taken', async () => {
    const port = await portOf(createServer());
    await expect(waitingConsent({ port })).rejects.toMatchObject({ exitCode: 3 });
  });
});

test('a redirect URI is used as given; a value that is not an absolute address is refused', () => {
  expect(callbackOf({})).toMatchObject({ hosts: ['127.0.0.1'], port: 0, path: '/callback' });
  expect(callbackOf({ port: 8400 }).uriAt(8400)).toBe('http://127.0.0.1:8400/callback');
  const exact = callbackOf({ redirectUri: 'http://localhost/a%20b/?c=d' });
  expect(exact).toMatchObject({ hosts: ['127.0.0.1', '::1'], port: 80, path: '/a%20b/' });
  expect(exact.uriAt(80)).toBe('http://localhost/a%20b/?c=d');
  for (const elsewhere of ['https://127.0.0.1/x', 'https://crm.example/x', 'http://10.0.0.1:8400/x']) {
    expect(callbackOf({ redirectUri: elsewhere }).hosts).toEqual([]);
  }
  for (const none of ['callback', '/callback', 'http://localhost/#x', 'urn:ietf:wg:oauth:2.0:oob', 'http://u@h/']) {
    expect(() => callbackOf({ redirectUri: none })).toThrow(expect.objectContaining({ exitCode: 2 }));
  }
});

test('Ctrl-C at the prompt to paste the address interrupts the command', async () => {
  const { type, interrupts } = await waitingConsent({}, { isTTY: true });
  type('half\x03');
  await expect.poll(() => interrupts).toEqual([1]);
});

test('a secret is read once, without its line ending', async () => {
  const stream = new PassThrough();
  const said: string[] = [];
  const input = { stream, print: (text: string) => said.push(text) };
  const asked = askHidden(input, 'Secret: ');
  stream.write(' s3cret with blanks \r\n');
  expect(await asked).toBe('s3cret with blanks');
  expect(said).toEqual(['Secret: ', '\n']);
  stream.end();
  expect(await askHidden({ ...input, stream: new PassThrough().end() }, 'Secret: ')).toBeUndefined();
});
