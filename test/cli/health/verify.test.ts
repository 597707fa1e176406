import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { broken, type Checked, holds, unknown } from '../../../cli/health/check.ts';
import { ALL_CHECKS, isProof } from '../../../cli/health/verify.ts';
import { LEFT_OVERS } from '../../../cli/health/verify-temporary.ts';
import { expectTexts } from '../../support/screen.ts';
import { denied } from '../support/cloud/answers.ts';
import { aws } from '../support/cloud/cloud.ts';
import { stack } from '../support/cloud/stack.ts';

test.for(['UPDATE_IN_PROGRESS', 'UPDATE_COMPLETE_CLEANUP_IN_PROGRESS', 'UPDATE_ROLLBACK_FAILED'])(
  'refuses a stack in %s in one sentence, before it creates anything',
  async (status) => {
    const { cli, calls } = await aws(stack({}, status));

    const { code, stdout, stderr } = await cli('verify');

    expect({ code, stdout, calls }).toEqual({ code: 3, stdout: '', calls: [] });
    await expectTexts('verify-unsettled', [['a stack that is not settled', stderr.replace(status, 'STATUS')]]);
  },
);

test('verify without any right names the rights of each check, and proves nothing', async () => {
  const { cli } = await aws(denied('*'), stack());
  const { code, stdout } = await cli('verify', '--alarm');

  expect(code).toBe(1);
  for (const { id } of ALL_CHECKS) expect(stdout).toMatch(new RegExp(`^. ${id}: .* [a-z0-9-]+:[A-Z]\\w+`, 'm'));
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
