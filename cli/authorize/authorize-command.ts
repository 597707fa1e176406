import type { Command } from 'commander';
import type { Deployed } from '../../core/config/deployed.ts';
import { ENTITIES, type Entity } from '../../core/config/entities.ts';
import { createGrantStore, newestOf } from '../../core/oauth/grant-store.ts';
import { createLedger } from '../../core/oauth/ledger.ts';
import { isUntried } from '../../core/oauth/token-freshness.ts';
import { followToTheEnd } from '../runs/follow.ts';
import { startNamed } from '../runs/start.ts';
import { commandFor, entityArgument, withExamples } from '../support/command-options.ts';
import { deployedConfiguration } from '../support/deployed-configuration.ts';
import { CommandError, RUN_FAILED } from '../support/exit.ts';
import { printErr, printOut } from '../support/print.ts';
import { connect, type Target, type TargetOptions } from '../support/target.ts';
import { untilInterrupted } from '../support/until-interrupted.ts';
import { type Authorized, authorize } from './authorize.ts';
import { consentBy, type PersonOptions, withPersonOptions } from './person-options.ts';

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

/** By the real path: with a run a person sees now what else the night would show. */
async function firstRun(target: Target, entity: Entity, done: Authorized, options: AuthorizeCommandOptions) {
  for (const line of linesOf(done)) printOut(line);
  const run = await startNamed(target, entity, {}, options);
  await followToTheEnd(target, [run], options);
  const { secrets, dynamo, TokensSecretId, LedgerTableName } = target;
  const { newest } = await newestOf(createGrantStore(secrets, TokensSecretId));
  if (!isUntried(newest.tokens)) return;
  // Where the CRM keeps the refresh token, a run goes on although nothing was stored.
  if (await createLedger(dynamo, LedgerTableName, TokensSecretId).read(newest.versionId)) {
    const what = 'The functions refreshed the grant, but could not store it';
    throw new CommandError(`${what}: see what verify says of the rights of their roles.`, RUN_FAILED);
  }
  // A container keeps a token that lives, also where a person has authorized since.
  const again = commandFor(`start ${entity} --wait`, options);
  printErr(
    `That run did not refresh the grant, for its functions still had a token of before. When that has ended, in an hour or so, start another: ${again}`,
  );
}

/** Any entity shows it; one that the nights export is the least surprise. */
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
