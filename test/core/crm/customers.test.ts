import { expect, test } from 'vitest';
import type { CrmCall } from '../../../core/crm/call.ts';
import { updateCustomer } from '../../../core/crm/customers.ts';
import { RunError } from '../../../core/errors.ts';
import { CANARY } from '../../support/builders.ts';
import { crmAt } from '../../support/crm-at.ts';
import { recordingLog } from '../../support/deps.ts';
import { failureOf } from '../../support/failures.ts';
import { cutOff, DEAD_ADDRESS, type Exchange, hangUp, serverFor } from '../../support/http-server.ts';
import { expectTexts } from '../../support/screen.ts';

const ID = '00000000-0000-4000-8000-000000000001';
const LINE = `PATCH /api/v1/customers/${ID}`;
const FIELDS = { firstName: CANARY, city: null };

interface Given {
  /** The error of a refresh of the token, or of reading it again. */
  trouble: RunError;
  scope: string;
  accessToken: string;
}

/** Sends one change. */
function updateAt(
  url: string,
  { trouble, scope = 'openid', accessToken = 'first' }: Partial<Given> = {},
  how: Pick<CrmCall, 'secondsLeft' | 'confirmation'> = {},
) {
  const log = recordingLog();
  const crm = crmAt(`${url}/api/v1`, {
    getAccessToken: async ({ rejected, reread } = {}) => {
      if ((rejected ?? reread) !== undefined && trouble) throw trouble;
      return { accessToken: rejected ? 'second' : accessToken, scope };
    },
    log,
  });
  return { log, update: () => updateCustomer(crm, ID, FIELDS, how) };
}

async function updateOf(...exchanges: Exchange[]) {
  const server = await serverFor(...exchanges);
  return { ...updateAt(server.url), ...server };
}

test('sends a change unchanged, including null, and returns only the status of a good answer', async () => {
  const { update, seen, log } = await updateOf([LINE, { json: { id: ID, firstName: CANARY } }]);

  expect(await update()).toEqual({ status: 200, outcome: 'done', error: undefined });
  expect(seen[0]).toMatchObject({ body: JSON.stringify(FIELDS), headers: { 'content-type': 'application/json' } });
  expect(log.lines[0]?.fields).toMatchObject({ method: 'patch', path: '/customers/{id}', status: 200 });
  expect(JSON.stringify(log.lines)).not.toContain(ID);
});

test.each<[what: string, status: number, reply: Exchange[1]]>([
  ['an array', 200, { json: [{ id: ID }] }],
  ['null', 200, { text: 'null' }],
  ['an object whose connection breaks before its end', 200, cutOff(200, {}, '{}')],
  ['a body of more than 5,000,000 bytes', 200, { json: { notes: 'x'.repeat(5_000_000) } }],
  ['an object with status 202', 202, { status: 202, json: { id: ID } }],
])('%s does not confirm a change', async (_, status, reply) => {
  const { update } = await updateOf([LINE, reply]);

  const answer = await update();

  expect(answer).toMatchObject({ status, outcome: 'unknown', error: { name: 'CrmContractError' } });
  expect(answer.error?.message).toMatch(/^PATCH \/customers\/\{id\} .* 20\d .* not confirmed\.$/);
  expect(answer.error?.message).not.toContain(CANARY);
});

test.each([
  ['refreshed', 401, 'ReauthorizationRequired'],
  ['read again', 403, 'TokenStoreUnavailable'],
] as const)('if the token cannot be %s, a %i keeps its status and has the error %s', async (_, status, name) => {
  const server = await serverFor([LINE, { status }]);
  const { update } = updateAt(server.url, { trouble: new RunError(name, 'No.') });

  expect(await update()).toMatchObject({ status, error: { name } });
});

test.each([
  ['openid', true],
  ['', false],
  ['openid customers:update', false],
])('a 403 with the scopes "%s" has scopeMissing %s', async (scope, scopeMissing) => {
  const server = await serverFor([LINE, { status: 403 }]);

  expect(await updateAt(server.url, { scope }).update()).toMatchObject({ status: 403, scopeMissing });
});

test('a 403 with Retry-After says nothing about the scopes', async () => {
  const { update } = await updateOf([LINE, { status: 403, headers: { 'retry-after': '7' } }]);

  expect(await update()).not.toHaveProperty('scopeMissing');
});

test.each([
  ['a list', { fields: ['city', CANARY] }],
  ['keys', { errors: { city: CANARY } }],
  ['paths', { issues: [{ path: 'body.city', value: CANARY }] }],
  ['pointers', { errors: [{ pointer: '/city' }] }],
])('a 422 that names fields as %s returns those that were sent', async (_, json) => {
  const { update } = await updateOf([LINE, { status: 422, json }]);

  expect(await update()).toMatchObject({ status: 422, error: { name: 'CrmRejectedRequest' }, fields: ['city'] });
});

test.each([
  ['a body that is not JSON', CANARY],
  ['a body that is too large', `"${CANARY.repeat(10_000)}"`],
])('a 422 with %s returns no fields', async (_, text) => {
  const { update } = await updateOf([LINE, { status: 422, text }]);

  expect(await update()).toMatchObject({ status: 422, fields: [] });
});

test('a 404 says that there is no such customer', async () => {
  const { update } = await updateOf([LINE, { status: 404 }]);

  const { error } = await update();

  await expectTexts('customer-not-found', [['a customer that does not exist', error?.message ?? '']]);
});

test.each(['line\nbreak', 'snow \u2603', 'gone \x7f'])(
  'sends nothing if no header can contain the token %j',
  async (accessToken) => {
    const server = await serverFor();
    const { update } = updateAt(server.url, { accessToken });

    const { message } = await failureOf(update(), 'CrmContractError');
    await expectTexts('token-not-sendable', [['a token that no header can contain', message]]);
    expect(server.seen).toEqual([]);
  },
);

test('a connection that closes without an answer has no status, and the call is not repeated', async () => {
  const { update } = await updateOf([LINE, hangUp]);

  expect(await update()).toMatchObject({ status: null, error: { name: 'CrmUnavailable' } });
});

test('throws CrmUnavailable if there is no connection, because nothing was sent', async () => {
  await failureOf(updateAt(DEAD_ADDRESS).update(), 'CrmUnavailable');
});

const HAS_ERROR = 'the answer contains an error';

test.each<[string, unknown, string]>([
  ['a failure', { success: false }, 'the answer says that the call failed'],
  ['a customer and errors three wrappers deep', { a: { b: { c: { id: ID, errors: ['x'] } } } }, HAS_ERROR],
  ['another id', { data: { id: ID.replace(/.$/, '2') } }, 'the answer has the id of another record'],
  ['another value', { result: { customer: { firstName: 'Michal' } } }, 'the answer has a different value of firstName'],
])('a 200 with %s contradicts the change', async (_, json, why) => {
  const { update } = await updateOf([LINE, { json }]);

  const { outcome, error } = await update();

  expect([outcome, error?.name]).toEqual(['contradiction', 'CrmContractError']);
  expect(error?.message).toContain(why);
  expect(error?.message).toMatch(/not confirmed\.$/);
});

test('ignores ids and values of the answer, but not errors, if the status confirms a change', async () => {
  const answers = [{ id: ID.replace(/.$/, '2'), firstName: 'Michal' }, { error: CANARY }];
  const server = await serverFor(...answers.map((json): Exchange => [LINE, { json }]));
  const { update } = updateAt(server.url, {}, { confirmation: 'status' });

  expect(await update()).toEqual({ status: 200, outcome: 'done', error: undefined });
  expect(await update()).toMatchObject({ outcome: 'refused', fields: [] });
});
