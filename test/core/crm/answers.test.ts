import fc from 'fast-check';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { meaningOf, type Outcome, parsedBody, readAnswer } from '../../../core/crm/answers.ts';
import { type CrmCall, type Operation, requestOf } from '../../../core/crm/call.ts';
import { notReached } from '../../../core/crm/crm-client.ts';
import type { RunErrorName } from '../../../core/errors.ts';
import { meaningOfToken } from '../../../core/oauth/token-answers.ts';
import { CANARY } from '../../support/builders.ts';
import { failureOf } from '../../support/failures.ts';
import { expectTexts } from '../../support/screen.ts';

const create: CrmCall = { operation: 'create', entity: 'leads' };
const read: CrmCall = { operation: 'fields', entity: 'leads' };
const NOW = new Date('2026-11-20T01:00:00Z');

/** The error that fetch throws: the connection's error is the cause of its cause. */
const fetchFailed = (code: string) =>
  new TypeError(`fetch failed ${CANARY}`, {
    cause: new Error('outer', { cause: Object.assign(new Error(), { code }) }),
  });

test.each<[string, RunErrorName, string]>([
  ['ENOTFOUND', 'CrmUnavailable', ': no connection to the CRM at crm.baseUrl'],
  ['CERT_HAS_EXPIRED', 'CrmUnavailable', ': the certificate of the CRM at crm.baseUrl is not trusted'],
  ['ECONNRESET', 'CreateUnanswered', ' got no answer'],
])('after %s a POST is %s: it may have arrived unless there was no connection', (code, name, what) => {
  const message = `POST /leads/exports${what} (${code}).`;

  expect(notReached(fetchFailed(code), create)).toMatchObject({ name, message });
  expect(notReached(fetchFailed(code), read)).toMatchObject({ name: 'CrmUnavailable' });
});

async function answerOf(reply: Response, call: CrmCall) {
  const { status, ok, headers } = reply;
  const whole = { status, ok, headers, body: await reply.text() };
  return readAnswer(whole, { call, accessToken: CANARY }, `/api/v1/${requestOf(call).path}`);
}
const meaningFor = async (reply: Response, call: CrmCall) =>
  meaningOf({ call, answer: await answerOf(reply, call), scope: 'openid' }, NOW);

const CALLS: Record<Operation, CrmCall> = {
  fields: read,
  create,
  status: { operation: 'status', entity: 'leads', id: '7' },
  address: { operation: 'address', entity: 'leads', id: '7' },
  update: { operation: 'update', entity: 'customers', id: '7', json: { city: 'Haifa' } },
};
const OPERATIONS = Object.keys(CALLS) as Operation[];
type Case = [Operation, statuses: string, Outcome, RunErrorName];

