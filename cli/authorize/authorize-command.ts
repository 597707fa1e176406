import type { Command } from 'commander';
import { withExamples } from '../support/command-options.ts';
import { deployedConfiguration } from '../support/deployed-configuration.ts';
import { printErr, printOut } from '../support/print.ts';
import { connect, type TargetOptions } from '../support/target.ts';
import { untilInterrupted } from '../support/until-interrupted.ts';
import { type Authorized, authorize } from './authorize.ts';
import { consentBy, type PersonOptions, withPersonOptions } from './person-options.ts';

interface AuthorizeCommandOptions extends TargetOptions, PersonOptions {
  newSecret?: boolean;
  replace?: boolean;
}

/** Lets a person consent in a browser, and stores the grant. */
export function addAuthorize(command: Command): void {
  command
    .option(
      '--client-id <id>',
      'the OAuth client; its secret comes from CRM_CLIENT_SECRET, or is asked for. Default: the stored client, with its secret',
    )
    .option('--new-secret', 'the client has another secret now: it comes from CRM_CLIENT_SECRET, or is asked for')
    .option('--replace', 'store a grant with fewer scopes than the deployment needs, too, over one that works');
  withPersonOptions(command)
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
  const tell = options.json ? printErr : printOut;
  const settings = {
    ...consentBy(options),
    crm,
    configuration: `config/${options.deployment}.json`,
    newSecret: options.newSecret,
    replace: options.replace,
    onWait: () => tell('Something else is using the grant right now; waiting for it, up to a minute.'),
  };
  const done = await untilInterrupted('Interrupted. Nothing was stored.', (signal) =>
    authorize(target, { ...settings, signal }),
  );
  for (const line of options.json ? [JSON.stringify({ ok: true, ...done })] : linesOf(done)) printOut(line);
}

function linesOf({ secret, versionId, scope, expiresAt, notes }: Authorized): string[] {
  const until = expiresAt ?? 'an unknown time';
  return [
    ...notes.map((note) => `Note: ${note}`),
    `Authorized. Stored in ${secret}; VersionId: ${versionId}; scopes: ${scope || 'none of those requested'}; the access token lives until ${until}; refresh token: yes.`,
  ];
}
