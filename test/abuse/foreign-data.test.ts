import { describe, expect, test } from 'vitest';
import { createCrmClient } from '../../core/crm/crm-client.ts';
import { createLog } from '../../core/log/log.ts';
import type { GetAccessToken } from '../../core/oauth/access-token.ts';
import { asStep } from '../../core/step/export-run.ts';
import { checkStatus } from '../../lambdas/check-status/check-status.ts';
import { EXPORT_ID, runState } from '../support/builders.ts';
import { composed, lambdaContext, testDeps } from '../support/deps.ts';
import { type Reply, serverFor } from '../support/http-server.ts';
import { written } from '../support/written.ts';

/** Abuse case: a response of the CRM contains data of another customer. */

const EMAIL = 'anna.cohen@example.com';
const PHONE = '0501234567';
const RECORD = { id: 77, name: 'Anna-Cohen', email: EMAIL, phone: PHONE };
const FOREIGN = ['Anna-Cohen', EMAIL, PHONE];

const sentence = `Customer Anna-Cohen <${EMAIL}>, ${PHONE}, is locked by another request.`;
const problem = { json: { error: { code: 'locked', message: sentence, fields: [EMAIL], record: RECORD } } };

const ANSWERS: [string, Reply][] = [
  ...[400, 401, 402, 403, 404, 408, 409, 410, 418, 422, 429, 500, 502, 503, 504].map((status): [string, Reply] => [
    `an error ${status}`,
    { status, ...problem },
  ]),
  ['an error in HTML', { status: 500, headers: { 'content-type': 'text/html' }, text: `<h1>${sentence}</h1>` }],
  ['a content type', { status: 500, headers: { 'content-type': `text/html; for="${EMAIL}"` }, text: sentence }],
  ['a Retry-After header', { status: 429, headers: { 'retry-after': `${EMAIL} ${PHONE}` } }],
  ['a redirect', { status: 302, headers: { location: `https://crm.example.com/login?user=${EMAIL}` } }],
  ['a record instead of a status', { json: RECORD }],
  ['a status that is a record', { json: { status: sentence, id: EXPORT_ID } }],
  ['keys that are data', { json: { [EMAIL]: RECORD, [PHONE]: RECORD } }],
  ['truncated JSON', { headers: { 'content-type': 'application/json' }, text: `{"id":"${EMAIL}","phone":"${PHONE}` }],
  ['text instead of JSON', { text: sentence }],
];

describe('data of another customer', () => {
  test.each(ANSWERS)('in %s does not appear in an answer, error, log or metric', async (_, reply) => {
    const request = `GET /leads/exports/${EXPORT_ID}`;
    const again = typeof reply === 'object' && reply.status === 401 ? 2 : 1;
    const { url, seen } = await serverFor(...Array.from({ length: again }, (): [string, Reply] => [request, reply]));
    // A token that was refused is requested again; the same once more would not be sent again.
    const getAccessToken: GetAccessToken = async ({ rejected } = {}) => {
      return { accessToken: rejected === undefined ? 'access' : 'newer', scope: 'openid' };
    };
    let answer: unknown;

    const { text, lines } = await written(async () => {
      const log = createLog('CheckStatus', 'prod');
      const deps = testDeps();
      const crm = createCrmClient({ baseUrl: url, getAccessToken, log, now: deps.now });
      const handler = asStep('CheckStatus', checkStatus, ...composed({ ...deps, log, crm }));
      answer = await handler(runState(), lambdaContext());
    });

    for (const piece of FOREIGN) expect(`${JSON.stringify(answer)} ${text}`).not.toContain(piece);
    expect(seen).toHaveLength(again);
    expect(lines).toContainEqual(expect.objectContaining({ message: 'answered', execution: 'night-1' }));
  });
});
