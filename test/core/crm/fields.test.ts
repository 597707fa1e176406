import { expect, test } from 'vitest';
import { createCrmClient } from '../../../core/crm/crm-client.ts';
import { type Field, readFields } from '../../../core/crm/fields.ts';
import { CANARY } from '../../support/builders.ts';
import { at, recordingLog } from '../../support/deps.ts';
import { failureOf } from '../../support/failures.ts';
import { serverFor } from '../../support/http-server.ts';

async function fields(json: unknown): Promise<Field[]> {
  const { url } = await serverFor(['GET /agent-numbers/fields', { json }]);
  const getAccessToken = async () => ({ accessToken: CANARY, scope: '' });
  const now = at('2026-11-20T01:00:00Z');
  return readFields(createCrmClient({ baseUrl: url, getAccessToken, log: recordingLog(), now }), 'agent-numbers');
}

const LIST = [{ fieldName: 'b', label: 'שם פרטי', type: 'text' }, { fieldName: 'a' }];

test.each<[string, unknown]>([
  ['bare', LIST],
  ['under data', { data: LIST }],
  ['under fields', { fields: LIST, total: 2 }],
  ['under items', { items: LIST }],
])('names, labels and types of the columns are read from a list that is %s, in its order', async (_, answer) => {
  expect(await fields(answer)).toEqual([
    { name: 'b', label: 'שם פרטי', type: 'text' },
    { name: 'a', label: null, type: null },
  ]);
});

test.each<[string, object, string | null]>([
  ['a few words', { label: 'ID number (Israel), 9 digits' }, 'ID number (Israel), 9 digits'],
  ['Hebrew with its own marks', { label: 'מס׳ ת"ז' }, 'מס׳ ת"ז'],
  ['under its other name', { fieldLabel: 'Name' }, 'Name'],
  ['under its other name, where the first is no text', { label: 7, fieldLabel: 'Name' }, 'Name'],
  ['nothing', {}, null],
  ['a token', { label: `${CANARY}0123456789` }, null],
  ['an address', { label: 'dana@example.com' }, null],
  ['a number', { label: '050 1234567' }, null],
  ['several lines', { label: 'a\nb' }, null],
  ['a text of many words', { label: 'word '.repeat(30) }, null],
  ['an object', { label: { he: 'שם' } }, null],
])('a label that is %s', async (_, property, label) => {
  expect(await fields([{ fieldName: 'a', ...property }])).toEqual([{ name: 'a', label, type: null }]);
});

test.each<[string, object, string | null]>([
  ['a plain name', { type: 'datetime' }, 'datetime'],
  ['under its other name', { fieldType: 'datetime' }, 'datetime'],
  ['a token', { type: `${CANARY}0123456789` }, null],
  ['an object', { type: { kind: 'text' } }, null],
])('a type that is %s', async (_, property, type) => {
  expect(await fields([{ fieldName: 'a', ...property }])).toEqual([{ name: 'a', label: null, type }]);
});

test.each<[string, unknown]>([
  ['an empty list', []],
  ['names without objects', ['a', 'b']],
  ['another property', [{ name: CANARY }]],
  ['one name that is empty', [{ fieldName: 'a' }, { fieldName: '' }]],
  ['no list', { columns: LIST }],
  ['null', null],
])('%s is CrmContractError', async (_, answer) => {
  await failureOf(fields(answer), 'CrmContractError');
});
