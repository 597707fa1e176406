import { createServer, request } from 'node:http';
import { PassThrough } from 'node:stream';
import { describe, expect, onTestFinished, test } from 'vitest';
import { callbackOf, consent } from '../../../cli/access/consent.ts';
import { askHidden } from '../../../cli/support/confirm.ts';
import { CommandError } from '../../../cli/support/exit.ts';
import { freePort } from '../../../local/ministack/ports.ts';

const settings = {
  crm: { authUrl: 'https://crm.example/tenant/auth/', scopes: ['openid', 'global:export'] },
  configuration: 'config/dev.json',
};

/** A consent that waits for a person. */
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

const errorOf = (promise: Promise<unknown>) => promise.then(String, (error: unknown) => error);

describe('the callback in the browser', () => {
  test('receives the code at an address of this machine only, and then stops listening', async () => {
    const { redirectUri, come, code } = await waitingConsent();
    expect(redirectUri).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/callback$/);
    expect(await come('?code=the%2Bcode&state=STATE')).toMatch(/^200 Authorized at the CRM\./);
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

  test.each([
    ['?code=stolen&state=another', {}, 400],
    ['?error=access_denied', {}, 400],
    ['?state=STATE', {}, 400],
    ['/other?code=1&state=STATE', {}, 404],
    ['?code=1&state=STATE', { method: 'POST' }, 404],
  ])('is refused with %s, and the command continues to wait', async (query, init, status) => {
    const { come, code } = await waitingConsent();
    expect(await come(query, init)).toMatch(new RegExp(`^${status} .*still waits`));
    expect(await come('?code=right&state=STATE')).toMatch(/^200/);
    expect(await code).toBe('right');
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

  test.each([
    ['access_denied', 'access_denied'],
    ['x'.repeat(5000), 'an error code that RFC 6749 does not list'],
  ])('ends with the error code of a refusal, and shows no text of the CRM', async (error, shown) => {
    const { come, code } = await waitingConsent();
    const description = encodeURIComponent('\u001b[2Jno\u0007 \u202eway\r\n<script>');
    expect(await come(`?error=${error}&error_description=${description}&state=STATE`)).toMatch(/^200 .* refused\. /);
    expect(await errorOf(code)).toEqual(new CommandError(`The CRM refused the authorization: ${shown}.`, 1));
  });

  test.each(['https://crm.example', 'https://crm.example/tenant', 'https://crm.example/tenant/auth'])(
    'accepts the issuer of the CRM: %s',
    async (issuer) => {
      const { come, code } = await waitingConsent();
      await come(`?code=right&state=STATE&iss=${encodeURIComponent(issuer)}`);
      expect(await code).toBe('right');
    },
  );

  test.each([
    'https://evil.example/?grant=refresh_token%3DrT-live-7f3a',
    'https://rt-live-7f3a.example',
    'https://crm.example/ten',
    'https://crm.example/other',
    'rT-live-7f3a',
    '',
  ])('ends with an error for another issuer, and repeats no part of it: %s', async (issuer) => {
    const { come, code } = await waitingConsent();
    const page = await come(`?code=right&state=STATE&iss=${encodeURIComponent(issuer)}`);
    const error = await errorOf(code);
    expect(error).toMatchObject({ exitCode: 1, message: expect.stringContaining('another issuer') });
    for (const text of [page, String(error)]) expect(text).not.toMatch(/rt-live-7f3a/i);
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
    const port = await freePort();
    const other = createServer().listen(port, '127.0.0.1');
    onTestFinished(() => void other.close());
    const error = await errorOf(waitingConsent({ port }));
    expect(error).toMatchObject({ exitCode: 3, message: expect.stringMatching(/^The port \d+ on 127.* --port\.$/) });
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
    expect(() => callbackOf({ redirectUri: none })).toThrow(/absolute address/);
  }
});

describe('the prompt to paste the address', () => {
  const BACK = 'http://127.0.0.1:4444/callback';

  test.each([
    ['the full address', `${BACK}?code=the%2Bcode&state=STATE`, 'the+code'],
    ['the full address with spaces around it and in it', `  ${BACK}?code=abc&st ate=STATE\t`, 'abc'],
    ['an address of another machine', 'https://else.example/?state=STATE&code=abc', 'abc'],
    ['the query alone', '?code=abc&state=STATE', 'abc'],
    ['the query alone, without its question mark', 'state=STATE&code=abc', 'abc'],
    ['the bare code', ' 4/0AX4XfWh-abc_def== ', '4/0AX4XfWh-abc_def=='],
  ])('accepts %s', async (_, line, expected) => {
    const { type, code } = await waitingConsent();
    type(`${line}\n`);
    expect(await code).toBe(expected);
  });

  test.each([
    ['the address of another authorization', `${BACK}?code=abc&state=another`, /belongs to a different authorization/],
    ['an address without a state', `${BACK}?code=abc`, /belongs to a different authorization/],
    ['an address without a code', `${BACK}?state=STATE`, /holds no code/],
    ['the address to open', 'https://crm.example/auth/authorize?code_challenge=x&state=STATE', /address to open/],
    ['an invalid address', 'https://', /does not recognise this address/],
    ['words', 'where do I find it', /does not recognise this text/],
    ['a letter', 'y', /does not recognise this text/],
  ])('asks again with a reason for %s', async (_, line, sentence) => {
    const { type, code, said } = await waitingConsent();
    type(`${line}\n\n${BACK}?code=right&state=STATE\n`);
    expect(await code).toBe('right');
    expect(said()).toMatch(sentence);
    expect(said().match(/press Enter/g)).toHaveLength(1);
    expect(said()).not.toContain(line);
  });

  test('accepts a bare code, says that PKCE still protects it, and does not echo it', async () => {
    const { type, code, said } = await waitingConsent({}, { isTTY: true });
    type('\x1b[200~a-bare-code\x1b[201~\r');
    expect(await code).toBe('a-bare-code');
    expect(said()).toMatch(/cannot be checked against "state", but PKCE still protects/);
    expect(said()).not.toContain('a-bare-code');
  });

  test('ends if the CRM refused, and names the requested scopes after invalid_scope', async () => {
    const { type, code } = await waitingConsent();
    type(`${BACK}?error=invalid_scope&error_description=No.&state=STATE\n`);
    await expect(code).rejects.toThrow(
      'The CRM refused the authorization: invalid_scope. These scopes were requested: openid global:export. Change crm.scopes in config/dev.json.',
    );
  });

  test('is interrupted by Ctrl-C', async () => {
    const { type, interrupts } = await waitingConsent({}, { isTTY: true });
    type('half\x03');
    await expect.poll(() => interrupts).toEqual([1]);
  });
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
