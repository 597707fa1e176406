import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { CRM_EXPORT } from '../../core/commands.ts';
import { type CliResult, runCliWith } from '../cli/support/run-cli.ts';
import { tree } from '../lib/support/files.ts';
import { PROJECT } from './project.ts';

const SCREENS = join(import.meta.dirname, '../screens');

/**
 * Runs a command on a terminal of 80 columns without colour, and compares its screen with `test/screens/NAME.txt`. Runs
 * that a command starts have the same random end of their names in every screen.
 *
 * The command finds the test's AWS in an AWS configuration file, as it finds an account. `--endpoint-url` would put a
 * different port into each screen, and remove the links to the console.
 */
export async function expectScreen(name: string, aws: { endpoint: string }, ...args: string[]): Promise<CliResult> {
  useTerminal();
  const result = await runCliWith({ AWS_CONFIG_FILE: configurationFile(aws.endpoint) }, ...args);
  const screen = `$ ${CRM_EXPORT} ${args.join(' ')}\n${result.shown}`;
  await expect(lasting(screen)).toMatchFileSnapshot(join(SCREENS, `${name}.txt`));
  return result;
}

/** Compares texts with `test/screens/NAME.txt`, each below its title. */
export async function expectTexts(name: string, texts: readonly (readonly [title: string, text: string])[]) {
  const parts = texts.map(([title, text]) => `${title}\n${text.trimEnd().replace(/^(?=.)/gm, '  ')}\n`);
  await expect(lasting(parts.join('\n'))).toMatchFileSnapshot(join(SCREENS, `${name}.txt`));
}

/** Compares messages with `test/screens/NAME.txt`: each message once, above the cases that lead to it. */
export function expectMessages(name: string, cases: readonly (readonly [what: string, message: string])[]) {
  const byMessage = [...Map.groupBy(cases, ([, message]) => message)];
  return expectTexts(
    name,
    byMessage.map(([message, of]) => [message, of.map(([what]) => what).join('\n')]),
  );
}

/** Compares what commands print with `test/screens/NAME.txt`, each below its title and with its exit code. */
export function expectResults(name: string, results: readonly (readonly [title: string, CliResult])[]): Promise<void> {
  return expectTexts(
    name,
    results.map(([title, { code, shown }]) => [`${title} (exit code ${code})`, shown]),
  );
}

/** Replaces what differs from run to run: random ends of names, ports, processes and folders. */
function lasting(screen: string): string {
  return screen
    .replace(/(\d{8}T\d{6}Z)-[0-9a-f]{6}\b/g, '$1-1a2b3c')
    .replace(/127\.0\.0\.1:\d{4,}/g, '127.0.0.1:PORT')
    .replace(/\bprocess \d+ on [\w.-]*\w/g, 'process 1 on HOST')
    .replaceAll(new RegExp(`${tmpdir()}/[\\w-]+`, 'g'), 'FOLDER')
    .replaceAll(PROJECT, 'PROJECT');
}

/** Makes standard output a terminal until the end of the test. */
function useTerminal(): void {
  const { isTTY, columns } = process.stdout;
  Object.assign(process.stdout, { isTTY: true, columns: 80 });
  onTestFinished(() => void Object.assign(process.stdout, { isTTY, columns }));
}

function configurationFile(endpoint: string): string {
  const lines = ['region = us-east-1', `endpoint_url = ${endpoint}`];
  const credentials = ['aws_access_key_id = 000000000000', 'aws_secret_access_key = local'];
  return join(tree({ config: ['[default]', ...lines, ...credentials, ''].join('\n') }), 'config');
}
