import { spawn } from 'node:child_process';
import { ENTITIES, type Entity } from '../../core/config/entities.ts';
import { isUntried } from '../../core/oauth/grant.ts';
import { grantPlaces } from '../deployment-state.ts';
import { followToTheEnd } from '../runs/follow.ts';
import { startNamed } from '../runs/start-run.ts';
import { REWRITE } from '../support/aws-error.ts';
import { commandFor } from '../support/command-options.ts';
import { askHidden, type Input } from '../support/confirm.ts';
import { deployedConfiguration } from '../support/deployed-configuration.ts';
import { CommandError, RUN_FAILED } from '../support/exit.ts';
import { printErr, printOut, writeText } from '../support/print.ts';
import { connect, type Target, type TargetOptions } from '../support/target.ts';
import { untilInterrupted } from '../support/until-interrupted.ts';
import { type AuthorizeOptions, authorize } from './authorize-flow.ts';
import { standingGrant } from './store-grant.ts';

interface CommandOptions
  extends TargetOptions,
    Pick<AuthorizeOptions, 'clientId' | 'newSecret' | 'replace' | 'port' | 'redirectUri'> {
  run?: Entity;
  timeout: number;
  paste?: boolean;
  browser: boolean;
}

/** `authorize`: lets a person consent in a browser, and stores the grant. */
export async function authorizeAndPrint(options: CommandOptions): Promise<void> {
  const target = await connect(options);
  const { crm, entities } = await deployedConfiguration(target);
  // An emitted event, not a sent signal: the command then handles Ctrl-C before the prompt ends with an error.
  const interrupt = () => void process.emit('SIGINT');
  const input: Input = { stream: process.stdin, print: (text) => writeText(process.stderr, text), interrupt };
  const person = process.stdin.isTTY ? input : undefined;
  const paste = options.paste ? input : person;
  const done = await untilInterrupted('Interrupted. Nothing was stored.', (signal) =>
    authorize(target, {
      ...options,
      crm,
      configuration: `config/${options.deployment}.json`,
      clientSecret: process.env.CRM_CLIENT_SECRET,
      askSecret: person && ((id) => askHidden(person, `Secret of the OAuth client ${id} (not shown): `)),
      timeoutSeconds: options.timeout,
      paste,
      onUrl: (url, redirectUri, page) => show(url, redirectUri, page, { ...options, pasting: paste !== undefined }),
      onWait: () => printOut('The grant is being refreshed or replaced. Waiting for up to a minute.'),
      signal,
    }),
  );
  for (const note of done.notes) printOut(`Note: ${note}`);
  const { secret, versionId, scope, expiresAt } = done;
  printOut(
    `Authorized. Stored in ${secret}; VersionId: ${versionId}; scopes: ${scope || 'none of those requested'}; the access token expires at ${expiresAt ?? 'an unknown time'}; refresh token: yes.`,
  );
  if (options.run) return firstRun(target, options.run, options);
  // An enabled entity, because the nightly export fetches it anyway.
  const first = ENTITIES.find((entity) => entities[entity].enabled) ?? ENTITIES[0];
  const next = commandFor(`start ${first} --wait`, options);
  printOut(`Next, while you can consent again, start a run. It refreshes this grant as a nightly run does: ${next}`);
}

function show(
  url: string,
  redirectUri: string,
  page: string | undefined,
  options: CommandOptions & { pasting: boolean },
) {
  printOut(`Open: ${url}`);
  if (page) {
    const port = new URL(redirectUri).port || 80;
    printOut(`Waiting for the browser at ${redirectUri}, ${options.timeout} seconds at most.`);
    printOut(
      `Is the browser on another machine? There: ssh -L ${port}:127.0.0.1:${port} THIS-MACHINE, then open the address.`,
    );
  }
  if (options.pasting) {
    printOut(
      'Or paste here the address that the browser was redirected to at the end, or the code in it (it is not shown), and press Enter.',
    );
  }
  if (page && options.browser && process.stdout.isTTY) openBrowser(page);
}

/** Opens the system's browser. If none opens, the user still has the printed address. */
function openBrowser(page: string): void {
  const openers: Partial<Record<NodeJS.Platform, string>> = { darwin: 'open', win32: 'explorer' };
  spawn(openers[process.platform] ?? 'xdg-open', [page], { stdio: 'ignore', detached: true })
    .on('error', () => undefined)
    .unref();
}

/** Starts a run right away, so that a problem with the new grant does not show first at night. */
async function firstRun(target: Target, entity: Entity, options: CommandOptions): Promise<void> {
  const started = await startNamed(target, entity, {}, options);
  await followToTheEnd(target, [started], options);
  const places = grantPlaces(target);
  const { tokenSet } = await standingGrant(places);
  if (!tokenSet || !isUntried(tokenSet.tokens)) return;
  // If the CRM does not rotate refresh tokens, a run succeeds even if its function could not store the new tokens.
  if (await places.ledger.read(tokenSet.versionId)) {
    const what = 'The functions refreshed the grant, but could not store it';
    throw new CommandError(`${what}: ${REWRITE}.`, RUN_FAILED);
  }
  // A running function keeps its access token until that expires, even after a new authorization.
  const again = commandFor(`start ${entity} --wait`, options);
  printErr(
    `The run did not refresh the grant, because its functions still had a valid access token. After it expires, in about an hour, start another run: ${again}`,
  );
}
