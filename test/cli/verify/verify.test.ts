import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Checked } from '../../../cli/checks/check.ts';
import { broken, holds, unknown } from '../../../cli/checks/finding.ts';
import { ALL_CHECKS } from '../../../cli/verify/all-checks.ts';
import { LEFT_OVERS } from '../../../cli/verify/checks/left-overs.ts';
import { addVerify, isProof } from '../../../cli/verify/verify-command.ts';
import { tempDir } from '../../local/support/support.ts';
import { aws } from '../support/cloud/cloud.ts';
import { stack } from '../support/cloud/stack.ts';
import { runCli, useCommands } from '../support/run-cli.ts';

useCommands({ verify: addVerify });

/** A verify of an account whose stack is as given; every other call would be noted. */
async function verify(status: string, ...args: string[]) {
  const { cli, calls } = await aws(stack({}, status));
  return { ...(await cli('verify', ...args)), calls };
}

test.for([
  [
    'UPDATE_IN_PROGRESS',
    /^The stack crm-export-test is only half updated \(UPDATE_IN_PROGRESS\): wait until it has ended\. Nothing was made\.$/m,
  ],
  ['UPDATE_COMPLETE_CLEANUP_IN_PROGRESS', /: wait until it has ended\. Nothing was made\.$/m],
  ['UPDATE_ROLLBACK_FAILED', /\(UPDATE_ROLLBACK_FAILED\): deploy it again\. Nothing was made\.$/m],
] as const)('a stack that is %s is refused in one sentence, before anything is made', async ([status, sentence]) => {
  const { code, stdout, stderr, calls } = await verify(status);

  expect({ code, stdout, calls }).toEqual({ code: 3, stdout: '', calls: [] });
  expect(stderr).toMatch(sentence);
});

test('without credentials it says so in one sentence, and in a document', async () => {
  const { code, stdout, stderr } = await runCli('verify', '--deployment', 'prod', '--region', 'us-east-1', '--json');

  expect(code).toBe(3);
  expect(stderr).toMatch(/^There are no AWS credentials: .*\n$/);
  expect(JSON.parse(stdout)).toEqual({ ok: false, error: stderr.trim() });
});

test.for([
  ['', 'no line'],
  ['{"id":"1","city":"Haifa"}\n{"id":"2","city":"Haifa"}\n', 'two lines'],
] as const)('--updates with a file of "%s" is refused before anything is made', async ([text]) => {
  const file = join(await tempDir(), 'changes.jsonl');
  await writeFile(file, text);

  const { code, stdout, stderr, calls } = await verify('UPDATE_COMPLETE', '--updates', file);

  expect({ code, stdout, calls }).toEqual({ code: 2, stdout: '', calls: [] });
  expect(stderr).toMatch(/^.*Nothing was sent\.\n$/);
  expect(stderr).not.toContain('Haifa');
});

test('--updates without a line is refused in one sentence', async () => {
  const { code, stderr } = await runCli('verify', '--deployment', 'prod', '--updates');

  expect(code).toBe(2);
  expect(stderr).toMatch(/^error: option '--updates <file-or-line>' argument missing\n/);
});

test('--updates with a line that no customer could have is refused, and its values are not shown', async () => {
  const { code, stderr, calls } = await verify('UPDATE_COMPLETE', '--updates', '{"id":"","city":"Haifa"}');

  expect({ code, calls }).toEqual({ code: 2, calls: [] });
  expect(stderr).toMatch(/^the line, line 1, id: .* Nothing was sent\.\n$/);
  expect(stderr).not.toContain('Haifa');
});

test('there are more than twenty checks, each of which docs/verify.md explains', async () => {
  const ids = [...ALL_CHECKS, LEFT_OVERS].map(({ id }) => id);
  const document = await readFile('docs/verify.md', 'utf8');

  expect(ids.length).toBeGreaterThan(20);
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids.filter((id) => !new RegExp(`^\\|[^|]*\`${id}\`[^|]*\\|`, 'm').test(document))).toEqual([]);
});

test('each row of what could only be reasoned is settled by a check that there is, by hand, or not now', async () => {
  const ids = [...ALL_CHECKS, LEFT_OVERS].map(({ id }) => id);
  const document = await readFile('docs/verify.md', 'utf8');
  const [, section = ''] = document.split('## What could only be reasoned');
  const rows = [...section.matchAll(/^\| (?!What|---).* \| (.*) \|$/gm)].map(([, settled = '']) => settled);

  expect(rows.length).toBeGreaterThan(5);
  for (const settled of rows.filter((one) => !/^(by hand|not now): /.test(one))) {
    const named = [...settled.matchAll(/`([a-z-]+)`/g)].flatMap(([, id = '']) => (id.startsWith('--') ? [] : id));
    expect(named.length, settled).toBeGreaterThan(0);
    expect(named.filter((id) => !ids.includes(id))).toEqual([]);
  }
});

test('what cannot be told is no failure, and nothing told no proof', () => {
  const question = { question: 'Is it?', rights: [] };
  const held: Checked = { ...holds('all'), id: 'a', ...question };
  const untold: Checked = { ...unknown('no right'), id: 'b', ...question };
  const bad: Checked = { ...broken('none', 'Make some.'), id: 'c', ...question };

  expect(isProof([held, untold])).toBe(true);
  expect(isProof([held, bad])).toBe(false);
  expect(isProof([untold])).toBe(false);
});
