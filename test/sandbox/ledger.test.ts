import { request } from 'node:http';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { apiOf, exportedFile, refresh, sandboxFor } from './client.ts';

test('the ledger has every call in the order of arrival, with what it was about and what was answered', async () => {
  const sandbox = await sandboxFor();
  const url = await exportedFile(sandbox, 'contacts', { columns: ['id'] });
  await fetch(url, { headers: { Range: 'bytes=0-3' } });
  const calls = sandbox.ledger.calls();
  const exportId = calls[1]?.exportId;
  expect(calls).toMatchObject([
    { seq: 1, kind: 'fields', entity: 'contacts', method: 'GET', path: '/api/v1/contacts/fields', status: 200 },
    { seq: 2, kind: 'create', entity: 'contacts', request: { columns: ['id'] }, status: 201 },
    { seq: 3, kind: 'download', entity: 'contacts', exportId, status: 200 },
    { seq: 4, kind: 'file', entity: 'contacts', exportId, status: 206, range: 'bytes=0-3', bytes: 4, complete: true },
  ]);
  expect(sandbox.ledger.count({ entity: 'contacts' })).toBe(4);
  expect(sandbox.ledger.count({ kind: 'file', entity: 'leads' })).toBe(0);
  expect(sandbox.ledger.violations()).toEqual([]);
  sandbox.ledger.clear();
  expect(sandbox.ledger.calls()).toEqual([]);
});

test('tokens appear as fingerprints only', async () => {
  const sandbox = await sandboxFor();
  const { accessToken, refreshToken } = sandbox.issueTokens();
  const { body } = await refresh(sandbox, refreshToken);
  await apiOf(sandbox, accessToken)('GET', '/leads/fields');
  const text = JSON.stringify(sandbox.ledger.calls());
  for (const secret of [accessToken, refreshToken, body.access_token, body.refresh_token, sandbox.clientSecret]) {
    expect(text).not.toContain(secret);
  }
  expect(sandbox.ledger.calls({ kind: 'token' })).toMatchObject([
    { grantType: 'refresh_token', reuse: false, tokenFingerprint: expect.stringMatching(/^[0-9a-f]{8}$/) },
  ]);
});

test('a token in the query is a violation, and an unknown path is a call as well', async () => {
  const sandbox = await sandboxFor();
  await fetch(`${sandbox.baseUrl}/leads/fields?access_token=x`);
  await fetch(`${sandbox.url}/nowhere`);
  expect(sandbox.ledger.violations()).toHaveLength(1);
  expect(sandbox.ledger.calls({ kind: 'other' })).toMatchObject([{ path: '/nowhere', status: 404 }]);
});

test('faults and ledger are driven over HTTP, which the ledger does not show', async () => {
  const sandbox = await sandboxFor();
  const control = (method: string, path: string, body?: string) => {
    const headers = { 'Content-Type': 'application/json' };
    return fetch(`${sandbox.url}/_sandbox/${path}`, { method, headers, ...(body ? { body } : {}) });
  };
  const armed = await control('POST', 'faults', '{"path":"fields","calls":[1],"answer":{"status":503}}');
  expect(armed.status).toBe(201);
  expect(await armed.json()).toEqual({ id: 1 });
  expect((await apiOf(sandbox)('GET', '/leads/fields')).status).toBe(503);
  expect(await (await control('GET', 'ledger')).json()).toMatchObject([{ kind: 'fields', status: 503, faults: [1] }]);
  expect((await control('DELETE', 'faults')).status).toBe(204);
  expect((await control('DELETE', 'ledger')).status).toBe(204);
  expect(z.array(z.unknown()).parse(await (await control('GET', 'ledger')).json())).toEqual([]);
});

test('a web page in a browser cannot drive the sandbox', async () => {
  const sandbox = await sandboxFor();
  const body = '{"path":"fields","reset":"before"}';
  expect((await fetch(`${sandbox.url}/_sandbox/faults`, { method: 'POST', body })).status).toBe(415);
  const status = await new Promise((resolve) => {
    const headers = { Host: 'rebound.example' };
    request(`${sandbox.url}/_sandbox/ledger`, { headers }, (answer) => resolve(answer.resume().statusCode)).end();
  });
  expect(status).toBe(403);
});
