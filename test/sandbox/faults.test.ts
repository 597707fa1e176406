import { request } from 'node:http';
import { afterAll, expect, test } from 'vitest';
import { idAt } from '../../sandbox/data/records.ts';
import type { FaultInput } from '../../sandbox/faults.ts';
import { endAll, run } from '../support/running.ts';
import { apiOf, exportedFile, rawGet, refresh, sandboxFor } from './client.ts';

afterAll(endAll);

const LEADS = ['POST', '/leads/exports', { columns: ['id'] }] as const;

test('a fault affects the given calls, counted by entity, until it is removed', async () => {
  const sandbox = await sandboxFor();
  const api = apiOf(sandbox);
  const answer = { status: 429, headers: { 'Retry-After': '2' }, body: { slow: 'down' } };
  const added = sandbox.faults.add({ path: 'create', entity: 'leads', calls: [1, 3], answer });
  const first = await api(...LEADS);
  expect([first.status, first.headers.get('retry-after'), await first.json()]).toEqual([429, '2', { slow: 'down' }]);
  const statuses = [];
  for (const _ of [2, 3, 4]) statuses.push((await api(...LEADS)).status);
  expect(statuses).toEqual([201, 429, 201]);
  expect((await api('POST', '/contacts/exports', { columns: ['id'] })).status).toBe(201);
  sandbox.faults.remove(added);
  sandbox.faults.add({ path: 'create', calls: { from: 2 }, answer: { status: 503 } });
  expect([(await api(...LEADS)).status, (await api(...LEADS)).status]).toEqual([201, 503]);
  sandbox.faults.clear();
  expect((await api(...LEADS)).status).toBe(201);
});

test('a fault affects updates of the given customers, counted by customer', async () => {
  const sandbox = await sandboxFor();
  const api = apiOf(sandbox);
  const [one, two, three] = [0, 1, 2].map((index) => idAt('customers', index)) as [string, string, string];
  sandbox.faults.add({ path: 'update', customers: [one, two], calls: [1], answer: { status: 409 } });
  const statuses = [];
  for (const id of [one, two, three, one])
    statuses.push((await api('PATCH', `/customers/${id}`, { city: 'Haifa' })).status);
  expect(statuses).toEqual([409, 409, 200, 200]);
});

test('a fault can apply a request and still answer an error or lose the answer', async () => {
  const sandbox = await sandboxFor();
  sandbox.faults.add({ path: 'update', done: true, answer: { status: 502, body: '<h1>Bad Gateway</h1>' } });
  const answer = await apiOf(sandbox)('PATCH', `/customers/${idAt('customers', 0)}`, { city: 'Haifa' });
  expect([answer.status, await answer.text()]).toEqual([502, '<h1>Bad Gateway</h1>']);
  expect(sandbox.ledger.calls({ kind: 'update' })).toMatchObject([{ status: 502, applied: true }]);

  const { refreshToken } = sandbox.issueTokens();
  sandbox.faults.add({ path: 'token', calls: [1], reset: 'before' });
  sandbox.faults.add({ path: 'token', calls: [2], reset: 'after' });
  for (const _ of [1, 2]) await expect(refresh(sandbox, refreshToken)).rejects.toThrow('fetch failed');
  expect((await refresh(sandbox, refreshToken)).body.error).toBe('invalid_grant');
  expect(sandbox.ledger.calls({ kind: 'token' }).map(({ status }) => status)).toEqual([null, null, 400]);
});

test('a file can be cut, replaced, or get another ETag', async () => {
  const sandbox = await sandboxFor({ rows: 200 });
  const url = await exportedFile(sandbox);
  const { bytes: all, headers } = await rawGet(url);
  const under = async (effect: Partial<FaultInput>, asked = {}) => {
    sandbox.faults.clear();
    sandbox.faults.add({ path: 'file', ...effect });
    return rawGet(url, asked);
  };
  for (const hangUp of [0, 10_000]) {
    const { bytes, complete, headers: sent } = await under({ hangUp });
    expect([sent['content-length'], complete]).toEqual([String(all.length), false]);
    expect(bytes.equals(all.subarray(0, hangUp))).toBe(true);
  }
  const other = await under({ body: 'PK', contentType: 'application/zip' });
  expect([other.headers['content-type'], other.bytes.toString()]).toEqual(['application/zip', 'PK']);
  expect((await under({ body: (content) => content.subarray(0, 5) })).bytes.equals(all.subarray(0, 5))).toBe(true);
  expect((await under({ etag: '"other"' }, { 'If-Match': headers.etag })).status).toBe(412);
});

