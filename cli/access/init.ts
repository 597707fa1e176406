import { rmSync, writeFileSync } from 'node:fs';
import { type Command, InvalidArgumentError, Option } from 'commander';
import * as config from '../../core/config/configuration.ts';
import { ENTITIES, type Entity } from '../../core/config/entities.ts';
import { cannotWriteText, commandFor, entityArgument, quoted } from '../support/command-options.ts';
import { capitalized, withPlace } from '../support/command-text.ts';
import { CommandError, ENVIRONMENT, INTERRUPTED, usageError } from '../support/exit.ts';
import { printErr, printOut } from '../support/print.ts';
import { printableLine } from '../support/text.ts';

/** A part of a configuration, with the name of its deployment. */
type Settings = Record<string, unknown> & { deployment?: string; crm?: object };

/**
 * The settings that an answer adds to the configuration, in the order of the questions. The option of the same name has
 * the text of the question, and may have the answer.
 */
const QUESTIONS: Record<string, (answer: string, before: Settings) => Settings> = {
  deployment: (name) => {
    const rule = 'A name starts with a letter and has at most 31 lower-case letters, digits and hyphens.';
    if (!config.isDeploymentName(name)) throw new InvalidArgumentError(rule);
    return { deployment: name };
  },
  crmUrl: (baseUrl, { crm }) => ({ crm: { ...crm, baseUrl } }),
  authUrl: (authUrl, { crm }) => ({ crm: { ...crm, authUrl } }),
  timeZone: (timeZone) => ({ timeZone }),
  at: (at) => ({ nightly: { at } }),
  entities: (names) => {
    const wanted = names === 'all' ? ENTITIES : listOf(names).map((name) => entityArgument(name));
    if (wanted.length === 0) throw new InvalidArgumentError('Name at least one entity.');
    // The file names all entities, also by default, so that a person sees what is exported.
    const settingsOf = (entity: Entity) => (wanted.includes(entity) ? {} : { enabled: false });
    return { entities: Object.fromEntries(ENTITIES.map((entity) => [entity, settingsOf(entity)])) };
  },
  email: (addresses) => ({ alarms: { email: listOf(addresses) } }),
};
const NOTHING = 'Nothing was written.';
const listOf = (text: string) => text.split(/[\s,]+/).filter(Boolean);

/** Runs the command `init`, which writes the configuration of a new deployment. */
export async function init(options: Partial<Record<string, string>>, command: Command): Promise<void> {
  const { profile, region, endpointUrl, configuration } = options;
  const endpoint = endpointUrl ?? process.env.AWS_ENDPOINT_URL;
  const local = config.isLoopback(endpoint);
  const { deployment = '', ...settings } = await answersTo(options, command, local ? { local } : {});
  const file = configuration ?? config.configurationFile(deployment);
  const $schema = configuration === undefined ? { $schema: './schema.json' } : {};
  writeNew(file, `${JSON.stringify({ ...$schema, ...settings }, null, 2)}\n`);
  if (local) printErr(`The configuration is for the local cloud at ${endpoint}: it sets "local" to true.`);
  const target = { deployment, profile, region, endpointUrl };
  const context = configuration ? ` -c configuration=${quoted(configuration)}` : '';
  printOut(`Written: ${file}. Every other setting has its default (docs/configuration.md): customerUpdates is off. Next:
  ${commandFor('plan', { deployment }, { configuration })}
  ${withPlace('npx cdk deploy', { deployment, profile, endpointUrl })}${context}
  ${commandFor('authorize', target, { 'client-id': 'ID', port: 'PORT', run: 'leads' })}
  ${commandFor('probe', target)}
  ${commandFor('doctor', target)}`);
}

/** The name and the settings, from the options or by asking a person. @throws CommandError */
async function answersTo(
  options: Partial<Record<string, string>>,
  command: Command,
  local: Settings,
): Promise<Settings> {
  const isAsked = process.stdin.isTTY;
  let settings = local;
  for (const [key, adds] of Object.entries(QUESTIONS)) {
    const { flags, description } = command.options.find((one) => one.attributeName() === key) ?? new Option(key);
    const [about = '', normal] = description.split('; default: ');
    const isLeftOut = (answer: string) => answer === normal && key !== 'entities';
    const next = (answer: string) => ({ ...settings, ...(!isLeftOut(answer) && adds(answer, settings)) });
    const preset = options[key] ?? (isAsked ? undefined : normal);
    if (preset === undefined && !isAsked) {
      throw usageError(`Without a terminal, init asks no questions: give ${flags}. ${NOTHING}`);
    }
    const problem = preset === undefined ? undefined : problemOf(preset, next);
    if (problem) throw usageError(`${flags}: ${problem} ${NOTHING}`);
    const validate = (text: string) => problemOf(text.trim(), next) ?? true;
    const answer = preset ?? (await ask({ message: `${capitalized(about)}:`, default: normal, validate }));
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
  // Ctrl-D closes the input, which pauses it. After that, the library does not settle its promise.
  const end = () => ended.abort();
  process.stdin.once('pause', end);
  try {
    return await input(question, { output: process.stderr, signal: ended.signal });
  } catch (error) {
    const name = error instanceof Error ? error.name : '';
    if (name === 'ExitPromptError') throw new CommandError(`Interrupted. ${NOTHING}`, INTERRUPTED, { cause: error });
    if (name !== 'AbortPromptError') throw error;
    throw usageError(`Some questions were not answered. ${NOTHING}`, error);
  } finally {
    process.stdin.off('pause', end);
  }
}

/** Writes a new file: whole, or not at all. @throws CommandError, also if the file exists */
function writeNew(file: string, text: string): void {
  try {
    writeFileSync(file, text, { flag: 'wx' });
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') throw usageError(`${file} already exists: init does not overwrite files.`, error);
    // An incomplete file would look like a configuration. A file that this command could not open is not its own.
    if (syscall !== 'open') rmSync(file, { force: true });
    throw new CommandError(cannotWriteText(file, error, '--configuration'), ENVIRONMENT, { cause: error });
  }
}
