import { type Command, Option } from 'commander';
import { numberArgument } from '../support/command-options.ts';
import { askHidden, type Input } from '../support/hidden-input.ts';
import { printErr, printOut } from '../support/print.ts';
import type { Waiting } from './consent.ts';
import { mayOpenBrowser, openBrowser } from './open-browser.ts';

/** How a command lets a person consent. */
export interface PersonOptions {
  clientId?: string;
  port?: number;
  redirectUri?: string;
  timeout: number;
  paste?: boolean;
  browser: boolean;
  json?: boolean;
}

/** Adds the options by which a person consents, but for that of the client. */
export function withPersonOptions(command: Command): Command {
  return command
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
    .option('--no-browser', 'only print the address');
}

/** What these options say to whoever asks for the consent. */
export function consentBy(options: PersonOptions) {
  // Emitted, not sent: the command knows of Ctrl-C before the question that it ends.
  const interrupt = () => void process.emit('SIGINT');
  const input: Input = { stream: process.stdin, print: (text) => process.stderr.write(text), interrupt };
  const person = process.stdin.isTTY ? input : undefined;
  const paste = options.paste ? input : person;
  return {
    clientId: options.clientId,
    clientSecret: process.env.CRM_CLIENT_SECRET,
    askSecret:
      person && ((clientId: string) => askHidden(person, `Secret of the OAuth client ${clientId} (not shown): `)),
    port: options.port,
    redirectUri: options.redirectUri,
    timeoutSeconds: options.timeout,
    paste,
    onUrl: (url: string, waiting: Waiting) => show(url, waiting, options, paste !== undefined),
  };
}

function show(
  url: string,
  { redirectUri, listening }: Waiting,
  { browser, timeout, json }: PersonOptions,
  pasting: boolean,
): void {
  const tell = json ? printErr : printOut;
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
