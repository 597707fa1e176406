import { expect, test } from 'vitest';
import { createCrmClient } from '../../../../lambdas/shared/crm/client.ts';
import { readFieldNames } from '../../../../lambdas/shared/crm/fields.ts';
import { CANARY } from '../../../support/builders.ts';
import { at, recordingLog } from '../../../support/deps.ts';
import { failureOf } from '../../../support/failures.ts';
import { serverFor } from '../../../support/http-server.ts';

async function fieldNames(json: unknown): Promise<string[]> {
  const { url } = await serverFor(['GET /agent-numbers/fields', { json }]);
  const getAccessToken = async () => ({ accessToken: CANARY, scope: '' });
  const now = at('2026-11-20T01:00:00Z');
  return readFieldNames(createCrmClient({ baseUrl: url, getAccessToken, log: recordingLog(), now }), 'agent-numbers');
}

const LIST = [{ fieldName: 'b', label: CANARY }, { fieldName: 'a' }];

test.each<[string, unknown]>([
  ['bare', LIST],
  ['under data', { data: LIST }],
  ['under fields', { fields: LIST, total: 2 }],
  ['under items', { items: LIST }],
])('the names of the columns are read from a list that is %s, in its order', async (_, answer) => {
  expect(await fieldNames(answer)).toEqual(['b', 'a']);
});

test.each<[string, unknown]>([
  ['an empty list', []],
  ['names without objects', ['a', 'b']],
  ['another property', [{ name: CANARY }]],
  ['one name that is empty', [{ fieldName: 'a' }, { fieldName: '' }]],
  ['no list', { columns: LIST }],
  ['null', null],
])('%s is CrmContractError', async (_, answer) => {
  await failureOf(fieldNames(answer), 'CrmContractError');
});
