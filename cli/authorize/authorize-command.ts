import { type Command, Option } from 'commander';
import { numberArgument, withExamples } from '../support/command-options.ts';
import { deployedConfiguration } from '../support/deployed-configuration.ts';
import { askHidden, type Input } from '../support/hidden-input.ts';
import { printErr, printOut } from '../support/print.ts';
import { connect, type TargetOptions } from '../support/target.ts';
import { untilInterrupted } from '../support/until-interrupted.ts';
import { type Authorized, authorize } from './authorize.ts';
import type { Waiting } from './consent.ts';
import { mayOpenBrowser, openBrowser } from './open-browser.ts';

interface AuthorizeCommandOptions extends TargetOptions {
  clientId?: string;
  newSecret?: boolean;
  replace?: boolean;
  port?: number;
  redirectUri?: string;
  timeout: number;
  paste?: boolean;
  browser: boolean;
  json?: boolean;
}

/** Lets a person consent in a browser, and stores the grant. */
export function addAuthorize(command: Command): void {
  command
    .option(
      '--client-id <id>',
      'the OAuth client; its secret comes from CRM_CLIENT_SECRET, or is asked for. Default: the stored client, with its secret',
    )
    .option('--new-secret', 'the client has another secret now: it comes from CRM_CLIENT_SECRET, or is asked for')
    .option('--replace', 'store a grant with fewer scopes than the deployment needs, too, over one that works')
    .option(
      '--port <number>',
      'port of the callback on 127.0.0.1; default: any free',
      numberArgument('A port is a number from 0 to 65535.', 0, 65_535),
    )
    .addOption(
      new Option(
        '--redirect-uri <uri>',
        'the redirect URI exactly as registered, e.g. http://localhost:8400/callback',
      ).conflicts('port'),
    )
    .option(
      '--timeout <seconds>',
      'how long to wait for the person',
      numberArgument('A time is a number of seconds from 1 to 86400.', 1, 86_400),
      300,
    )
    .option('--paste', 'read the redirect address or the code from standard input; default in a terminal')
    .option('--no-browser', 'only print the address')
    .option('--json', 'one JSON document on standard output, all else on standard error')
    .action(run);
  withExamples(command, {
    'authorize --deployment prod --client-id 1a2b3c --port 8400': 'the first time; asks for the secret of the client',
    'authorize --deployment prod --port 8400': 'again, with the stored client',
    'authorize --deployment prod --port 8400 --new-secret': 'after the CRM gave the client a new secret; asks for it',
    'authorize --deployment prod --redirect-uri https://crm.example/back --paste': 'no browser on this machine',
  });
}

async function run(options: AuthorizeCommandOptions): Promise<void> {
  const target = await connect(options);
  const { crm } = await deployedConfiguration(target);
  // Emitted, not sent: the command knows of Ctrl-C before the question that it ends.
  const interrupt = () => void process.emit('SIGINT');
  const input: Input = { stream: process.stdin, print: (text) => process.stderr.write(text), interrupt };
  const person = process.stdin.isTTY ? input : undefined;
  const paste = options.paste ? input : person;
  const tell = options.json ? printErr : printOut;
  const settings = {
    crm,
    configuration: `config/${options.deployment}.json`,
    clientId: options.clientId,
    clientSecret: process.env.CRM_CLIENT_SECRET,
    newSecret: options.newSecret,
    replace: options.replace,
    askSecret:
      person && ((clientId: string) => askHidden(person, `Secret of the OAuth client ${clientId} (not shown): `)),
    port: options.port,
    redirectUri: options.redirectUri,
    timeoutSeconds: options.timeout,
    paste,
    onUrl: (url: string, waiting: Waiting) => show(url, waiting, options, paste !== undefined, tell),
    onWait: () => tell('Something else is using the grant right now; waiting for it, up to a minute.'),
  };
  const done = await untilInterrupted('Interrupted. Nothing was stored.', (signal) =>
    authorize(target, { ...settings, signal }),
  );
  for (const line of options.json ? [JSON.stringify({ ok: true, ...done })] : linesOf(done)) printOut(line);
}

function show(
  url: string,
  { redirectUri, listening }: Waiting,
  { browser, timeout }: AuthorizeCommandOptions,
  pasting: boolean,
  tell: (line: string) => void,
): void {
  tell(`Open: ${url}`);
  if (listening) {
    const port = new URL(redirectUri).port || 80;
    tell(`Waiting for the browser at ${redirectUri}, ${timeout} seconds at most.`);
    tell(
      `Is the browser on another machine? There: ssh -L ${port}:127.0.0.1:${port} THIS-MACHINE, then open the address.`,
    );
  }
  if (pasting) {
    tell(
      'Or paste here the address to which the browser was sent at the end, or the code in it (it is not shown), and press Enter.',
    );
  } else if (!listening) {
    tell('Nothing listens at the redirect URI.');
  }
  if (mayOpenBrowser({ wanted: browser, isTTY: process.stdout.isTTY, env: process.env })) void openBrowser(url);
}

function linesOf({ secret, versionId, scope, expiresAt, notes }: Authorized): string[] {
  const until = expiresAt ?? 'an unknown time';
  return [
    ...notes.map((note) => `Note: ${note}`),
    `Authorized. Stored in ${secret}; VersionId: ${versionId}; scopes: ${scope || 'none of those requested'}; the access token lives until ${until}; refresh token: yes.`,
  ];
}
