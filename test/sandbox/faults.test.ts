import { expect, test } from 'vitest';
import { idAt } from '../../sandbox/data/records.ts';
import { apiOf, refresh, sandboxFor } from './client.ts';

test('an answer comes instead of the real one, on the calls that were named', async () => {
  const sandbox = await sandboxFor();
  const api = apiOf(sandbox);
  sandbox.faults.add({
    path: 'create',
    entity: 'leads',
    calls: [1, 3],
    answer: { status: 429, headers: { 'Retry-After': '2' }, body: { slow: 'down' } },
  });
  const answers = [];
  for (const _ of [1, 2, 3, 4]) answers.push(await api('POST', '/leads/exports', { columns: ['id'] }));
  expect(answers.map(({ status }) => status)).toEqual([429, 201, 429, 201]);
  expect(answers[0]?.headers.get('retry-after')).toBe('2');
  expect(await answers[0]?.json()).toEqual({ slow: 'down' });
  expect((await api('POST', '/contacts/exports', { columns: ['id'] })).status).toBe(201);
});

test('calls are counted for each entity, in ranges too; remove ends one fault, and clear all of them', async () => {
  const sandbox = await sandboxFor();
  const api = apiOf(sandbox);
  const status = async (entity: string) => (await api('GET', `/${entity}/fields`)).status;
  sandbox.faults.add({ path: 'fields', calls: { from: 2, to: 3 }, answer: { status: 503, body: '<h1>down</h1>' } });
  expect([await status('leads'), await status('leads'), await status('contacts')]).toEqual([200, 503, 200]);
  const added = sandbox.faults.add({ path: 'fields', answer: { status: 204 } });
  expect([await status('leads'), await status('contacts')]).toEqual([204, 204]);
  sandbox.faults.remove(added);
  expect([await status('leads'), await status('contacts')]).toEqual([200, 503]);
  sandbox.faults.clear();
  expect(await status('contacts')).toBe(200);
  expect(await status('leads')).toBe(200);
});

test('updates of named customers are hit, each counted by itself, and all others pass', async () => {
  const sandbox = await sandboxFor();
  const api = apiOf(sandbox);
  const ids = [0, 1, 2].map((index) => idAt('customers', index));
  const customers: [string, ...string[]] = [ids[0] ?? '', ids[1] ?? ''];
  sandbox.faults.add({ path: 'update', customers, calls: [1], answer: { status: 409 } });
  const statuses = [];
  for (const id of [...ids, ...ids]) statuses.push((await api('PATCH', `/customers/${id}`, { city: 'Haifa' })).status);
  expect(statuses).toEqual([409, 409, 200, 200, 200, 200]);
  expect(() => sandbox.faults.add({ path: 'create', customers, reset: 'before' })).toThrow('has no effect at create');
});

test('what an answer does not tell can be done all the same', async () => {
  const sandbox = await sandboxFor();
  sandbox.faults.add({ path: 'update', done: true, answer: { status: 502, body: '<h1>Bad Gateway</h1>' } });
  const answer = await apiOf(sandbox)('PATCH', `/customers/${idAt('customers', 0)}`, { city: 'Haifa' });
  expect([answer.status, await answer.text()]).toEqual([502, '<h1>Bad Gateway</h1>']);
  expect(sandbox.ledger.calls({ kind: 'update' })).toMatchObject([{ status: 502, applied: true }]);
});

test('a reset before the work leaves nothing done, one after it leaves it done', async () => {
  const sandbox = await sandboxFor();
  const { refreshToken } = sandbox.issueTokens();
  sandbox.faults.add({ path: 'token', calls: [1], reset: 'before' });
  sandbox.faults.add({ path: 'token', calls: [2], reset: 'after' });
  await expect(refresh(sandbox, refreshToken)).rejects.toThrow('fetch failed');
  await expect(refresh(sandbox, refreshToken)).rejects.toThrow('fetch failed');
  expect((await refresh(sandbox, refreshToken)).body.error).toBe('invalid_grant');
  expect(sandbox.ledger.calls({ kind: 'token' }).map(({ status, faults }) => ({ status, faults }))).toEqual([
    { status: null, faults: [1] },
    { status: null, faults: [2] },
    { status: 400, faults: [] },
  ]);
});

test('an answer of the token endpoint can fall silent, and close does not wait for it', async () => {
  const sandbox = await sandboxFor();
  const { refreshToken } = sandbox.issueTokens();
  sandbox.faults.add({ path: 'token', stallAfter: 5 });

  const hanging = refresh(sandbox, refreshToken);
  hanging.catch(() => undefined);
  await expect.poll(() => sandbox.ledger.calls({ kind: 'token' })[0]?.status).toBe(200);
  await sandbox.close();

  await expect(hanging).rejects.toThrow('terminated');
});

test('an answer can be delayed, and close does not wait for it', async () => {
  const sandbox = await sandboxFor();
  const api = apiOf(sandbox);
  sandbox.faults.add({ path: 'fields', calls: [1], delaySeconds: 0.05 });
  sandbox.faults.add({ path: 'fields', calls: [2], delaySeconds: 1000 });
  const started = performance.now();
  expect((await api('GET', '/leads/fields')).status).toBe(200);
  expect(performance.now() - started).toBeGreaterThan(45);
  const hanging = api('GET', '/leads/fields').catch(() => 'dropped');
  await fetch(`${sandbox.url}/_sandbox/health`);
  await sandbox.close();
  expect(await hanging).toBe('dropped');
});

test.each([
  ['an effect at the wrong path', { path: 'status', etagChangesAt: 1 }, 'etagChangesAt'],
  ['an unknown effect', { path: 'status', explode: true }, 'explode'],
  ['a reset after a file', { path: 'file', reset: 'after' }, 'hangUp'],
])('%s is no fault, in the process and over HTTP', async (_, fault, named) => {
  const sandbox = await sandboxFor();
  // @ts-expect-error what a typed caller cannot write is refused as well
  expect(() => sandbox.faults.add(fault)).toThrow(named);
  const headers = { 'Content-Type': 'application/json' };
  const answer = await fetch(`${sandbox.url}/_sandbox/faults`, {
    method: 'POST',
    headers,
    body: JSON.stringify(fault),
  });
  expect(answer.status).toBe(400);
  expect(await answer.text()).toContain(named);
});
