import { Command, InvalidArgumentError } from 'commander';
import * as z from 'zod';
import { ENTITIES, type Entity, entitySchema } from '../core/config/entities.ts';
import { suggestion } from '../core/suggestion.ts';
import { ConfigurationError } from './processes/environment-error.ts';

/** A CRM to export from instead of the sandbox. */
export interface OtherCrm {
  url: string;
  authUrl: string;
  clientId: string;
  clientSecret: string;
  /** Hosts of its files, where they lie elsewhere than the interface. */
  fileHosts?: string[];
}

export interface StartOptions {
  entities: Entity[];
  keep: boolean;
  json: boolean;
  crm?: OtherCrm;
  /** A local cloud that already runs. */
  endpointUrl?: string;
  /** Whether customers can be updated, for which a scope more is requested. */
  updates: boolean;
  /** Whether files become tables. */
  tables: boolean;
  /** Whether another night follows, in which a file is quarantined and released. */
  secondNight: boolean;
  /** First and largest wait between two looks at the status. */
  pollSeconds?: number;
}

const givenSchema = z.object({
  entity: z.array(entitySchema).default([...ENTITIES]),
  keep: z.boolean().default(false),
  json: z.boolean().default(false),
  crmUrl: z.string().optional(),
  authUrl: z.string().optional(),
  clientId: z.string().optional(),
  fileHost: z.array(z.string()).optional(),
  endpointUrl: z.string().optional(),
  updates: z.boolean().default(false),
  secondNight: z.boolean().default(false),
  tables: z.boolean().default(false),
  pollSeconds: z.number().optional(),
});

/**
 * The options of `npm start`.
 * @throws CommanderError for usage, ConfigurationError for options that do not fit each other (both exit code 2)
 */
export function parseOptions(args: string[], env: NodeJS.ProcessEnv): StartOptions {
  const program = new Command('npm start --')
    .description('Runs the nightly export on this machine: a local cloud, a sandbox CRM, the very same stack.')
    .option('--entity <name>', `only this entity, repeatable: ${ENTITIES.join(', ')}`, entityOption)
    .option('--keep', 'leave everything running until interrupted, and print how to use it')
    .option('--json', 'standard output is exactly one JSON document; all else goes to standard error')
    .option(
      '--crm-url <url>',
      'another CRM instead of the sandbox (with --auth-url, --client-id, CRM_CLIENT_SECRET)',
      address,
    )
    .option('--auth-url <url>', 'the address before /authorize and /oauth/token', address)
    .option('--client-id <id>', 'the OAuth client; its secret comes from CRM_CLIENT_SECRET')
    .option(
      '--file-host <host>',
      'hosts of its files, where they are not that of --crm-url',
      (host, before: string[] = []) => [...before, host],
    )
    .option('--updates', 'customer updates with --crm-url too: requests the scope customers:update')
    .option(
      '--second-night',
      'another night, in which most meetings are gone: their file is quarantined, then released',
    )
    .option('--tables', 'makes a Parquet table of every file of leads and customers, with a hashed column')
    .option('--endpoint-url <url>', 'a local cloud that already runs, instead of MiniStack', loopback)
    .option('--poll-seconds <n>', 'first and largest wait between two looks at the status', seconds)
    .exitOverride()
    .showHelpAfterError('Try npm start -- --help.')
    .parse(args, { from: 'user' });
  const given = givenSchema.parse(program.opts());
  const { entity: entities, keep, json, endpointUrl, pollSeconds, secondNight, tables } = given;
  const crm = otherCrm(given, env.CRM_CLIENT_SECRET);
  if (tables && (crm || !entities.includes('customers')))
    throw new ConfigurationError(
      '--tables needs the sandbox and its customers: leave out --crm-url, name --entity customers.',
    );
  // Updates widen the scopes, which matters for a real CRM.
  const updates = given.updates || !crm;
  if (secondNight && (crm || !entities.includes('meetings')))
    throw new ConfigurationError(
      '--second-night needs the sandbox and its meetings: leave out --crm-url, name --entity meetings.',
    );
  const unique = [...new Set(entities)];
  return { entities: unique, keep, json, endpointUrl, pollSeconds, secondNight, tables, updates, crm };
}

function otherCrm(given: z.infer<typeof givenSchema>, clientSecret: string | undefined): OtherCrm | undefined {
  const { crmUrl: url, authUrl, clientId, fileHost: fileHosts } = given;
  const parts = { '--crm-url': url, '--auth-url': authUrl, '--client-id': clientId };
  if (!url && !authUrl && !clientId) return undefined;
  const missing = Object.entries({ ...parts, CRM_CLIENT_SECRET: clientSecret }).filter(([, value]) => !value);
  if (url && authUrl && clientId && clientSecret) return { url, authUrl, clientId, clientSecret, fileHosts };
  const names = missing.map(([name]) => (name.startsWith('-') ? name : `the environment variable ${name}`));
  throw new ConfigurationError(`Another CRM needs its addresses and its client: ${names.join(', ')} is missing.`);
}

function entityOption(text: string, before: Entity[] = []): Entity[] {
  const entity = entitySchema.safeParse(text);
  if (entity.success) return [...before, entity.data];
  throw new InvalidArgumentError(
    `There is no entity "${text}"${suggestion(text, ENTITIES)}; there are ${ENTITIES.join(', ')}.`,
  );
}

function address(text: string): string {
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return text.replace(/\/+$/, '');
  throw new InvalidArgumentError('An address begins with http:// or https://.');
}

/** The stack is deployed with invented credentials and a local configuration: it must not get near an account. */
function loopback(text: string): string {
  const url = address(text);
  if (/^(127(\.\d{1,3}){3}|localhost|\[::1\])$/.test(new URL(url).hostname)) {
    // S3 clients put the bucket in front of the name, and bucket.localhost is not found everywhere.
    return url.replace('//localhost', '//127.0.0.1');
  }
  throw new InvalidArgumentError('A local cloud is at a loopback address such as http://127.0.0.1:4566.');
}

function seconds(text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 1 && value <= 3600) return value;
  throw new InvalidArgumentError('Whole seconds from 1 to 3600.');
}