test.each<Case>([
  ...OPERATIONS.flatMap((operation): Case[] => [
    [operation, '301 302 303 307 308', 'contradiction', 'CrmContractError'],
    [operation, '401 403', 'refused', 'AuthRefused'],
    [operation, '429', 'notTaken', 'RateLimited'],
  ]),
  ['fields', '404', 'refused', 'ConfigInvalid'],
  ['fields', '409 423', 'notTaken', 'CrmBusy'],
  ['fields', '503 521', 'notTaken', 'CrmUnavailable'],
  ['fields', '408 425 500 502 504 520', 'unknown', 'CrmUnavailable'],
  ['create', '400 404 410 422', 'refused', 'CrmRejectedRequest'],
  ['create', '409 423', 'notTaken', 'CrmBusy'],
  ['create', '503 521 523 525 526', 'notTaken', 'CrmUnavailable'],
  ['create', '408 425 500 501 502 504 507 520 522 524 530', 'unknown', 'CreateUnanswered'],
  ['status', '400 422', 'refused', 'CrmRejectedRequest'],
  ['status', '404 410', 'refused', 'ExportNotFound'],
  ['status', '409 423', 'notTaken', 'CrmBusy'],
  ['status', '503', 'notTaken', 'CrmUnavailable'],
  ['status', '500 504', 'unknown', 'CrmUnavailable'],
  ['address', '400 409 422 423', 'notTaken', 'ExportNotReady'],
  ['address', '404 410', 'refused', 'ExportNotFound'],
  ['address', '503', 'notTaken', 'CrmUnavailable'],
  ['address', '500 504', 'unknown', 'CrmUnavailable'],
  ['update', '423', 'notTaken', 'CrmBusy'],
  ['update', '400 404 409 410 412 422', 'refused', 'CrmRejectedRequest'],
  ['update', '408 425 500 502 503 504 520 524', 'unknown', 'CrmUnavailable'],
])('%s answered with %s has the outcome %s and the error %s', async (operation, statuses, outcome, name) => {
  const isRepeated = outcome === 'notTaken' || outcome === 'unknown';
  for (const status of statuses.split(' ').map(Number))
    for (const seconds of isRepeated ? [undefined, 7] : [undefined]) {
      const headers = seconds === undefined ? undefined : { 'retry-after': String(seconds) };
      const meaning = await meaningFor(new Response(null, { status, headers }), CALLS[operation]);

      expect(meaning, String(status)).toMatchObject({ outcome, error: { name, status, retryAfterSeconds: seconds } });
    }
});

test.each<[Operation, statuses: string, Outcome, RunErrorName, seconds: number | undefined]>([
  ['fields', '400 403 420', 'notTaken', 'CrmBusy', 7],
  ['fields', '404', 'refused', 'ConfigInvalid', undefined],
  ['create', '400 403 413 420 430', 'notTaken', 'CrmBusy', 7],
  ['status', '400 403', 'notTaken', 'CrmBusy', 7],
  ['status', '404 410', 'refused', 'ExportNotFound', undefined],
  ['address', '403', 'notTaken', 'CrmBusy', 7],
  ['address', '409', 'notTaken', 'ExportNotReady', 7],
  ['update', '400 403 420 422', 'notTaken', 'CrmBusy', 7],
  ['update', '401', 'refused', 'AuthRefused', undefined],
  ['update', '404', 'refused', 'CrmRejectedRequest', undefined],
])('%s refused with %s and Retry-After has the outcome %s and the error %s', async (...given) => {
  const [operation, statuses, outcome, name, retryAfterSeconds] = given;
  for (const status of statuses.split(' ').map(Number)) {
    const reply = Response.json({ message: CANARY }, { status, headers: { 'retry-after': '7' } });

    expect(await meaningFor(reply, CALLS[operation])).toMatchObject({ outcome, error: { name, retryAfterSeconds } });
  }
});

test.each<[status: number, code: string, RunErrorName]>([
  [403, 'insufficient_scope', 'AuthRefused'],
  [403, 'ACCESS_DENIED', 'AuthRefused'],
  [400, 'unknown_field', 'CrmRejectedRequest'],
  [422, 'validation_failed', 'CrmRejectedRequest'],
  [400, 'INVALID_COLUMN', 'CrmRejectedRequest'],
  [403, 'INSUFFICIENT_PRIVILEGES', 'AuthRefused'],
  [403, 'missing_permission', 'AuthRefused'],
])('a %i with the code %s is final even with Retry-After', async (status, code, name) => {
  for (const call of [create, CALLS.status, CALLS.update]) {
    const reply = Response.json({ code }, { status, headers: { 'retry-after': '7' } });

    expect(await meaningFor(reply, call)).toMatchObject({ outcome: 'refused', error: { name } });
  }
});

test('a 400 with Retry-After and a code that names no reason is not final', async () => {
  const reply = Response.json({ code: 'unknown_error' }, { status: 400, headers: { 'retry-after': '7' } });

  expect(await meaningFor(reply, create)).toMatchObject({ outcome: 'notTaken', error: { name: 'CrmBusy' } });
});

