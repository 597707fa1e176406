import { Command, CommanderError, InvalidArgumentError } from 'commander';
import { type Sandbox, startSandbox } from './sandbox.ts';
import type { SandboxOptions } from './sandbox-settings.ts';

const WRONG_OPTION = 2;
const PORT_TAKEN = 3;
const MAX_ROWS = 100_000;
const MAX_BYTES = 2 ** 40;

function number(from: number, to: number, whole: boolean): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (text.trim() !== '' && value >= from && value <= to && (!whole || Number.isInteger(value))) return value;
    throw new InvalidArgumentError(`It must be a ${whole ? 'whole ' : ''}number from ${from} to ${to}.`);
  };
}

function readOptions(argv: string[]): SandboxOptions {
  const seconds = number(0, 10_000_000, false);
  const program = new Command('npm run sandbox --')
    .description('A CRM on this computer that speaks the whole interface document.')
    .option('--port <number>', 'port on 127.0.0.1; 0 = any free one', number(0, 65_535, true), 4010)
    .option('--rows <number>', 'records of each kind', number(0, MAX_ROWS, true))
    .option('--bytes <number>', 'size of each file instead, generated while it is sent', number(1, MAX_BYTES, true))
    .option('--job-seconds <number>', 'time that an export takes', seconds)
    .option('--url-seconds <number>', 'lifetime of a file URL', seconds)
    .option('--access-token-seconds <number>', 'lifetime of an access token', seconds)
    .option('--client-id <id>', 'id of the OAuth client')
    .option('--client-secret <secret>', 'secret of the OAuth client')
    .configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, '')) })
    .exitOverride();
  return program.parse(argv).opts<SandboxOptions>();
}

function greeting({ url, baseUrl, authUrl, clientId, clientSecret }: Sandbox): string {
  return `The sandbox CRM runs. Ctrl+C stops it.

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

/** Runs the sandbox until SIGINT or SIGTERM. Exit codes: 0 stopped, 2 a wrong option, 3 the port is taken. */
async function main(argv: string[]): Promise<void> {
  const options = readOptions(argv);
  const sandbox = await startSandbox(options);
  process.stdout.write(greeting(sandbox));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void sandbox.close());
}

function report(error: unknown): void {
  if (error instanceof CommanderError) {
    process.exitCode = error.exitCode === 0 ? 0 : WRONG_OPTION;
  } else if (error instanceof Error && 'code' in error && ['EADDRINUSE', 'EACCES'].includes(String(error.code))) {
    process.stderr.write(`The port is taken or not allowed; choose another one with --port, or --port 0 for any.\n`);
    process.exitCode = PORT_TAKEN;
  } else {
    throw error;
  }
}

await main(process.argv).catch(report);
