import { expect, test } from 'vitest';
import {
  broken,
  CannotCheck,
  checked,
  type Finding,
  fact,
  holds,
  holdsUnless,
  ifRead,
  unknown,
  warning,
} from '../../../cli/health/check.ts';
import { CommandError } from '../../../cli/support/exit.ts';
import { RunError } from '../../../core/errors.ts';
import { expectFindings } from '../support/findings.ts';

type Answer = Parameters<typeof checked>[1];
const ask = (look: Answer, more: { mayBeUnknown?: boolean } = {}) => {
  const question = { id: 'a', question: 'Is it so?', rights: ['s3:GetObject on the bucket'], ...more };
  return checked(question, look, { deployment: 'prod' });
};
const only = async (look: Answer) => (await ask(look))[0];
const awsError = (name: string, message = '') => Object.assign(new Error(message), { name });

test('a finding has the question, its subject and the rights', async () => {
  const some: Finding[] = [{ ...holds('It is.'), of: 'leads' }, warning('Nearly.', 'Answer.')];

  expect(await ask(() => some)).toMatchObject([
    { id: 'a.leads', question: 'Is it so?', verdict: 'holds', found: 'It is.', advice: null, rights: ['s3:GetObject'] },
    { id: 'a', verdict: 'warning', found: 'Nearly.', advice: 'Answer.' },
  ]);
});

test('a check that fails is broken or unknown, depending on its error, and quotes no unexpected error', async () => {
  const denied = (right: string) => awsError('AccessDenied', `not authorized to perform: ${right}`);
  const unauthorized = () => awsError('UnauthorizedOperation', 'You are not authorized.');
  const errors: [string, unknown][] = [
    ['is denied by AWS', denied('sns:List')],
    ['is denied by AWS, which does not name the right', Object.assign(unauthorized(), { right: 's3:GetObject' })],
    ['is denied, and neither the answer nor the call names the right', unauthorized()],
    ['is throttled', awsError('Throttling')],
    ['is unknown to a cloud', awsError('InvalidAction')],
    ['cannot be decided', new CannotCheck('too early')],
    ['finds that a resource is missing', awsError('NotFoundException', 'no topic')],
    ['finds a wrong setting', new RunError('ConfigInvalid', 'No value.')],
    ['is denied by a store of secrets', new RunError('ConfigInvalid', 'No.', { cause: denied('kms:Decrypt') })],
    ['finds a store of secrets that is down', new RunError('TokenStoreUnavailable', 'Down.')],
    ['finds a CRM that is down', new RunError('CrmUnavailable', 'Down.')],
    ['finds a CRM that refuses', new RunError('AuthRefused', 'No.')],
    ['ends with a CommandError', new CommandError('No stack.', 3)],
    ['finds a bucket that denies access', new CommandError('No.', 3, { cause: awsError('AccessDenied') })],
    ['ends with an unexpected error', new TypeError('secret-canary')],
    ['ends with a text', 'secret-canary'],
  ];
  const findings = errors.map(async ([what, error]) => [what, ...(await ask(() => Promise.reject(error)))] as const);
  const wrong = await ask(() => holdsUnless(['it is off'], 'it is on'));

  await expectFindings('failed-checks', [...(await Promise.all(findings)), ['finds what is wrong', ...wrong]]);
});

test.each([
  [false, ['broken 1', 'unknown 3', 'unknown 2']],
  [true, ['broken 1', 'unknown 0', 'unknown 0']],
])('if an answer may be missing: %s, the verdicts and exit codes are these', async (mayBeUnknown, expected) => {
  const looks: Answer[] = [
    () => broken('No.', 'Do.'),
    () => Promise.reject(awsError('AccessDenied')),
    () => unknown('Why.', null, 2),
  ];
  const found = await Promise.all(looks.map((look) => ask(look, { mayBeUnknown })));

  expect(found.flat().map(({ verdict, exitCode }) => `${verdict} ${exitCode}`)).toEqual(expected);
});

test('a fact that cannot be read is the finding of each check that needs it', async () => {
  const failed: Promise<Finding> = fact(Promise.reject(new CannotCheck('too early')));

  expect([await only(() => failed), await only(() => failed), await ifRead(failed)]).toMatchObject([
    { found: 'too early' },
    { found: 'too early' },
    undefined,
  ]);
});
