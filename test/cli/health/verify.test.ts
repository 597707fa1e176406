import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { broken, type Checked, holds, unknown } from '../../../cli/health/check.ts';
import { ALL_CHECKS, addVerify, isProof } from '../../../cli/health/verify.ts';
import { LEFT_OVERS } from '../../../cli/health/verify-starts.ts';
import { aws } from '../support/cloud/cloud.ts';
import { stack } from '../support/cloud/stack.ts';
import { useCommands } from '../support/run-cli.ts';

useCommands({ verify: addVerify });

/** Verifies an account whose stack has this status. The fake would record every other call. */
async function verify(status: string, ...args: string[]) {
  const { cli, calls } = await aws(stack({}, status));
  return { ...(await cli('verify', ...args)), calls };
}

test.for([
  [
    'UPDATE_IN_PROGRESS',
    /^The stack crm-export-test is only partly updated \(UPDATE_IN_PROGRESS\): wait until the deployment has ended\. verify made no changes\.$/m,
  ],
  ['UPDATE_COMPLETE_CLEANUP_IN_PROGRESS', /: wait until the deployment has ended\. verify made no changes\.$/m],
  ['UPDATE_ROLLBACK_FAILED', /\(UPDATE_ROLLBACK_FAILED\): deploy it again\. verify made no changes\.$/m],
] as const)('refuses a stack in %s in one sentence, before it creates anything', async ([status, sentence]) => {
  const { code, stdout, stderr, calls } = await verify(status);

  expect({ code, stdout, calls }).toEqual({ code: 3, stdout: '', calls: [] });
  expect(stderr).toMatch(sentence);
});

test('docs/verify.md explains every check', async () => {
  const ids = [...ALL_CHECKS, LEFT_OVERS].map(({ id }) => id);
  const document = await readFile('docs/verify.md', 'utf8');

  expect(ids.filter((id) => !new RegExp(`^\\|[^|]*\`${id}\`[^|]*\\|`, 'm').test(document))).toEqual([]);
});

test('unknown checks do not fail a verify, but do not prove anything alone', () => {
  const question = { question: 'Is it?', rights: [] };
  const held: Checked = { ...holds('all'), id: 'a', ...question };
  const untold: Checked = { ...unknown('no right'), id: 'b', ...question };
  const bad: Checked = { ...broken('none', 'Make some.'), id: 'c', ...question };

  expect(isProof([held, untold])).toBe(true);
  expect(isProof([held, bad])).toBe(false);
  expect(isProof([untold])).toBe(false);
});
