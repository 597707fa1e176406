import { expect, test } from 'vitest';
import { harmlessHeaders } from '../../../cli/probe/conversation/harmless.ts';
import { addProbe } from '../../../cli/probe/probe-command.ts';
import { servedOnLoopback } from '../../support/loopback.ts';
import { runCli, useCommands } from '../support/run-cli.ts';
import { probed, sandboxFor } from './support/probed.ts';

useCommands({ probe: addProbe });

/** What the conversation of a probe kept of one answer to all calls. */
async function keptOf(status: number, body: object, headers: Record<string, string> = {}) {
  const url = await servedOnLoopback((_, __, response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
  });
  const { conversation } = await probed({ baseUrl: `${url}/api/v1` }, { accessToken: 'own_access_token' });
  return JSON.stringify(conversation);
}

test.each([
  ['a name in the place of a code', { name: 'dana_cohen', type: 'dana_cohen' }],
  ['a piece of the token', { error: 'access_token' }],
])('%s is not kept', async (_, body) => {
  expect(await keptOf(403, body)).not.toContain(Object.values(body)[0]);
});

test.each([
  ['x-ratelimit-key', '0b2f4f0e-6a51-4bb1-8d8e-1f7a4c3d2e10'],
  ['x-ratelimit-user', 'dana'],
  ['x-ratelimit-limit', 'sk_live_aGhTrEwQxZcV'],
  ['ratelimit-policy', '"client 7f3a9c2b1d";q=100;w=60'],
  ['retry-after', '0521234567 of Cohen'],
  ['www-authenticate', 'Bearer error="dana cohen"'],
])('of the header %s the value %s is not kept', (name, value) => {
  const { headers, headerNames } = harmlessHeaders(new Headers({ [name]: value }));

  expect(headerNames).toEqual([name]);
  expect(Object.values(headers).join()).toMatch(/^(Bearer)?$/);
});

test.each([
  ['x-ratelimit-limit', '60'],
  ['x-ratelimit-remaining-requests', '59'],
  ['x-ratelimit-reset', '1790000000'],
  ['x-ratelimit-reset', '6m0s'],
  ['ratelimit', '"default";r=50;t=30'],
  ['ratelimit-policy', '100;w=60, 1000;w=3600'],
  ['retry-after', 'PT30S'],
  ['retry-after', 'Wed, 21 Oct 2026 07:28:00 GMT'],
  ['accept-ranges', 'bytes'],
])('of the header %s the value %s is kept', (name, value) => {
  expect(harmlessHeaders(new Headers({ [name]: value })).headers).toEqual({ [name]: value });
});

test.each([
  ['a passport among numbers', ['K9284771', '123456782', '987654324', '555555556']],
  ['the number of a house', ['12 B', '14', '15', '16']],
  ['a nickname among numbers', ['Dana', '0521111111', '0522222222', '0523333333']],
])('%s at the top of a file without a header is not taken for its header', async (_, cells) => {
  const sandbox = await sandboxFor({ jobChecks: 1 }, [
    { path: 'file', body: cells.map((cell) => `${cell}\r\n`).join(''), contentType: 'text/csv' },
  ]);

  const { conversation, of } = await probed(sandbox);

  expect(JSON.stringify(conversation)).not.toContain(cells[0]);
  expect(of('header-texts')).toMatchObject({ verdict: 'otherwise', means: 'setting' });
});

test('a filter that is no JSON is refused without its values', async () => {
  const args = ['probe', '--deployment', 'prod', '--json', '--filter', '{"field":"idNumber","value":"123456782"'];

  const { code, stdout, stderr } = await runCli(...args);

  expect({ code, ...JSON.parse(stdout) }).toMatchObject({ code: 2, error: expect.stringContaining('--filter') });
  expect(stdout + stderr).not.toContain('123456782');
});
