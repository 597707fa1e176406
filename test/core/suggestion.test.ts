import { expect, test } from 'vitest';
import { quotedName, suggestion } from '../../core/suggestion.ts';

test.each([
  ['firstname', ['lastName', 'firstName'], ' (did you mean "firstName"?)'],
  ['ID_NUMBR', ['idNumber', 'ID_NUMBER'], ' (did you mean "ID_NUMBER"?)'],
  ['STATUZ', ['state', 'STATUS'], ' (did you mean "STATUS"?)'],
  ['colour', ['id', 'name'], ''],
])('what is nearest to %s among %j is reported without regard to letter case', (typed, known, told) => {
  expect(suggestion(typed, known)).toBe(told);
});

test.each(['colour', 'agent-numbers', 'ID_NUMBER', 'field2', 'preferredLanguageOfTheCustomer', 'שםפרטי'])(
  'the plain name %s is repeated',
  (name) => {
    expect(quotedName(name)).toBe(`"${name}"`);
  },
);

test.each([
  ['d41d8cd98f00b204e9800998ecf8427e', 'a key in hexadecimal digits'],
  ['AKIAIOSFODNN7EXAMPLE', 'a key of a cloud'],
  ['eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl', 'a signed token'],
  ['Bearer abc', 'a header'],
  ['anna@example.com', 'an address of a person'],
  ['0501234567', 'a number'],
  ['x'.repeat(41), 'something long'],
  ['a"b', 'a quotation mark'],
  ['', 'nothing'],
])('%s is not repeated: it may be %s', (name) => {
  expect(quotedName(name)).toBe(`a name of ${name.length} characters that is not repeated here`);
});

test('what is near to a name is reported even where the name is not', () => {
  expect(quotedName('customer_address_of_2024', ['customer_address_of_2025'])).toContain(
    'not repeated here (did you mean "customer_address_of_2025"?)',
  );
});
