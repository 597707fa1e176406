import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ALL_CHECKS } from '../../../cli/verify/all-checks.ts';
import { documentOf, lineOf } from '../../../cli/verify/verify-command.ts';
import { tempDir } from '../../local/support/support.ts';
import { aws } from '../support/cloud/cloud.ts';
import { stack } from '../support/cloud/stack.ts';
import { runCli } from '../support/run-cli.ts';

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

test('there are more than twenty checks, each with a name of its own and what it does', () => {
  const ids = ALL_CHECKS.map(({ id }) => id);

  expect(ids.length).toBeGreaterThan(20);
  expect(new Set(ids).size).toBe(ids.length);
  for (const { does } of ALL_CHECKS) expect(does).toMatch(/^[a-z]/);
});

test('a check is one line: what was done, what came back, and what should have been', () => {
  const check = { id: 'versioning', does: 'reads whether the bucket keeps versions' };

  expect([
    lineOf({ ...check, ok: true, found: 'versioning is Enabled', why: null }),
    lineOf({ ...check, ok: false, found: 'versioning is Suspended', why: 'Switch it on.' }),
    lineOf({ ...check, ok: null, found: null, why: 'these credentials lack the right s3:GetBucketVersioning' }),
  ]).toEqual([
    '✓ versioning: reads whether the bucket keeps versions: versioning is Enabled.',
    '✗ versioning: reads whether the bucket keeps versions: versioning is Suspended. -> Switch it on.',
    '- versioning: reads whether the bucket keeps versions: not checked, because these credentials lack the right s3:GetBucketVersioning.',
  ]);
});

test('the document has what is asked for and nothing else; not checked is no failure, and nothing checked no proof', () => {
  const held = { id: 'a', does: 'looks', ok: true, found: 'all', why: null };
  const unchecked = { id: 'b', does: 'looks', ok: null, found: null, why: 'no right' };
  const broken = { id: 'c', does: 'looks', ok: false, found: 'none', why: 'it should' };

  expect(documentOf([held, unchecked])).toEqual({
    ok: true,
    checks: [
      { id: 'a', ok: true, found: 'all', why: null },
      { id: 'b', ok: null, found: null, why: 'no right' },
    ],
  });
  expect(documentOf([held, broken]).ok).toBe(false);
  expect(documentOf([unchecked]).ok).toBe(false);
});
