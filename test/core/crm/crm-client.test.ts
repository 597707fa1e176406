import { setImmediate as turn } from 'node:timers/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import * as z from 'zod';
import type { CrmCall } from '../../../core/crm/call.ts';
import type { RunErrorName } from '../../../core/errors.ts';
import { CANARY } from '../../support/builders.ts';
import { crmAt } from '../../support/crm-at.ts';
import { recordingLog } from '../../support/deps.ts';
import { failureOf } from '../../support/failures.ts';
import { cutOff, type Exchange, hangUp, type Reply, serverFor } from '../../support/http-server.ts';
import { expectTexts } from '../../support/screen.ts';

const CREATE = '/api/v1/leads/exports';
const FIELDS = '/api/v1/leads/fields';
const STATUS = '/api/v1/leads/exports/7';
const create: CrmCall = { operation: 'create', entity: 'leads', json: { columns: ['id'] } };
const fields: CrmCall = { operation: 'fields', entity: 'leads' };
const status: CrmCall = { operation: 'status', entity: 'leads', id: '7' };
const tooLarge = { text: `"${CANARY.repeat(500_000)}"` };
const secret = { headers: { 'content-type': 'text/html; charset=utf-8' }, text: `<html>${CANARY}</html>` };
const REFUSED: Exchange = [`POST ${CREATE}`, { status: 401, ...secret }];

/**
 * A client with numbered tokens. `asked` lists the rejected tokens in its requests for a token. Reading the secret
 * again gives the same token, unless a person has `authorized` in the meantime.
 */
function clientAt(url: string, authorized?: { accessToken: string; scope: string }) {
  const asked: (string | undefined)[] = [];
  const log = recordingLog();
  const client = crmAt(`${url}/api/v1`, {
    getAccessToken: async ({ rejected, reread } = {}) => {
      asked.push(rejected ?? reread);
      if (reread !== undefined) return authorized ?? { accessToken: reread, scope: 'openid profile' };
      return { accessToken: `${CANARY}-${asked.length}`, scope: 'openid profile' };
    },
    log,
  });
  return { ...client, asked, log };
}

async function callOf(call: CrmCall, ...exchanges: Exchange[]) {
  const server = await serverFor(...exchanges);
  const client = clientAt(server.url);
  return { answer: () => client.call(call, z.unknown()), client, ...client, ...server };
}

test('sends the token and the body, and parses the answer', async () => {
  const { answer, seen } = await callOf(create, [`POST ${CREATE}`, { json: { id: 7 } }]);

  expect(await answer()).toEqual({ id: 7 });
  expect(seen).toMatchObject([
    {
      headers: { authorization: `Bearer ${CANARY}-1`, 'content-type': 'application/json', accept: 'application/json' },
      body: '{"columns":["id"]}',
    },
  ]);
});

test('ignores slashes at the end of the base address', async () => {
  const server = await serverFor([`GET ${FIELDS}`, { json: [] }]);

  expect(await crmAt(`${server.url}/api/v1//`).call(fields, z.unknown())).toEqual([]);
});

test('logs one line per answer, with the path template and without any id or token', async () => {
  const { answer, log } = await callOf(status, ['GET /api/v1/leads/exports/7', { json: { status: 'FAILED' } }]);

  await answer();

  expect(log.lines).toEqual([
    {
      level: 'info',
      message: 'called',
      fields: { method: 'get', path: '/leads/exports/{id}', status: 200, milliseconds: expect.any(Number) },
    },
  ]);
});

test('a 401 refreshes the token once and repeats the call once', async () => {
  const { answer, asked, seen } = await callOf(create, REFUSED, [`POST ${CREATE}`, { json: 'done' }]);

  expect(await answer()).toBe('done');
  expect(asked).toEqual([undefined, `${CANARY}-1`]);
  expect(seen.map(({ headers }) => headers.authorization)).toEqual([`Bearer ${CANARY}-1`, `Bearer ${CANARY}-2`]);
});

test('a second 401 ends as AuthRefused, without a third call', async () => {
  const { answer, asked } = await callOf(create, REFUSED, REFUSED);

  const error = await failureOf(answer(), 'AuthRefused');

  await expectTexts('crm-401-twice', [['a 401 with a fresh token too', error.message]]);
  expect(asked).toHaveLength(2);
});

test.each<[does: string, obtainedAt: string, third: Exchange[]]>([
  ['replaced, if the secret contained it', '2026-11-19T22:00:00Z', [[`POST ${CREATE}`, { json: 'done' }]]],
  ['not replaced, if it was issued for this call', '2026-11-20T01:00:00Z', []],
])('a second token that is refused with 401 is %s', async (_, obtainedAt, third) => {
  const server = await serverFor(REFUSED, REFUSED, ...third);
  const asked: unknown[] = [];
  const client = crmAt(`${server.url}/api/v1`, {
    getAccessToken: async ({ rejected } = {}) => {
      asked.push(rejected);
      return { accessToken: `${CANARY}-${asked.length}`, scope: 'openid', obtainedAt };
    },
  });

  const answer = client.call(create, z.unknown());
  await (third.length > 0 ? answer : failureOf(answer, 'AuthRefused'));

  expect(asked).toEqual([undefined, `${CANARY}-1`, `${CANARY}-2`].slice(0, 2 + third.length));
});

test('a 403 names the scopes of the token if no person has authorized since', async () => {
  const { answer, asked } = await callOf(create, [`POST ${CREATE}`, { status: 403, ...secret }]);

  expect((await failureOf(answer(), 'AuthRefused')).message).toContain('"openid profile"');
  expect(asked).toEqual([undefined, `${CANARY}-1`]);
});

