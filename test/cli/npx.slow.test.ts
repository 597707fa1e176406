import { execFile } from 'node:child_process';
import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { CRM_EXPORT } from '../../core/commands.ts';
import packageJson from '../../package.json' with { type: 'json' };
import { PROJECT, tempDir } from '../support/project.ts';
import { aws } from './support/cloud/cloud.ts';
import { DEPLOYMENT } from './support/cloud/stack.ts';

interface Ended {
  code: number;
  stdout: string;
  stderr: string;
}

/**
 * Runs the command in its own process, in the checkout, without the environment variables of a calling npx. npm
 * compares the times of its lock files with the real clock, so the process uses that clock.
 */
const typed = (command: string, ...args: string[]) =>
  new Promise<Ended>((resolve) => {
    const child = execFile(
      command,
      args,
      { cwd: PROJECT, env: { ...process.env, npm_command: undefined, NODE_OPTIONS: undefined } },
      (_, stdout, stderr) => resolve({ code: child.exitCode ?? -1, stdout, stderr }),
    );
  });

const [npx = '', ...words] = CRM_EXPORT.split(' ');

test.concurrent.for([
  [['--version'], 0, /^\d+\.\d+\.\d+\n$/, /^$/],
  [['--help'], 0, /^Usage: npx --no -- crm-export \[options\] \[command\]\n/, /^$/],
  [['show', '--help'], 0, /^Usage: npx --no -- crm-export show \[options\] <run>\n/, /^$/],
  [['nonsense', '--help'], 2, /^$/, /^error: unknown command 'nonsense'\n/],
] as const)('npx, called as messages spell it, passes %j on to the command', async ([args, code, stdout, stderr]) => {
  const ended = await typed(npx, ...words, ...args);

  if (args[0] === '--version') expect(ended.stdout.trim()).toBe(packageJson.version);
  expect(ended).toEqual({
    code,
    stdout: expect.stringMatching(stdout),
    stderr: expect.stringMatching(stderr),
  });
});

test('after npm link, help and messages call the command crm-export, without npx', async () => {
  const linked = join(await tempDir(), 'crm-export');
  await symlink(join(PROJECT, 'cli/main.js'), linked);

  const { endpoint } = await aws();

  const [help, refused] = await Promise.all([
    typed(linked, 'show', '--help'),
    typed(linked, 'logs', 'leads', '--deployment', DEPLOYMENT, '--endpoint-url', endpoint),
  ]);

  expect(help.stdout).toMatch(/^Usage: crm-export show \[options\] <run>\n[\s\S]*\n {2}crm-export show leads /);
  expect(help.stdout).not.toContain('npx');
  expect(refused).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/: crm-export start leads .*--deployment test\.\n$/),
  });
});
