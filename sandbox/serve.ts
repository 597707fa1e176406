import { once } from 'node:events';
import { Command } from 'commander';
import { numberArgument } from '../cli/support/command-options.ts';
import { endWith, untilInterrupted } from '../cli/support/until-interrupted.ts';
import { type Sandbox, startSandbox } from './sandbox.ts';
import type { SandboxOptions } from './sandbox-settings.ts';

function greeting({ url, baseUrl, authUrl, clientId, clientSecret }: Sandbox): string {
  return `The sandbox CRM is running. Ctrl-C stops it.

  base URL       ${baseUrl}
  auth URL       ${authUrl}
  client id      ${clientId}
  client secret  ${clientSecret}

Let the first two status reads of leads fail, see what the sandbox saw, and go back to normal:

  curl ${url}/_sandbox/faults --json '{"path":"status","entity":"leads","calls":[1,2],"answer":{"status":503}}'
  curl ${url}/_sandbox/ledger
  curl -X DELETE ${url}/_sandbox/faults

All faults: sandbox/README.md
`;
}

/** Runs the sandbox until SIGINT or SIGTERM. */
async function main(): Promise<void> {
  const program = new Command('npm run sandbox --')
    .description('Runs a CRM on this computer that implements the whole interface document.')
    .option('--port <number>', 'port on 127.0.0.1; 0 = any free one', numberArgument(0, 65_535), 4010)
    .option('--rows <number>', 'records of each kind', numberArgument(0, 100_000))
    .option('--bytes <number>', 'size of each file instead, generated while it is sent', numberArgument(1, 2 ** 40))
    .option('--job-seconds <number>', 'time that an export takes', numberArgument(0, 10_000_000))
    .option('--client-id <id>', 'id of the OAuth client')
    .option('--client-secret <secret>', 'secret of the OAuth client')
    .parse();
  const sandbox = await startSandbox(program.opts<SandboxOptions>()).catch((error: Error) =>
    program.error(`The sandbox does not start (${error.message}). Choose another --port, or --port 0 for any.`),
  );
  process.stdout.write(greeting(sandbox));
  await untilInterrupted('', (signal) => once(signal, 'abort'));
  await sandbox.close();
  endWith(0);
}

await main();