test('the message about a 403 with Retry-After names the scopes of the token, too', async () => {
  const { error } = await meaningFor(new Response(null, { status: 403, headers: { 'retry-after': '7' } }), create);

  expect(error?.message).toMatch(/is busy\. If this lasts: The token has the scopes/);
});

/** Bodies that say that the CRM is busy, as services write them. */
const BUSY_BODIES = [
  { error: { code: 'RateLimitExceeded', message: CANARY } },
  { error: { code: 403, errors: [{ reason: 'userRateLimitExceeded' }] } },
  { errors: [{ code: 'THROTTLED', detail: CANARY }] },
  { errors: { reason: 'throttled' } },
  { error: { type: 'maintenance-mode' } },
  { errors: ['temporarily_unavailable'] },
  { error: 'Please try again later.' },
  { status: 'error', error: 'SERVER_BUSY' },
  { errors: [{ code: 'TOO_MANY_CONCURRENT_EXPORTS', detail: CANARY }] },
  { error: { message: 'Another export is currently running.' } },
  { error: { code: 'CONCURRENT_EXPORT' } },
  { error: { reason: 'concurrentRequestLimitExceeded' } },
  { error: 'export_not_ready' },
  { error: 'Too many requests, please try again later.' },
  { errors: [{ detail: 'Overloaded. Retry later.' }] },
  { errors: [{ type: 'api_rate_limited' }] },
  { errors: [{ reason: 'concurrency_limit' }] },
  { error: 'refresh_in_progress' },
  { error: 'A request is already in progress.' },
  { error: 'too_many_exports' },
  { error: { message: 'The service is temporarily unavailable.' } },
  { error: 'System under maintenance' },
  { error: { code: 'SlowDown' } },
  { errors: [{ code: 'ThrottlingException' }] },
  { errors: [{ code: 'RESOURCE_EXHAUSTED' }] },
  { error: { errorType: 'too_many_running_jobs' } },
  { error: 'The file is not yet ready.' },
  { error: 'There is already an export in progress.' },
  { error: { message: 'Maximum number of concurrent exports reached' } },
  { errors: [{ code: 'EXPORT_QUEUE_FULL' }] },
  { error: { code: 'JOB_ALREADY_RUNNING' } },
  { Errors: [{ Code: '606', Message: "Max rate limit '100' exceeded with in '20' secs" }] },
];
const NOT_BUSY_BODIES = [
  { error: 'export_limit' },
  { error: 'Too many exports this month' },
  { error: `${CANARY} is busy` },
  { errors: [{ code: 'unknown_field', source: { pointer: 'busy' } }] },
  { error: { details: { code: 'busy' } } },
];

test.for(BUSY_BODIES)('a refusal is not final if its body says that the CRM is busy: %j', async (body) => {
  for (const call of [read, create, CALLS.status, CALLS.update]) {
    for (const status of call === CALLS.update ? [403] : [400, 403]) {
      const reply = Response.json(body, { status, headers: { 'retry-after': '7' } });
      const { outcome, error } = await meaningFor(reply, call);

      const expected = { name: 'CrmBusy', status, retryAfterSeconds: 7 };
      expect({ outcome, error }).toMatchObject({ outcome: 'notTaken', error: expected });
      expect(error?.message).not.toContain(CANARY);
    }
  }
  expect(await meaningFor(Response.json(body, { status: 403 }), CALLS.address)).toMatchObject({
    error: { name: 'CrmBusy' },
  });
});

test.for([
  { error: { code: 'RateLimitExceeded', message: CANARY } },
  [{ errorCode: 'REQUEST_LIMIT_EXCEEDED' }],
  { error_code: 'maintenance' },
  { code: 'SERVER_BUSY', status: 'error' },
  { error: { type: 'throttling_error' } },
  { message: 'Too many requests. Please try again later.' },
])('a refused line is sent again if a code, or a text on the rate, says that the CRM is busy: %j', async (body) => {
  for (const status of [400, 409, 422])
    expect(await meaningFor(Response.json(body, { status }), CALLS.update)).toMatchObject({
      outcome: 'notTaken',
      error: { name: 'CrmBusy', status },
    });
});

