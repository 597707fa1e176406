import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { CRM_EXPORT } from '../../core/commands.ts';
import { type CliResult, runCliWith } from '../cli/support/run-cli.ts';
import { tree } from '../lib/support/files.ts';

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
  const shown = result.shown.replace(/(\d{8}T\d{6}Z)-[0-9a-f]{6}\b/g, '$1-1a2b3c');
  const screen = `$ ${CRM_EXPORT} ${args.join(' ')}\n${shown}`;
  await expect(screen).toMatchFileSnapshot(join(SCREENS, `${name}.txt`));
  return result;
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
