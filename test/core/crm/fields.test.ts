import { expect, test } from 'vitest';
import { type Field, readFields } from '../../../core/crm/fields.ts';
import { CANARY } from '../../support/builders.ts';
import { crmAt } from '../../support/crm-at.ts';
import { failureOf } from '../../support/failures.ts';
import { serverFor } from '../../support/http-server.ts';

async function fields(json: unknown): Promise<Field[]> {
  const { url } = await serverFor(['GET /agent-numbers/fields', { json }]);
  return readFields(crmAt(url), 'agent-numbers');
}

const LIST = [{ fieldName: 'b', label: 'שם פרטי', type: 'text' }, { fieldName: 'a' }];

test.each<[string, unknown]>([
  ['at the top level', LIST],
  ['under data', { data: LIST }],
  ['under fields', { fields: LIST, total: 2 }],
  ['under items', { items: LIST }],
])('reads names, labels and types of the columns in order from a list %s', async (_, answer) => {
  expect(await fields(answer)).toEqual([
    { name: 'b', label: 'שם פרטי', type: 'text' },
    { name: 'a', label: null, type: null },
  ]);
});

test.each<[string, object, string | null]>([
  ['a few words', { label: 'ID number (Israel), 9 digits' }, 'ID number (Israel), 9 digits'],
  ['Hebrew with its own marks', { label: 'מס׳ ת"ז' }, 'מס׳ ת"ז'],
  ['under its other key', { fieldLabel: 'Name' }, 'Name'],
  ['under its other key, if the first one is not a text', { label: 7, fieldLabel: 'Name' }, 'Name'],
  ['a token', { label: `${CANARY}0123456789` }, null],
  ['a number', { label: '050 1234567' }, null],
  ['several lines', { label: 'a\nb' }, null],
  ['a text of many words', { label: 'word '.repeat(30) }, null],
  ['an object', { label: { he: 'שם' } }, null],
])('reads a label only if it is one short line of text without secrets: %s', async (_, property, label) => {
  expect(await fields([{ fieldName: 'a', ...property }])).toEqual([{ name: 'a', label, type: null }]);
});

test.each<[string, object, string | null]>([
  ['a plain name', { type: 'datetime' }, 'datetime'],
  ['under its other key', { fieldType: 'datetime' }, 'datetime'],
  ['a token', { type: `${CANARY}0123456789` }, null],
  ['an object', { type: { kind: 'text' } }, null],
])('reads a type only if it is a plain name: %s', async (_, property, type) => {
  expect(await fields([{ fieldName: 'a', ...property }])).toEqual([{ name: 'a', label: null, type }]);
});

test.each<[string, unknown]>([
  ['an empty list', []],
  ['objects with another key', [{ name: CANARY }]],
  ['an empty name', [{ fieldName: 'a' }, { fieldName: '' }]],
  ['a list under an unknown key', { columns: LIST }],
])('%s in place of the fields is CrmContractError', async (_, answer) => {
  await failureOf(fields(answer), 'CrmContractError');
});

test.each<[string, unknown]>([
  ['fields beside an error', { data: LIST, errors: ['partial'] }],
  ['an error', { error: { code: 'EXPORT_LIMIT' } }],
  ['success false', { success: false, message: CANARY }],
])('%s in place of the fields is a CrmContractError that passes', async (_, answer) => {
  expect(await failureOf(fields(answer), 'CrmContractError')).toMatchObject({ transient: true });
});
