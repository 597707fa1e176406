import { expect, test } from 'vitest';
import type { CrmCall } from '../../../core/crm/call.ts';
import { errorCode } from '../../../core/crm/error-code.ts';
import { jsonOrUndefined } from '../../../core/json.ts';

const call: CrmCall = {
  ...{ operation: 'update', entity: 'customers', id: 'not_numbered' },
  json: { maritalStatus: 'not_married', notes: 'Was Newly-Wed.\nCohen', city: 'Tel Aviv' },
};
const codeIn = (body: unknown, isGood = false) => {
  const read = jsonOrUndefined(typeof body === 'string' ? body : JSON.stringify(body));
  return errorCode(read, { call, accessToken: 'own_access_token' }, { isGood });
};

test.each([
  ['under error', { error: { code: 'unknown_field', message: 'No such field: x.' } }],
  ['as the error itself', { error: 'unknown_field', error_description: 'No such field: x.' }],
  ['first in a list', { errors: [{ code: 'unknown_field' }, { code: 'other' }] }],
  ['in an answer that is a list', [{ errorCode: 'unknown_field', message: 'No such field: x.' }]],
  ['after a number', { code: 400, error: { code: 400 }, errors: ['unknown_field'] }],
])('the code of an error is found %s', async (_, body) => {
  expect(await codeIn(body)).toBe('unknown_field');
});

const CODES = [
  'unknown-field',
  'field.unknown',
  'ERR_1042',
  'PLANNED',
  'EXPORT_LIMIT',
  'quota.Exceeded-2',
  'a'.repeat(48),
];

test.each(CODES)('shows %s in a key for codes', async (code) => {
  expect(await codeIn({ code })).toBe(code);
  expect(await codeIn({ Error: { ErrorCode: code } })).toBe(code);
  expect(await codeIn({ errors: [{ error_code: code }] })).toBe(code);
});

const LISTED = ['forbidden', 'invalid_grant', 'Not_Found', 'export_limit', 'EXPORT_NOT_READY'];

test.each(LISTED)('shows the listed word %s if it is the error itself', async (word) => {
  expect(await codeIn({ error: word })).toBe(word);
  expect(await codeIn({ errors: [word] })).toBe(word);
});

test.each(['PLANNED', 'dana.cohen', 'refresh_token_abcdefgh', '__proto__'])(
  'does not show the unlisted error %s',
  async (word) => {
    expect(await codeIn({ error: word, errors: [word], message: word, reason: word })).toBeUndefined();
  },
);

test.each([
  ['digits after a word', 'phone_0521234567'],
  ['five digits', 'customer_10425'],
  ['an email address', 'dana.cohen@example.com'],
  ['a sentence', 'unknown field'],
  ['a token', 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0'],
  ['a long word', 'a'.repeat(49)],
  ['a link', 'https://files.example/x?signature=invalid'],
  ['a line break', 'unknown_field\n'],
  ['the token of the call', 'access_token'],
  ['a value that was sent, in another spelling', 'TEL_AVIV'],
  ['a word of a text that was sent', 'newly-wed'],
  ['the first word of a line that was sent', 'Cohen'],
  ['the id of the path', 'not_numbered'],
  ['a text that does not begin with a letter', '_unknown'],
])('does not show %s in place of a code', async (_, code) => {
  expect(await codeIn({ error: { code }, code, errorCode: code, error_code: code, errors: [code] })).toBeUndefined();
});

test.each([
  ['<html>unknown_field</html>'],
  ['null'],
  [{ errors: [] }],
  [{ error: null }],
  ['{"code":"unknown'],
  ['{"__proto__":{"code":"unknown_field"}}'],
  ['{"code":{"toString":"unknown_field"}}'],
])('the body %j has no code', async (body) => {
  expect(await codeIn(body)).toBeUndefined();
});

test('in a good answer, only the code of an error is found', () => {
  expect(codeIn({ code: 'PRIVATE_CUSTOMER', errors: [{ code: 'EXPORT_LIMIT' }] }, true)).toBe('EXPORT_LIMIT');
  expect(codeIn({ id: 7, code: 'PRIVATE_CUSTOMER', error_code: 'x' }, true)).toBeUndefined();
});