test('the ledger records each call with its entity and export, and no token', async () => {
  const sandbox = await sandboxFor();
  const { refreshToken } = sandbox.issueTokens();
  const { body } = await refresh(sandbox, refreshToken);
  await fetch(await exportedFile(sandbox, 'contacts', { columns: ['id'] }), { headers: { Range: 'bytes=0-3' } });
  await fetch(`${sandbox.baseUrl}/leads/fields?access_token=x`);
  await fetch(`${sandbox.url}/nowhere`);
  const contacts = sandbox.ledger.calls({ entity: 'contacts' });
  const exportId = contacts[1]?.exportId;
  expect(contacts).toMatchObject([
    { seq: 2, kind: 'fields', method: 'GET', path: '/api/v1/contacts/fields', status: 200 },
    { seq: 3, kind: 'create', request: { columns: ['id'] }, status: 201 },
    { seq: 4, kind: 'download', exportId, status: 200 },
    { seq: 5, kind: 'file', exportId, status: 206, range: 'bytes=0-3', bytes: 4, complete: true },
  ]);
  expect(sandbox.ledger.calls({ kind: 'other' })).toMatchObject([{ path: '/nowhere', status: 404 }]);
  expect(sandbox.ledger.violations()).toMatchObject([{ violation: expect.stringContaining('query') }]);
  const text = JSON.stringify(sandbox.ledger.calls());
  for (const secret of [refreshToken, body.access_token, body.refresh_token, sandbox.clientSecret])
    expect(text).not.toContain(secret);
});

test('faults and ledger are controlled over HTTP, but not by a web page', async () => {
  const sandbox = await sandboxFor();
  const control = (method: string, path: string, body?: string, type = 'application/json') =>
    fetch(`${sandbox.url}/_sandbox/${path}`, { method, headers: { 'Content-Type': type }, ...(body && { body }) });
  const fault = '{"path":"fields","calls":[1],"answer":{"status":503}}';
  expect((await control('POST', 'faults', fault, 'text/plain')).status).toBe(415);
  for (const bad of ['{"path":"x"}', '{"path":"status","explode":true}'])
    expect((await control('POST', 'faults', bad)).status).toBe(400);
  expect(await (await control('POST', 'faults', fault)).json()).toEqual({ id: 1 });
  expect((await apiOf(sandbox)('GET', '/leads/fields')).status).toBe(503);
  expect(await (await control('GET', 'ledger')).json()).toMatchObject([{ kind: 'fields', status: 503, faults: [1] }]);
  for (const path of ['faults', 'ledger']) expect((await control('DELETE', path)).status).toBe(204);
  expect(await (await control('GET', 'ledger')).json()).toEqual([]);
  const rebound = await new Promise((resolve) => {
    const headers = { Host: 'rebound.example' };
    request(`${sandbox.url}/_sandbox/ledger`, { headers }, (answer) => resolve(answer.resume().statusCode)).end();
  });
  expect(rebound).toBe(403);
});

test('npm run sandbox prints its addresses, refuses a taken port, and ends with exit code 0 on Ctrl-C', async () => {
  const { stdout, says, interrupt } = run('sandbox/serve.ts', ['--port', '0', '--client-id', 'me']);
  await says(/^All faults:/m);
  const url = new URL(/http:\/\/127\.0\.0\.1:\d+/.exec(stdout())?.[0] ?? '');
  for (const part of [`${url}api/v1`, `${url}auth`, 'client id      me', `${url}_sandbox/faults --json`])
    expect(stdout()).toContain(part);
  expect((await fetch(`${url}_sandbox/ledger`)).status).toBe(200);

  const taken = run('sandbox/serve.ts', ['--port', url.port]);
  expect(await taken.ended).toBe(1);
  expect(taken.stderr()).toMatch(/EADDRINUSE/);

  expect(await interrupt()).toBe(0);
});