test.each([
  { errors: [{ field: 'slot', message: 'Unavailable' }] },
  { errors: { slot: 'busy', title: 'Busy', detail: 'Unavailable' } },
  { error: 'Unavailable' },
  { status: 'Maintenance', code: 'validation_error' },
  { code: 'NUMBER_UNAVAILABLE' },
])('a refusal of the values of a line is final, even if a text in it sounds busy: %j', async (body) => {
  for (const status of [400, 409, 422])
    expect(await meaningFor(Response.json(body, { status }), CALLS.update)).toMatchObject({
      outcome: 'refused',
      error: { name: 'CrmRejectedRequest' },
    });
});

test.each<[Operation, number, unknown, unknown, RunErrorName]>([
  ['update', 400, { status: 'Busy' }, { code: 'BUSY' }, 'CrmRejectedRequest'],
  ['update', 403, { plan: 'in maintenance' }, { error: 'forbidden', status: 'In maintenance' }, 'AuthRefused'],
  ['create', 400, { filters: [{ value: ['busy'] }] }, { error: { reason: 'busy' } }, 'CrmRejectedRequest'],
  ['create', 400, { columns: ['rateLimit'] }, { message: 'rateLimit is not for exports' }, 'CrmRejectedRequest'],
  ['create', 400, {}, { message: 'Invalid column: rate_limit' }, 'CrmRejectedRequest'],
])('a %s refused with %i does not say that the CRM is busy by a value of %j', async (...given) => {
  const [operation, status, json, body, name] = given;
  const meaning = await meaningFor(Response.json(body, { status }), { ...CALLS[operation], json });

  expect(meaning).toMatchObject({ outcome: 'refused', error: { name } });
});

/** In a 2xx, too, some services give the reason without an error. */
const BUSY_RESULTS = [
  ...BUSY_BODIES,
  { code: 'TOO_MANY_REQUESTS', message: CANARY },
  { message: 'Service unavailable' },
];

test.for(BUSY_RESULTS)('a good answer without a result waits if it says that the CRM is busy: %j', async (body) => {
  for (const call of [read, CALLS.status]) {
    const { outcome, error } = await meaningFor(Response.json(body), call);

    expect({ outcome, error }).toMatchObject({ outcome: 'notTaken', error: { name: 'CrmBusy', transient: true } });
  }
  // The CRM may have made an export, so the request is sent once more at most.
  expect(await meaningFor(Response.json(body), create)).toMatchObject({
    outcome: 'unknown',
    error: { name: 'CreateUnanswered' },
  });
});

test('a line whose answer holds an error is not sent again, even if it says that the CRM is busy', async () => {
  const [body] = BUSY_BODIES;
  expect(await meaningFor(Response.json(body), CALLS.update)).toMatchObject({ outcome: 'refused' });
});

test('a result counts, even if one of its values is a word for a busy CRM', async () => {
  const list = [{ fieldName: 'message', code: 'busy' }];
  for (const body of [list, { data: list, status: 'maintenance' }, { fields: list, message: 'busy' }])
    expect(await meaningFor(Response.json(body), read)).toMatchObject({ outcome: 'done' });
  const id = '0b2f4f0e-6a51-4bb1-8d8e-1f7a4c3d2e10';
  expect(await meaningFor(Response.json({ id, reason: 'busy' }), create)).toMatchObject({ outcome: 'done' });
  expect(await meaningFor(Response.json({ id, error: 'busy' }), create)).toMatchObject({ outcome: 'contradiction' });
  expect(await meaningFor(Response.json({ message: 'busy' }), CALLS.update)).toMatchObject({ outcome: 'done' });
});

