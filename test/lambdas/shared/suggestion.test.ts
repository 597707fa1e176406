import { expect, test } from 'vitest';
import { suggestion } from '../../../lambdas/shared/suggestion.ts';

test.each([
  ['firstname', ['lastName', 'firstName'], ' (did you mean "firstName"?)'],
  ['ID_NUMBR', ['idNumber', 'ID_NUMBER'], ' (did you mean "ID_NUMBER"?)'],
  ['STATUZ', ['state', 'STATUS'], ' (did you mean "STATUS"?)'],
  ['colour', ['id', 'name'], ''],
])('what is nearest to %s among %j is told without regard to letter case', (typed, known, told) => {
  expect(suggestion(typed, known)).toBe(told);
});
