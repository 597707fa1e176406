import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmod, cp, mkdir, stat, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { eventually, PROJECT, tempDir } from '../support/project.ts';
import { run } from '../support/running.ts';
import { expectTexts } from '../support/screen.ts';
import { fault, silent } from './support/cloud/answers.ts';
import { aws } from './support/cloud/cloud.ts';
import { WITHOUT_AWS } from './support/run-cli.ts';

/** A checkout with only the program and a script as its own Node. @returns the linked command */
async function linked(ownNode: string | undefined): Promise<string> {
  const checkout = await tempDir();
  const node = join(checkout, 'node_modules/node/bin/node');
  await cp(join(PROJECT, 'cli/main.js'), join(checkout, 'cli/main.js'));
  await writeFile(join(checkout, 'package.json'), '{"type":"module"}');
  await mkdir(dirname(node), { recursive: true });
  if (ownNode !== undefined) await writeFile(node, `#!/bin/sh\n${ownNode}\n`);
  if (ownNode !== undefined) await chmod(node, 0o755);
  const command = join(await tempDir(), 'crm-export');
  await symlink(join(checkout, 'cli/main.js'), command);
  return command;
}

/** Starts a command with this test's Node, which is not the checkout's own. */
const start = (command: string, ...args: string[]) =>
  spawnSync(command, args, { encoding: 'utf8', env: { PATH: `${dirname(process.execPath)}:${process.env.PATH}` } });

test('the package declares the command crm-export, and its file is executable', async () => {
  expect(packageJson.bin).toEqual({ 'crm-export': 'cli/main.js' });
  expect((await stat(join(PROJECT, 'cli/main.js'))).mode & 0o111).toBe(0o111);
});

test("a linked command runs with the checkout's own Node, and passes on arguments, output and exit code", async () => {
  const command = await linked('echo "$@"; echo trouble >&2; exit 7');

  const { status, stdout, stderr } = start(command, 'list', '--reason', 'two words');

  expect({ status, stderr }).toEqual({ status: 7, stderr: 'trouble\n' });
  expect(stdout).toMatch(/\/cli\/main\.ts list --reason two words\n$/);
});

test('a linked command is called crm-export in messages, unless npx has started it', async () => {
  const command = await linked('echo "name: $CRM_EXPORT_COMMAND"');
  const byNpx = { PATH: process.env.PATH, npm_command: 'exec' };

  expect(start(command).stdout).toBe('name: crm-export\n');
  expect(spawnSync(process.execPath, [command], { encoding: 'utf8', env: byNpx }).stdout).toBe('name: \n');
});

test('a signal that comes twice is passed on once, and the exit code is that of the command', async () => {
  const mayEnd = join(await tempDir(), 'may-end');
  const atFirst = `trap "echo again" INT; echo first; until [ -e ${mayEnd} ]; do sleep 0.05; done; exit 130`;
  const command = await linked(`trap '${atFirst}' INT; echo runs; while :; do sleep 0.05; done`);
  const child = spawn(process.execPath, [command], { stdio: ['ignore', 'pipe', 'ignore'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  let written = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    written += text;
  });
  const ended = once(child, 'close');
  await eventually(() => written.includes('runs'));

  child.kill('SIGINT');
  await eventually(() => written.includes('first'));
  child.kill('SIGINT');
  await writeFile(mayEnd, '');

  expect(await ended).toEqual([130, null]);
  expect(written).toBe('runs\nfirst\n');
});

test('Ctrl-C ends a command that waits for AWS with a sentence, a document and exit code 130', async () => {
  const { place, asked } = await aws(fault('ListExecutions', silent));
  const command = run('cli/main.js', ['list', '--json', ...place], WITHOUT_AWS);
  await eventually(() => asked.includes('ListExecutions'));

  expect(await command.interrupt(), command.stderr()).toBe(130);
  expect(JSON.parse(command.stdout())).toEqual({ ok: false, error: command.stderr().trimEnd() });
  await expectTexts('interrupted', [['Ctrl-C in a command that waits for AWS', command.stderr()]]);
});

test('if packages are not installed, the command says to run npm ci, and where', async () => {
  const { status, stderr } = start(await linked(undefined), 'list');

  expect(status).toBe(3);
  await expectTexts('not-installed', [['a checkout without packages', stderr]]);
});

test('the program prints all commands in groups as a usage error, and ends quietly if its reader closes early', async () => {
  const wrong = run('cli/main.js', [], { NO_COLOR: '1' });
  const closed = run('cli/main.js', ['start', '--help']);
  closed.child.stdout?.destroy();

  expect({ code: await wrong.ended, stdout: wrong.stdout() }).toEqual({ code: 2, stdout: '' });
  expect({ code: await closed.ended, stderr: closed.stderr() }).toEqual({ code: 0, stderr: '' });
  await expectTexts('usage', [['a command line without a command', wrong.stderr()]]);
});
