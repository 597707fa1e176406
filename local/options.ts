import { Command, InvalidArgumentError, Option } from 'commander';
import { callbackOf } from '../cli/access/consent.ts';
import { entitiesArgument, numberArgument } from '../cli/support/command-options.ts';
import { ConfigurationError, configurationProblems, isLoopback } from '../core/config/configuration.ts';
import { ENTITIES, type Entity } from '../core/config/entities.ts';

/** A CRM to export from instead of the sandbox. */
export interface OtherCrm {
  baseUrl: string;
  authUrl: string;
  clientId: string;
  clientSecret: string;
  /** The redirect address that the client has registered. Default: any free port of 127.0.0.1. */
  callback?: { port?: number | undefined; redirectUri?: string | undefined };
}

/** The help of the options, below, says what each means. */
export interface StartOptions {
  entities: Entity[];
  crm?: OtherCrm | undefined;
  keep?: boolean;
  json?: boolean;
  endpointUrl?: string;
  updates?: boolean;
  tables?: boolean;
  secondNight?: boolean;
  pollSeconds?: number;
}

type Parsed = Omit<StartOptions, 'entities' | 'crm'> & { entity?: Entity[]; port?: number } & {
  [Name in 'crmUrl' | 'authUrl' | 'clientId' | 'redirectUri']?: string;
};

/**
 * Parses the options of `npm start`.
 * @throws CommanderError for usage, ConfigurationError for options that do not fit each other (both exit code 2)
 */
export function parseOptions(args: string[], env: NodeJS.ProcessEnv): StartOptions {
  const program = new Command('npm start --')
    .description('Runs the nightly export on this machine: the same stack as on AWS, configured by config/local.json.')
    .option('--entity <name>', `only this entity, repeatable: ${ENTITIES.join(', ')}`, entitiesArgument)
    .option('--keep', 'leave everything running until interrupted, and print how to use it')
    .option('--json', 'standard output is exactly one JSON document; all else goes to standard error')
    .option('--crm-url <url>', 'another CRM (with --auth-url, --client-id, CRM_CLIENT_SECRET)', address)
    .option('--auth-url <url>', 'the address before /authorize and /oauth/token', address)
    .option('--client-id <id>', 'the OAuth client; its secret comes from CRM_CLIENT_SECRET')
    .option('--port <n>', 'the fixed port of the redirect address of the client: http://127.0.0.1:PORT/callback', port)
    .addOption(new Option('--redirect-uri <uri>', 'another redirect address of the client').conflicts('port'))
    .option('--updates', 'enable customer updates, with the scope customers:update; always enabled with the sandbox')
    .option('--second-night', 'run another night: one file is quarantined and released, and customers have changed')
    .option('--tables', 'make a Parquet table of every file')
    .option('--endpoint-url <url>', 'a local cloud that already runs, instead of MiniStack', loopback)
    .option('--poll-seconds <n>', 'seconds between two status checks, unless an entity has its own setting', seconds)
    .exitOverride()
    .showHelpAfterError('Try npm start -- --help.')
    .parse(args, { from: 'user' });
  const { entity: entities = [...ENTITIES], ...options } = program.opts<Parsed>();
  const { crmUrl, authUrl, clientId, port: fixed, redirectUri, ...settings } = options;
  const crm = otherCrm({ crmUrl, authUrl, clientId, port: fixed, redirectUri }, env.CRM_CLIENT_SECRET);
  if (settings.secondNight && (crm || !entities.includes('meetings')))
    throw new ConfigurationError(
      '--second-night needs meetings of the sandbox: leave out --crm-url, and include --entity meetings.',
    );
  return { ...settings, entities, crm };
}

/** @returns the CRM of the options; `undefined` without such options @throws ConfigurationError if a part is missing */
function otherCrm(named: Omit<Parsed, keyof StartOptions>, clientSecret: string | undefined): OtherCrm | undefined {
  if (Object.values(named).every((value) => value === undefined)) return undefined;
  const { crmUrl: baseUrl, authUrl, clientId, ...callback } = named;
  if (!baseUrl || !authUrl || !clientId || !clientSecret) {
    const secret = 'the environment variable CRM_CLIENT_SECRET';
    const parts = { '--crm-url': baseUrl, '--auth-url': authUrl, '--client-id': clientId, [secret]: clientSecret };
    const missing = Object.entries(parts).flatMap(([name, value]) => (value ? [] : [name]));
    throw new ConfigurationError(`Another CRM needs its addresses and its client. Missing: ${missing.join(', ')}.`);
  }
  const problems = configurationProblems({ local: true, crm: { baseUrl, authUrl } });
  if (problems.length > 0) throw new ConfigurationError(problems.join('\n'));
  if (callbackOf(callback).hosts.length === 0)
    throw new ConfigurationError('--redirect-uri must be an http address of this machine, where npm start listens.');
  return { baseUrl, authUrl, clientId, clientSecret, callback };
}

const seconds = numberArgument(1, 3600);
const port = numberArgument(1, 65_535);

function address(text: string): string {
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return text.replace(/\/+$/, '');
  throw new InvalidArgumentError('Use an address that starts with http:// or https://.');
}

/** Refuses an endpoint outside loopback: the stack has made-up credentials and must not reach a real account. */
function loopback(text: string): string {
  // S3 clients put the bucket in front of the host, and bucket.localhost does not resolve everywhere.
  if (isLoopback(text)) return address(text).replace('//localhost', '//127.0.0.1');
  throw new InvalidArgumentError('Use a loopback address such as http://127.0.0.1:4566.');
}
