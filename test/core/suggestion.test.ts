import { expect, test } from 'vitest';
import { quotedName, suggestion } from '../../core/suggestion.ts';

test.each([
  ['firstname', ['lastName', 'firstName'], ' (did you mean "firstName"?)'],
  ['ID_NUMBR', ['idNumber', 'ID_NUMBER'], ' (did you mean "ID_NUMBER"?)'],
  ['STATUZ', ['state', 'STATUS'], ' (did you mean "STATUS"?)'],
  ['colour', ['id', 'name'], ''],
])('suggests the name nearest to %s among %j, ignoring letter case', (typed, known, told) => {
  expect(suggestion(typed, known)).toBe(told);
});

test.each(['colour', 'agent-numbers', 'ID_NUMBER', 'field2', 'preferredLanguageOfTheCustomer', 'שםפרטי'])(
  'quotes the plain name %s',
  (name) => {
    expect(quotedName(name)).toBe(`"${name}"`);
  },
);

test.each([
  ['d41d8cd98f00b204e9800998ecf8427e', 'a hexadecimal key'],
  ['AKIAIOSFODNN7EXAMPLE', 'an AWS access key'],
  ['eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl', 'a JWT'],
  ['Bearer abc', 'an authorization header'],
  ['anna@example.com', 'an email address'],
  ['0501234567', 'a phone number'],
  ['x'.repeat(41), 'a name of more than 40 characters'],
  ['a"b', 'a name with a quotation mark'],
  ['', 'an empty name'],
])('does not quote "%s", %s', (name) => {
  expect(quotedName(name)).toContain(` ${name.length} characters`);
});

test('suggests the nearest name even if the name itself is not quoted', () => {
  expect(quotedName('customer_address_of_2024', ['customer_address_of_2025'])).toContain(
    suggestion('customer_address_of_2024', ['customer_address_of_2025']),
  );
});
