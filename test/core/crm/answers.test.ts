import { expect, test } from 'vitest';
import * as z from 'zod';
import { meaningOf, parsedBody, readAnswer } from '../../../core/crm/answers.ts';
import type { CrmCall } from '../../../core/crm/call.ts';
import { notReached } from '../../../core/crm/crm-client.ts';
import { CANARY } from '../../support/builders.ts';
import { failureOf } from '../../support/failures.ts';

const create: CrmCall = { method: 'post', path: 'leads/exports', template: '/leads/exports' };
const read: CrmCall = { method: 'get', path: 'leads/fields', template: '/leads/fields' };
const NOW = new Date('2026-11-20T01:00:00Z');

/** The error that fetch throws: the connection's error is the cause of its cause. */
const fetchFailed = (code: string) =>
  new TypeError(`fetch failed ${CANARY}`, {
    cause: new Error('outer', { cause: Object.assign(new Error(), { code }) }),
  });

test.each([
  ['ECONNREFUSED', 'no connection to the CRM'],
  ['ENOTFOUND', 'no connection to the CRM'],
  ['UND_ERR_CONNECT_TIMEOUT', 'no connection to the CRM'],
  ['ERR_SSL_WRONG_VERSION_NUMBER', 'no connection to the CRM'],
  ['CERT_HAS_EXPIRED', 'the certificate of the CRM is not accepted'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'the certificate of the CRM is not accepted'],
])('after %s a POST cannot have arrived: it may be sent again', (code, what) => {
  expect(notReached(fetchFailed(code), create)).toMatchObject({
    name: 'CrmUnavailable',
    message: `POST /leads/exports: ${what} (${code}).`,
  });
});

test('a host of which no address could be connected to has not seen a POST', () => {
  const silent = Object.assign(new Error(CANARY), { code: 'ETIMEDOUT', syscall: 'connect' });
  const cause = Object.assign(new AggregateError([silent, silent]), { code: 'ETIMEDOUT' });

  expect(notReached(new TypeError('fetch failed', { cause }), create)).toMatchObject({
    name: 'CrmUnavailable',
    message: 'POST /leads/exports: no connection to the CRM (ETIMEDOUT).',
  });
});

test.each(['ECONNRESET', 'UND_ERR_SOCKET', 'EPIPE', 'ETIMEDOUT'])(
  'after %s a POST may have arrived, a GET does not care',
  (code) => {
    expect(notReached(fetchFailed(code), create)).toMatchObject({
      name: 'CreateUnanswered',
      message: `POST /leads/exports got no answer (${code}).`,
    });
    expect(notReached(fetchFailed(code), read)).toMatchObject({ name: 'CrmUnavailable' });
  },
);

test('an answer that takes too long is reported by the name of what broke it off', () => {
  const timeout = new DOMException(CANARY, 'TimeoutError');

  expect(notReached(timeout, create)).toMatchObject({
    name: 'CreateUnanswered',
    message: 'POST /leads/exports got no answer (TimeoutError).',
  });
});

const answerOf = (reply: Response, call: CrmCall) =>
  readAnswer(reply, { call, accessToken: CANARY }, `/api/v1/${call.path}`);
const meaningFor = async (reply: Response, call: CrmCall) =>
  meaningOf({ call, answer: await answerOf(reply, call), scope: 'openid' }, NOW);

test.each([302, 400, 401, 403, 404, 409, 429, 500, 503])('a refusal with %i carries that status', async (status) => {
  const call = { ...read, template: '/leads/exports/{id}' };

  expect((await meaningFor(new Response(null, { status }), call)).error?.status).toBe(status);
});

test('a type that is none is not repeated', async () => {
  const response = new Response(CANARY, { status: 400, headers: { 'content-type': `${CANARY}; x` } });

  expect((await meaningFor(response, create)).error?.message).toBe('POST /leads/exports was answered 400.');
});

test('an unknown shape is described by its keys and wrong places, never by its values', async () => {
  const call = { method: 'get', path: 'x', template: '/x' } as const;

  const answer = await answerOf(Response.json({ name: CANARY, secret: CANARY }), call);
  const parsed = async () => parsedBody(answer, call, z.object({ name: z.number() }));
  const error = await failureOf(parsed(), 'CrmContractError');

  expect(error.message).toBe(
    'GET /x was answered 200 in a shape that is not known (wrong at name): an object with the keys name, secret.',
  );
});

test('of many wrong places the first ten are named: a cause has its limits', async () => {
  const rows = Array.from({ length: 5000 }, () => ({ wrong: 1 }));
  const call = { method: 'get', path: 'x', template: '/x' } as const;

  const answer = await answerOf(Response.json(rows), call);
  const parsed = async () => parsedBody(answer, call, z.array(z.object({ fieldName: z.string() })));
  const error = await failureOf(parsed(), 'CrmContractError');

  expect(error.message).toContain('(wrong at 0.fieldName, 1.fieldName, ');
  expect(error.message).not.toContain('10.fieldName');
});