test('the error and its log line contain the code in the body, and nothing else of the body', async () => {
  const json = { error: { code: 'unknown_field', message: CANARY, field: CANARY } };
  const { answer, client } = await callOf(create, [`POST ${CREATE}`, { status: 400, json }]);

  const error = await failureOf(answer(), 'CrmRejectedRequest');

  expect(error.message).toContain('was answered 400 (application/json), code "unknown_field"');
  expect(client.log.lines).toMatchObject([{ message: 'called', fields: { status: 400, code: 'unknown_field' } }]);
  expect(JSON.stringify([error.message, client.log.lines])).not.toContain(CANARY);
});

test('repeats a call once, even a create, after a 403 if a person has authorized since', async () => {
  const refused: Exchange = [`POST ${CREATE}`, { status: 403, ...secret }];
  const server = await serverFor(refused, [`POST ${CREATE}`, { json: 'done' }], refused, refused);
  const authorized = { accessToken: `${CANARY}-new`, scope: 'openid global:export' };

  expect(await clientAt(server.url, authorized).call(create, z.unknown())).toBe('done');
  const again = await failureOf(clientAt(server.url, authorized).call(create, z.unknown()), 'AuthRefused');

  expect(again.message).toContain('"openid global:export"');
  const tokens = [`Bearer ${CANARY}-1`, `Bearer ${CANARY}-new`];
  expect(server.seen.map(({ headers }) => headers.authorization)).toEqual([...tokens, ...tokens]);
});

test('a POST whose connection closes without an answer is CreateUnanswered, and is sent only once', async () => {
  const { answer } = await callOf(create, [`POST ${CREATE}`, hangUp]);

  await failureOf(answer(), 'CreateUnanswered');
});

test('sends a GET again when its connection closes, because the server may have ended a kept one', async () => {
  const { answer } = await callOf(fields, [`GET ${FIELDS}`, hangUp], [`GET ${FIELDS}`, { json: [1] }]);

  expect(await answer()).toEqual([1]);
});

test.each<[CrmCall, string, RunErrorName]>([
  [create, `POST ${CREATE}`, 'CreateUnanswered'],
  [fields, `GET ${FIELDS}`, 'CrmUnavailable'],
  [status, `GET ${STATUS}`, 'CrmContractError'],
])('%j: a 200 to %s that breaks off in the middle is %s', async (call, line, name) => {
  const { answer } = await callOf(call, [
    line,
    cutOff(200, { 'content-type': 'application/json' }, `{"id":"${CANARY}`),
  ]);

  expect((await failureOf(answer(), name)).message).not.toContain(CANARY);
});

test('stops a stalled answer at the time limit of its call', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const sent = Promise.withResolvers<void>();
  const { client } = await callOf(create, [
    `POST ${CREATE}`,
    (response) => void response.writeHead(200).write('{"id":', () => sent.resolve()),
  ]);
  const failed = failureOf(client.call({ ...create, timeoutMs: 5000 }, z.unknown()), 'CreateUnanswered');
  await sent.promise;
  // In these turns, the client reads what the server has sent.
  for (let turns = 0; turns < 50; turns += 1) await turn();

  vi.advanceTimersByTime(5000);

  await expectTexts('crm-answer-too-slow', [['an answer that does not end', (await failed).message]]);
});

test.each<[string, RunErrorName, number[]]>([
  ['Earlier work', 'CrmUnavailable', [64.9]],
  ['The wait for a token', 'TokenRefreshInProgress', [100, 40]],
])('does not send a call if too little time is left for its whole answer (%s)', async (what, name, left) => {
  const server = await serverFor();
  const secondsLeft = () => left.shift() ?? 0;

  const called = clientAt(server.url).call({ ...create, timeoutMs: 60_000, secondsLeft }, z.unknown());
  const error = await failureOf(called, name);

  expect(error.transient).toBe(true);
  await expectTexts('crm-not-sent', [['too little time for a call', error.message.replace(what, 'WHAT')]]);
  expect(server.seen).toEqual([]);
});

test('does not repeat a call with a fresh token if too little time is left', async () => {
  const left = [100, 100, 40];
  const { client, seen } = await callOf(create, [`POST ${CREATE}`, { status: 401, ...secret }]);

  const late = { ...create, timeoutMs: 60_000, secondsLeft: () => left.shift() ?? 0 };
  await failureOf(client.call(late, z.unknown()), 'CrmUnavailable');

  expect(seen).toHaveLength(1);
});

test.each([301, 302, 303, 307, 308])('does not follow a redirect (%i) with the token', async (code) => {
  const elsewhere = await serverFor();
  const headers = { location: `${elsewhere.url}/?${CANARY}` };
  const { answer } = await callOf(create, [`POST ${CREATE}`, { status: code, headers }]);

  const error = await failureOf(answer(), 'CrmContractError');

  await expectTexts('crm-redirect', [['a redirect to another host', error.message.replace(String(code), 'STATUS')]]);
  expect(elsewhere.seen).toEqual([]);
});

test.each<[string, Reply, string]>([
  ['a text', { text: CANARY }, 'answered 200, but not in JSON (13 characters)'],
  ['more than 5,000,000 bytes', tooLarge, 'answered 200, but with more than 5000000 bytes'],
])('an answer of %s ends as CrmContractError without quoting it', async (_, reply, message) => {
  const { answer } = await callOf(fields, [`GET ${FIELDS}`, reply]);

  expect((await failureOf(answer(), 'CrmContractError')).message).toContain(message);
});