test.each(NOT_BUSY_BODIES)('another code does not say that the CRM is busy: %j', async (body) => {
  for (const operation of ['create', 'update'] as const) {
    expect(await meaningFor(Response.json(body, { status: 403 }), CALLS[operation])).toMatchObject({
      outcome: 'refused',
      error: { name: 'AuthRefused' },
    });
    expect(await meaningFor(Response.json(body), CALLS[operation])).toMatchObject({ outcome: 'refused' });
  }
});

test('an export that is under way counts, even if an error beside it says that the CRM is busy', async () => {
  const reply = Response.json({ id: '7', status: 'PROCESSING', error: 'rate_limited' });

  expect(await meaningFor(reply, CALLS.status)).toMatchObject({ outcome: 'done' });
});

const PAGE = `\n<!DOCTYPE html>\n<html lang="en">${CANARY}`;
const page = (status: number) => new Response(PAGE, { status });

test.each<[string, Response]>([
  ['a 404 of the CRM', Response.json({ error: 'not_found' }, { status: 404 })],
  ['a 404 without a body', new Response(null, { status: 404 })],
  ['a body of type text/html', new Response(CANARY, { headers: { 'content-type': 'text/html; charset=utf-8' } })],
  ...[200, 400, 404, 405, 409, 410].map((status): [string, Response] => [`a web page with ${status}`, page(status)]),
  ['a page in XML', new Response(`<?xml version="1.0"?><html>${CANARY}`, { headers: { 'content-type': 'text/xml' } })],
  ['a page that begins with a comment', new Response(`<!-- ${CANARY} --><html>`)],
  ['a 405 in JSON', Response.json({ detail: CANARY }, { status: 405 })],
  ['a 421 without a body', new Response(null, { status: 421 })],
])('the error for %s, answered to the first call of a run, names crm.baseUrl and the called path', async (_, reply) => {
  const { error } = await meaningFor(reply, read);

  expect(error?.name).toBe('ConfigInvalid');
  expect(error?.message).toMatch(/ \/api\/v1\/leads\/fields: .*crm\.baseUrl/);
  expect(error?.message).not.toContain(CANARY);
});

test.each<[string, RunErrorName, Response]>([
  ['a web page with 401', 'AuthRefused', page(401)],
  ['a web page with 403', 'AuthRefused', page(403)],
  ['a 403 without a code', 'AuthRefused', Response.json({ message: 'Missing Authentication Token' }, { status: 403 })],
  ['a 400 in JSON', 'CrmRejectedRequest', Response.json({ message: 'no such route' }, { status: 400 })],
  ['a text', 'CrmContractError', new Response('OK')],
  ['nothing', 'CrmContractError', new Response(null, { status: 204 })],
])('%s to the first call of a run is %s, and names crm.baseUrl', async (_, name, reply) => {
  const { error } = await meaningFor(reply, read);

  expect(error?.name).toBe(name);
  expect(error?.message).toMatch(/ \/api\/v1\/leads\/fields: .*crm\.baseUrl/);
});

test('a web page with 404 to an update names crm.baseUrl, because it is no answer about the line', async () => {
  expect(await meaningFor(page(404), CALLS.update)).toMatchObject({
    outcome: 'refused',
    error: { name: 'ConfigInvalid' },
  });
});

test('the error for a web page with 403 names the scopes, and does not blame the person', async () => {
  const { error } = await meaningFor(page(403), CALLS.update);

  expect(error?.message).toMatch(/ 403.* "openid".* firewall /);
  expect(error?.message).not.toContain('person');
});

test('another JSON document to the first call of a run names crm.baseUrl', async () => {
  const answer = await answerOf(Response.json({ message: 'Welcome', version: '1.0' }), read);
  const parsed = async () => parsedBody(answer, read, z.array(z.string()));

  const { message } = await failureOf(parsed(), 'CrmContractError');
  expect(message).toMatch(/ \/api\/v1\/leads\/fields: .*crm\.baseUrl/);
});

