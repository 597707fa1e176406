import { existsSync, linkSync } from 'node:fs';
import { type Command, InvalidArgumentError } from 'commander';
import { CRM_EXPORT } from '../../core/commands.ts';
import { configurationFile, isDeploymentName, isLoopback } from '../../core/config/configuration.ts';
import { commandFor, pathArgument, placeOptions, quoted, withExamples } from '../support/command-options.ts';
import { printErr, printJson, printOut } from '../support/print.ts';
import type { TargetOptions } from '../support/target.ts';
import { untilInterrupted } from '../support/until-interrupted.ts';
import { writeWhole } from '../support/write-whole.ts';
import { answersTo, type Given } from './answers.ts';
import { QUESTIONS, type Question } from './questions.ts';

interface InitOptions extends Given, Omit<TargetOptions, 'deployment'> {
  configuration?: string;
  json?: boolean;
}

/** Registers `init`, which makes the configuration of a new deployment. */
export function addInit(command: Command): void {
  for (const { flags, about, normal } of QUESTIONS) {
    command.option(flags, normal === undefined ? about : `${about}; default: ${normal}`);
  }
  command
    .option('--configuration <file>', 'where it is written; default: config/NAME.json', pathArgument)
    .option('--json', 'one JSON document on standard output, all else on standard error')
    .action(init);
  withExamples(command, {
    'init --deployment prod': 'asks for the rest, each with its default; checks each answer as it comes',
    'init --deployment prod --crm-url https://crm.example/api/v1 --auth-url https://auth.example':
      'without a terminal nothing is asked: these three are needed',
  });
}

async function init(options: InitOptions): Promise<void> {
  const endpoint = options.endpointUrl ?? process.env.AWS_ENDPOINT_URL;
  const fileOf = (name: string) => options.configuration ?? configurationFile(name);
  const { name, settings } = await untilInterrupted('Interrupted. Nothing was written.', (signal) => {
    const person = process.stdin.isTTY
      ? { stream: process.stdin, print: (text: string) => void process.stderr.write(text) }
      : undefined;
    const known = isLoopback(endpoint) ? { local: true } : {};
    return answersTo([nameQuestion(fileOf), ...QUESTIONS], known, { given: options, person, signal });
  });
  const file = fileOf(name);
  const $schema = options.configuration === undefined ? { $schema: './schema.json' } : {};
  // A link is never put over another file.
  writeWhole(file, `${JSON.stringify({ ...$schema, ...settings }, null, 2)}\n`, (finished) => linkSync(finished, file));
  const next = nextCommands({ ...options, deployment: name }, file);
  if (options.json) return printJson({ ok: true, deployment: name, file, next });
  if (settings.local) printErr(`It is for the local cloud at ${endpoint}: "local" is true.`);
  printOut(`Written: ${file}. Every other setting has its default (docs/configuration.md). Next:`);
  for (const line of next) printOut(`  ${line}`);
}

function nameQuestion(fileOf: (name: string) => string): Question {
  return {
    key: 'deployment',
    flags: '--deployment <name>',
    about: 'name of the new deployment',
    settings: (name) => {
      if (!isDeploymentName(name))
        throw new InvalidArgumentError(
          'A name begins with a letter, and has at most 31 lower-case letters, digits and hyphens.',
        );
      if (existsSync(fileOf(name))) throw new InvalidArgumentError(`${fileOf(name)} exists, and is never overwritten.`);
      return {};
    },
  };
}

/** What a person types next, in this order. */
function nextCommands(target: InitOptions & TargetOptions, file: string): string[] {
  const { deployment, profile, endpointUrl, configuration } = target;
  const endpoint = endpointUrl ? `AWS_ENDPOINT_URL=${quoted(endpointUrl)} ` : '';
  const context = configuration ? ` -c configuration=${quoted(configuration)}` : '';
  const cdk = `${endpoint}npx cdk deploy -c deployment=${deployment}${context}`;
  const client = { 'client-id': 'ID', port: 'PORT' };
  return [
    commandFor('plan', { deployment }, { configuration }),
    `${CRM_EXPORT} probe ${placeOptions({}, { configuration: file, ...client })}`,
    `${cdk}${profile ? ` --profile ${quoted(profile)}` : ''}`,
    commandFor('authorize', target, { ...client, run: 'leads' }),
    commandFor('doctor', target),
  ];
}
