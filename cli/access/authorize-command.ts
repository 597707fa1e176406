import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Command, Option } from 'commander';
import type { Deployed } from '../../core/config/deployed.ts';
import { ENTITIES, type Entity } from '../../core/config/entities.ts';
import { createGrantStore, isUntried, newestOf } from '../../core/oauth/grant.ts';
import { createLedger } from '../../core/oauth/ledger.ts';
import { followToTheEnd } from '../runs/follow.ts';
import { startNamed } from '../runs/start-run.ts';
import { commandFor, entityArgument, numberArgument, withExamples } from '../support/command-options.ts';
import { askHidden, type Input } from '../support/confirm.ts';
import { deployedConfiguration } from '../support/deployed-configuration.ts';
import { CommandError, RUN_FAILED } from '../support/exit.ts';
import { printErr, printOut, writeText } from '../support/print.ts';
import { connect, type Target, type TargetOptions } from '../support/target.ts';
import { untilInterrupted } from '../support/until-interrupted.ts';
import { type Authorized, authorize } from './authorize-flow.ts';
import type { Waiting } from './consent.ts';

interface AuthorizeCommandOptions extends TargetOptions, PersonOptions {
  newSecret?: boolean;
  replace?: boolean;
  run?: Entity;
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
      '--run <entity>',
      'then start a run of this entity, which refreshes the grant, and follow it to its end',
      entityArgument,
    );
  withPersonOptions(command).action(run);
  withExamples(command, {
    'authorize --deployment prod --client-id 1a2b3c --port 8400': 'the first time; asks for the secret of the client',
    'authorize --deployment prod --port 8400 --run leads':
      'again, with the stored client, and shows that a night can refresh the grant',
    'authorize --deployment prod --port 8400': 'again, with the stored client',
    'authorize --deployment prod --port 8400 --new-secret': 'after the CRM gave the client a new secret; asks for it',
    'authorize --deployment prod --redirect-uri https://crm.example/back --paste': 'no browser on this machine',
  });
}

async function run(options: AuthorizeCommandOptions): Promise<void> {
  const target = await connect(options);
  const { crm, entities } = await deployedConfiguration(target);
  const settings = {
    ...consentBy(options),
    crm,
    configuration: `config/${options.deployment}.json`,
    newSecret: options.newSecret,
    replace: options.replace,
    onWait: () => printOut('Something else is using the grant right now; waiting for it, up to a minute.'),
  };
  const done = await untilInterrupted('Interrupted. Nothing was stored.', (signal) =>
    authorize(target, { ...settings, signal }),
  );
  if (options.run) return firstRun(target, options.run, done, options);
  const next = commandFor(`start ${firstOf(entities)} --wait`, options);
  for (const line of linesOf(done)) printOut(line);
  printOut(`Next, while you can consent again, a run, which refreshes this grant as the night will: ${next}`);
}

/** Starts a run right away, so that a problem with the new grant does not show first at night. */
async function firstRun(target: Target, entity: Entity, done: Authorized, options: AuthorizeCommandOptions) {
  for (const line of linesOf(done)) printOut(line);
  const run = await startNamed(target, entity, {}, options);
  await followToTheEnd(target, [run], options);
  const { secrets, dynamo, TokensSecretId, LedgerTableName } = target;
  const { newest } = await newestOf(createGrantStore(secrets, TokensSecretId));
  if (!isUntried(newest.tokens)) return;
  // If the CRM does not rotate refresh tokens, a run succeeds even if its function could not store the new tokens.
  if (await createLedger(dynamo, LedgerTableName, TokensSecretId).read(newest.versionId)) {
    const what = 'The functions refreshed the grant, but could not store it';
    throw new CommandError(`${what}: see what verify says of the rights of their roles.`, RUN_FAILED);
  }
  // A running function keeps its access token until that expires, even after a new authorization.
  const again = commandFor(`start ${entity} --wait`, options);
  printErr(
    `That run did not refresh the grant, for its functions still had a token of before. When that has ended, in an hour or so, start another: ${again}`,
  );
}

/** The entity for the test run: an enabled one if there is one, because the nightly export fetches it anyway. */
function firstOf(entities: Deployed['entities']): Entity {
  return ENTITIES.find((entity) => entities[entity].enabled) ?? ENTITIES[0];
}

function linesOf({ secret, versionId, scope, expiresAt, notes }: Authorized): string[] {
  const until = expiresAt ?? 'an unknown time';
  return [
    ...notes.map((note) => `Note: ${note}`),
    `Authorized. Stored in ${secret}; VersionId: ${versionId}; scopes: ${scope || 'none of those requested'}; the access token lives until ${until}; refresh token: yes.`,
  ];
}

/** Options for how a person consents. */
interface PersonOptions {
  clientId?: string;
  port?: number;
  redirectUri?: string;
  timeout: number;
  paste?: boolean;
  browser: boolean;
  json?: boolean;
}

/** Adds the options for how a person consents, except the one for the client. */
function withPersonOptions(command: Command): Command {
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

/** The settings of the consent, from the options of the command. */
function consentBy(options: PersonOptions) {
  // An emitted event, not a sent signal: the command then handles Ctrl-C before the prompt ends with an error.
  const interrupt = () => void process.emit('SIGINT');
  const input: Input = { stream: process.stdin, print: (text) => writeText(process.stderr, text), interrupt };
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

const OPENERS: Partial<Record<NodeJS.Platform, [command: string, ...args: string[]]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
};

/** Whether a person may be using this machine: never in tests, in CI or in a script. */
export function mayOpenBrowser(options: { wanted: boolean; isTTY: boolean; env: NodeJS.ProcessEnv }): boolean {
  const { wanted, isTTY, env } = options;
  return wanted && isTTY && !env.CI && !env.VITEST;
}

/**
 * Opens the system's browser. Every user of this machine can read the arguments of its processes, so the program gets
 * a page on loopback that redirects to the address. If no browser opens, the user still has the printed address.
 * @param opener by default that of the platform
 * @returns whether a program was started
 */
export async function openBrowser(
  url: string,
  opener: [command: string, ...args: string[]] = OPENERS[process.platform] ?? ['xdg-open'],
): Promise<boolean> {
  const leading = await leadingTo(url).catch(() => undefined);
  if (!leading) return false;
  const [command, ...args] = opener;
  const child = spawn(command, [...args, leading.page], { stdio: 'ignore', detached: true });
  child.unref();
  try {
    await once(child, 'spawn');
    return true;
  } catch {
    leading.server.close();
    return false;
  }
}

/** A redirect page that answers once: another user who finds its address in the process list gets nothing. */
async function leadingTo(url: string): Promise<{ page: string; server: Server }> {
  const path = `/${randomUUID()}`;
  const headers = { location: url, 'cache-control': 'no-store', 'referrer-policy': 'no-referrer', connection: 'close' };
  const server = createServer((request, response) => {
    if (request.method !== 'GET' || request.url !== path) {
      return void response.writeHead(404, { connection: 'close' }).end();
    }
    response.writeHead(302, headers).end();
    server.close();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  // The server must not keep the process running if the browser never comes.
  server.unref();
  const { port } = server.address() as AddressInfo;
  return { page: `http://127.0.0.1:${port}${path}`, server };
}
