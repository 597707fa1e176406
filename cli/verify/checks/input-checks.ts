import type { Check } from '../../checks/check.ts';
import { broken, type Finding, holdsUnless } from '../../checks/finding.ts';
import { RUN_RIGHTS } from '../base/runs.ts';
import type { Verifying } from '../base/verifying.ts';

/** Inputs that no run accepts. Their ends are mailed. */
export const INPUT_CHECKS: Check<Verifying>[] = [
  {
    id: 'invalid-input',
    question: 'Does a run of an entity that does not exist fail, in plain words?',
    rights: RUN_RIGHTS,
    makes: true,
    look: (verifying) => refused(verifying, { entity: 'nothing' }),
  },
  {
    id: 'empty-input',
    question: 'Does a run with the input {} fail, in plain words?',
    rights: RUN_RIGHTS,
    makes: true,
    look: (verifying) => refused(verifying, {}),
  },
];

async function refused({ runs }: Verifying, input: object): Promise<Finding> {
  const { run: name, status, error, cause } = await runs.failing(input);
  const should = 'It should fail in InvalidInput, with a cause in sentences.';
  if (status !== 'FAILED' || error !== 'InvalidInput') return broken(`${name} ended in ${error ?? status}`, should);
  return holdsUnless(plainCause(cause), `${name} ended in InvalidInput: ${cause}`, should);
}

/** What Lambda makes of an error that a function throws is JSON with a trace. */
function plainCause(cause: string | null): string[] {
  if (!cause) return ['there is no cause'];
  const wrong = [/^\s*[{[]/, /\n\s*at /, /errorMessage|stackTrace/].filter((pattern) => pattern.test(cause));
  return wrong.length > 0 ? ['its cause is not plain text'] : [];
}
