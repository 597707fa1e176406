import { expect, test } from 'vitest';
import { codeIn } from '../../../cli/probe/conversation/harmless.ts';

test.each([
  [{ error: { code: 'unknown_field' } }, 'unknown_field'],
  [{ code: 'forbidden' }, 'forbidden'],
  [{ name: 'dana_cohen' }, null],
  [{ error: { name: 'tel_aviv', type: 'qwertzuiop_asdfgh' } }, null],
  [{ name: 'dana_cohen', code: 'not_found' }, 'not_found'],
])('of the body %j the report keeps the code %s: no name of a person or place', (body, code) => {
  expect(codeIn(body)).toBe(code);
});
