import { expect, test } from 'vitest';
import { run } from '../support/running.ts';
import { runCli } from './support/run-cli.ts';

async function cli(args: string[], env: NodeJS.ProcessEnv = {}) {
  const command = run('cli/main.js', args, { AWS_ENDPOINT_URL: undefined, NO_COLOR: '1', ...env });
  return { code: await command.ended, stdout: command.stdout(), stderr: command.stderr() };
}

const local = ['--deployment', 'local'];

test('exits with 0 if the reader of standard output closes it early', async () => {
  const command = run('cli/main.js', ['start', '--help']);
  command.child.stdout?.destroy();
  expect({ code: await command.ended, stderr: command.stderr() }).toEqual({ code: 0, stderr: '' });
});

const wrong: [string, string[], RegExp][] = [
  ['no command', [], /^Usage: npx --no -- crm-export/],
  ['an unknown command', ['export'], /unknown command 'export'/],
  ['a typo in a command', ['folow'], /unknown command 'folow'\n\(Did you mean follow\?\)/],
  ['help for an unknown command', ['folow', '--help'], /^error: unknown command 'folow'\n\(Did you mean follow\?\)\n/],
  ['help before an unknown command', ['help', 'folow'], /^error: unknown command 'folow'\n\(Did you mean follow\?\)\n/],
  ['a typo in an option', ['start', 'leads', ...local, '--wiat'], /unknown option '--wiat'\n\(Did you mean --wait\?\)/],
  ['a port that is a word', ['authorize', ...local, '--port', ''], /A whole number from 0 to 65535/],
  ['an invalid time', ['authorize', ...local, '--timeout', '0'], /A whole number from 1 to 86400/],
  [
    'a port together with a redirect URI',
    ['authorize', ...local, '--port', '8400', '--redirect-uri', 'http://localhost:8400/x'],
    /'--redirect-uri <uri>' cannot be used with option '--port <number>'/,
  ],
  [
    'all deployments and one',
    ['status', '--all-deployments', ...local],
    /'--all-deployments' cannot be used with option/,
  ],
  ['an invalid port', ['authorize', ...local, '--port', '70000'], /A whole number from 0 to 65535/],
  [
    'a deployment without a configuration',
    ['plan', '--deployment', 'nope'],
    /^ConfigInvalid: test\/support\/config\/nope\.json does not exist; there are example, local$/m,
  ],
  [
    'an endpoint that is not an address',
    ['start', 'leads', ...local, '--endpoint-url', 'here'],
    /^The endpoint must be an address/,
  ],
];

test.for(wrong)('%s exits with 2 and one message', async ([, args, sentence]) => {
  const { code, stdout, stderr } = await runCli(...args);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toMatch(sentence);
  expect(stderr).not.toMatch(/^ +at /m);
});

test('the program exits with 2 and prints the usage error on standard error', async () => {
  const { code, stdout, stderr } = await cli(['folow']);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toMatch(/^error: unknown command 'folow'\n\(Did you mean follow\?\)\n/);
});
