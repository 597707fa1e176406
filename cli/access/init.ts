import { closeSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { type Command, InvalidArgumentError } from 'commander';
import * as config from '../../core/config/configuration.ts';
import { ENTITIES, type Entity } from '../../core/config/entities.ts';
import { commandFor, entitiesArgument, pathArgument, quoted, withExamples } from '../support/command-options.ts';
import { completed } from '../support/completed.ts';
import { CommandError, ENVIRONMENT, INTERRUPTED, USAGE } from '../support/exit.ts';
import { printErr, printOut } from '../support/print.ts';
import { printableLine } from '../support/text.ts';

/** A part of a configuration, with the name of its deployment. */
type Settings = Record<string, unknown> & { deployment?: string; crm?: object };

interface Question {
  flags: string;
  about: string;
  /** The answer that keeps the default of the configuration; without it a person has to answer. */
  normal?: string;
  /** The settings that any other answer adds to the configuration. @throws InvalidArgumentError */
  adds: (answer: string, before: Settings) => Settings;
}

/** Questions in the order in which they are asked; an option of the same name answers a question. */
const QUESTIONS: Record<string, Question> = {
  deployment: {
    flags: '--deployment <name>',
    about: 'name of the new deployment',
    adds: (name) => {
      const rule = 'A name starts with a letter and has at most 31 lower-case letters, digits and hyphens.';
      if (!config.isDeploymentName(name)) throw new InvalidArgumentError(rule);
      return { deployment: name };
    },
  },
  crmUrl: {
    flags: '--crm-url <url>',
    about: 'address of the CRM from which all paths of its interface start; ends in /api/v1',
    adds: (baseUrl, { crm }) => ({ crm: { ...crm, baseUrl } }),
  },
  authUrl: {
    flags: '--auth-url <url>',
    about: 'address of the CRM before /authorize and /oauth/token',
    adds: (authUrl, { crm }) => ({ crm: { ...crm, authUrl } }),
  },
  timeZone: {
    flags: '--time-zone <zone>',
    about: 'IANA time zone in which a run gets its date',
    normal: 'UTC',
    adds: (timeZone) => ({ timeZone }),
  },
  at: {
    flags: '--at <HH:MM>',
    about: 'start of the night in that time zone',
    normal: '01:00 UTC',
    adds: (at) => ({ nightly: { at } }),
  },
  entities: {
    flags: '--entities <names>',
    about: `entities to export every night, separated by commas: ${ENTITIES.join(', ')}`,
    normal: 'all',
    adds: (names) => {
      const wanted = listOf(names).reduce<Entity[]>((before, name) => entitiesArgument(name, before), []);
      if (wanted.length === 0) throw new InvalidArgumentError('Name at least one entity.');
      const others = ENTITIES.filter((entity) => !wanted.includes(entity));
      return { entities: Object.fromEntries(others.map((entity) => [entity, { enabled: false }])) };
    },
  },
  email: {
    flags: '--email <addresses>',
    about: 'addresses that receive a mail for every alarm, separated by commas',
    normal: 'none',
    adds: (addresses) => ({ alarms: { email: listOf(addresses) } }),
  },
};
const NOTHING = 'Nothing was written.';
const listOf = (text: string) => text.split(/[\s,]+/).filter(Boolean);

/** Registers `init`, which writes the configuration of a new deployment. */
export function addInit(command: Command): void {
  const { deployment: _, ...others } = QUESTIONS;
  for (const { flags, about, normal } of Object.values(others)) {
    command.option(flags, normal === undefined ? about : `${about}; default: ${normal}`);
  }
  const file = 'where it is written; default: config/NAME.json';
  command.option('--configuration <file>', file, pathArgument).action(init);
  withExamples(command, {
    'init --deployment prod': 'asks for the rest, shows each default, and checks each answer',
    'init --deployment prod --crm-url https://crm.example/api/v1 --auth-url https://auth.example':
      'without a terminal, these three options are required',
  });
}

async function init(options: Partial<Record<string, string>>): Promise<void> {
  const { profile, region, endpointUrl, configuration } = options;
  const endpoint = endpointUrl ?? process.env.AWS_ENDPOINT_URL;
  const local = config.isLoopback(endpoint);
  const { deployment = '', ...settings } = await answersTo(options, local ? { local } : {});
  const file = configuration ?? config.configurationFile(deployment);
  const $schema = configuration === undefined ? { $schema: './schema.json' } : {};
  writeNew(file, `${JSON.stringify({ ...$schema, ...settings }, null, 2)}\n`);
  if (local) printErr(`It is for the local cloud at ${endpoint}: "local" is true.`);
  const target = { deployment, profile, region, endpointUrl };
  const context = configuration ? ` -c configuration=${quoted(configuration)}` : '';
  printOut(`Written: ${file}. Every other setting has its default (docs/configuration.md): customerUpdates is off. Next:
  ${commandFor('plan', { deployment }, { configuration })}
  ${completed('npx cdk deploy', { deployment, profile, endpointUrl })}${context}
  ${commandFor('authorize', target, { 'client-id': 'ID', port: 'PORT', run: 'leads' })}
  ${commandFor('probe', target)}
  ${commandFor('doctor', target)}`);
}

/** The name and the settings, from the options or by asking a person. @throws CommandError */
async function answersTo(options: Partial<Record<string, string>>, local: Settings): Promise<Settings> {
  const isAsked = process.stdin.isTTY;
  let settings = local;
  for (const [key, { flags, about, normal, adds }] of Object.entries(QUESTIONS)) {
    const next = (answer: string) => ({ ...settings, ...(answer !== normal && adds(answer, settings)) });
    const given = options[key] ?? (isAsked ? undefined : normal);
    if (given === undefined && !isAsked) {
      throw new CommandError(`Without a terminal, init asks no questions: give ${flags}. ${NOTHING}`, USAGE);
    }
    const problem = given === undefined ? undefined : problemOf(given, next);
    if (problem) throw new CommandError(`${flags}: ${problem} ${NOTHING}`, USAGE);
    const message = `${about.charAt(0).toUpperCase()}${about.slice(1)}:`;
    const validate = (text: string) => problemOf(text.trim(), next) ?? true;
    const answer = given ?? (await ask({ message, default: normal, validate }));
    settings = next(answer.trim());
  }
  return settings;
}

/** The problem of an answer in one sentence, by the same checks as a deployment. */
function problemOf(answer: string, next: (answer: string) => Settings): string | undefined {
  try {
    const { deployment: _, crm, ...settings } = next(answer);
    const unanswered = { baseUrl: 'https://later.example/api/v1', authUrl: 'https://later.example' };
    const [problem] = config.configurationProblems({ ...settings, crm: { ...unanswered, ...crm } });
    return problem && printableLine(`${problem}.`.replace(/\.\.$/, '.'));
  } catch (error) {
    if (error instanceof InvalidArgumentError) return error.message;
    throw error;
  }
}

/**
 * Asks a person at the terminal. Questions go to standard error, because standard output is for results.
 * @throws CommandError at Ctrl-C (exit code 130), or at the end of the input (exit code 2)
 */
async function ask(question: Parameters<typeof import('@inquirer/prompts').input>[0]): Promise<string> {
  const { input } = await import('@inquirer/prompts');
  const ended = new AbortController();
  // Ctrl-D closes the input, which pauses it. The library does not settle its promise then.
  const end = () => ended.abort();
  process.stdin.once('pause', end);
  try {
    return await input(question, { output: process.stderr, signal: ended.signal });
  } catch (error) {
    const name = error instanceof Error ? error.name : '';
    if (name === 'ExitPromptError') throw new CommandError(`Interrupted. ${NOTHING}`, INTERRUPTED, { cause: error });
    if (name !== 'AbortPromptError') throw error;
    throw new CommandError(`Not everything was answered. ${NOTHING}`, USAGE, { cause: error });
  } finally {
    process.stdin.off('pause', end);
  }
}

/** Writes a new file: whole, or not at all. @throws CommandError, also if the file exists */
function writeNew(file: string, text: string): void {
  let opened: number | undefined;
  try {
    opened = openSync(file, 'wx');
    writeFileSync(opened, text);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'EEXIST') throw new CommandError(`${file} exists, and is never overwritten.`, USAGE, { cause: error });
    if (opened !== undefined) rmSync(file, { force: true });
    throw new CommandError(`${file} could not be written (${code}).`, ENVIRONMENT, { cause: error });
  } finally {
    if (opened !== undefined) closeSync(opened);
  }
}