test.each<[number, RunErrorName]>([
  [408, 'CrmUnavailable'],
  [425, 'CrmUnavailable'],
  [429, 'RateLimited'],
  [500, 'CrmUnavailable'],
  [503, 'CrmUnavailable'],
  [302, 'CrmContractError'],
])(
  'a web page with status %i, answered to the first call of a run, is judged by its status: %s',
  async (status, name) => {
    expect((await meaningFor(page(status), read)).error?.name).toBe(name);
  },
);

test.each<[Operation, Outcome, RunErrorName, RunErrorName]>([
  ['create', 'unknown', 'CreateUnanswered', 'CreateUnanswered'],
  ['status', 'notTaken', 'CrmContractError', 'CrmContractError'],
  ['address', 'notTaken', 'CrmContractError', 'ExportNotReady'],
  ['update', 'unknown', 'CrmContractError', 'CrmContractError'],
])('to %s, an answer without JSON is %s: %s for a web page or half an answer, %s if empty', async (...given) => {
  const [operation, outcome, name, empty] = given;

  for (const text of [PAGE, '{"id":'])
    expect(await meaningFor(new Response(text), CALLS[operation])).toMatchObject({ outcome, error: { name } });
  for (const status of [200, 202, 204]) {
    const meaning = await meaningFor(new Response(null, { status }), CALLS[operation]);
    expect(meaning).toMatchObject({ outcome, error: { name: empty } });
  }
});

test('a list of fields in JSON is read even if its media type is that of a web page', async () => {
  const headers = { 'content-type': 'text/html; charset=utf-8' };

  expect(await meaningFor(Response.json([{ fieldName: 'id' }], { headers }), read)).toMatchObject({ outcome: 'done' });
});

test.each([`${CANARY}; x`, `text/${'x'.repeat(8000)}`])('does not quote an invalid content type: %s', async (type) => {
  const response = new Response(CANARY, { status: 400, headers: { 'content-type': type } });

  expect((await meaningFor(response, create)).error?.message).toBe('POST /leads/exports was answered 400.');
});

test('describes an unexpected shape by its keys and wrong paths, never by its values', async () => {
  const answer = await answerOf(Response.json({ name: CANARY, secret: CANARY }), CALLS.status);
  const parsed = async () => parsedBody(answer, CALLS.status, z.object({ name: z.number() }));
  const error = await failureOf(parsed(), 'CrmContractError');

  await expectTexts('crm-other-shape', [['an answer of another shape', error.message]]);
});

test('names only the first ten of many wrong paths', async () => {
  const rows = Array.from({ length: 5000 }, () => ({ wrong: 1 }));
  const answer = await answerOf(Response.json(rows), CALLS.status);
  const parsed = async () => parsedBody(answer, CALLS.status, z.array(z.object({ fieldName: z.string() })));
  const error = await failureOf(parsed(), 'CrmContractError');

  expect(error.message).toContain('(wrong at 0.fieldName, 1.fieldName, ');
  expect(error.message).not.toContain('10.fieldName');
});

/** Bodies with the keys that are read, and values that are no text although JavaScript may ask them for one. */
const KEYS = ['toString', 'valueOf', 'error', 'errors', 'status', 'code', 'success', 'id', 'data', 'url', 'city'];
const { body: anyBody } = fc.letrec((tie) => ({
  body: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(null, true, 0, 404, '', 'error', 'invalid_grant'),
    fc.array(tie('body'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...KEYS), tie('body'), { maxKeys: 5 }),
  ),
}));

test('every JSON body has a meaning, for each operation and for the token endpoint', async () => {
  const statuses = fc.constantFrom(200, 201, 400, 403, 409, 422);
  await fc.assert(
    fc.asyncProperty(anyBody, statuses, async (body, status) => {
      for (const operation of OPERATIONS)
        expect(await meaningFor(Response.json(body, { status }), CALLS[operation])).toHaveProperty('outcome');
      expect(meaningOfToken(status, body)).toHaveProperty('means');
    }),
    { numRuns: 500 },
  );
});
