import { expect, test } from 'vitest';
import type { CrmCall } from '../../../core/crm/call.ts';
import { errorCode } from '../../../core/crm/error-code.ts';

const TOKEN = { accessToken: 'own_access_token', scope: 'global:export' };
const call: CrmCall = {
  method: 'patch',
  path: 'customers/not_numbered',
  template: '/customers/{id}',
  json: { maritalStatus: 'not_married' },
};
const codeIn = (body: unknown) =>
  errorCode({ text: async () => (typeof body === 'string' ? body : JSON.stringify(body)) }, { call, token: TOKEN });

test.each([
  ['under error', { error: { code: 'unknown_field', message: 'No such field: x.' } }],
  ['bare', { code: 'unknown_field' }],
  ['as the error itself', { error: 'unknown_field', error_description: 'No such field: x.' }],
  ['first in a list', { errors: [{ code: 'unknown_field' }, { code: 'other' }] }],
  ['behind a number', { code: 400, error: { code: 400 }, errors: ['unknown_field'] }],
])('the code of an error is found %s', async (_, body) => {
  expect(await codeIn(body)).toBe('unknown_field');
});

test.each([
  ...[
    'UNKNOWN_FIELD',
    'unknown-field',
    'field.unknown',
    'UnknownField',
    'forbidden',
    'ERR_1042',
    'deal_lost',
    'export_not_ready',
    'payload_too_large',
    'ResourceGone',
    'error404',
  ],
])('%s is a code', async (code) => {
  expect(await codeIn({ code })).toBe(code);
});

test.each([
  ['digits', '0521234567'],
  ['digits behind a word', 'phone_0521234567'],
  ['the number of a customer', 'customer_1042'],
  ['an address', 'dana.cohen@example.com'],
  ['the name of a mailbox', 'dana.cohen'],
  ['a name', 'Cohen'],
  ['a name of two', 'Cohen-Levi'],
  ['a name with an underscore', 'dana_cohen'],
  ['a place', 'TEL_AVIV'],
  ['a token in small letters', 'qwertzuiop_asdfghjkl'],
  ['a name in Hebrew', 'כהן'],
  ['a sentence', 'unknown field'],
  ['a token', 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0'],
  ['a token with underscores', 'sk_live_aGhTrEwQxZcV'],
  ['a long word', 'unknown_abcdefghijklmnopqrstuvwxyz'],
  ['a long row of words', 'unknown_field'.repeat(8)],
  ['an id', '0b2f4f0e-6a51-4bb1-8d8e-1f7a4c3d2e10'],
  ['a link', 'https://files.example/x?signature=invalid'],
  ['an escape', 'unknown_\u001b[31mfield'],
  ['a line break', 'unknown_field\n'],
  ['the token of the call', 'access_token'],
  ['a value that was sent', 'Not_Married'],
  ['the id of the path', 'not_numbered'],
  ['nothing', ''],
])('%s in the place of a code is not repeated', async (_, code) => {
  expect(await codeIn({ error: { code }, code, errors: [code] })).toBeUndefined();
});

test.each([['<html>unknown_field</html>'], ['null'], ['"unknown_field"'], ['[]'], [{ errors: [] }], [{ error: null }]])(
  'the body %j has no code',
  async (body) => {
    expect(await codeIn(body)).toBeUndefined();
  },
);

test('a body that broke off has no code', async () => {
  const text = () => Promise.reject(new Error('cut off'));

  expect(await errorCode({ text }, { call, token: TOKEN })).toBeUndefined();
});
