import { type Command, Option } from 'commander';
import { CRM_EXPORT } from '../../core/commands.ts';
import { ENTITIES } from '../../core/config/entities.ts';
import { dateArgument, entityArgument } from '../support/command-options.ts';

/** A command, with all that its help shows. Its action is imported when the command runs. */
export interface Definition {
  /** One line about the command, for the help that lists all commands. */
  about: string;
  /** Adds the arguments and options. */
  takes: (command: Command) => Command;
  /** Arguments, and what they do. */
  examples: Record<string, string>;
  /** The end of the help. */
  note?: string;
  action: () => Promise<Parameters<Command['action']>[0]>;
}

export function define(command: Command, { about, takes, examples, note, action }: Definition): void {
  takes(command.description(about)).action(async (...args) => (await action()).apply(command, args));
  withExamples(command, examples);
  const width = () => command.configureOutput().getOutHelpWidth?.() ?? 80;
  if (note) command.addHelpText('after', () => `\n${command.createHelp().boxWrap(note, width())}`);
}

/** Adds examples to the help of a command: arguments, and what they do. */
export function withExamples(command: Command, examples: Record<string, string>): void {
  const lines = Object.entries(examples).map(([args, what]) => `  # ${what}\n  ${CRM_EXPORT} ${args}`);
  command.addHelpText('after', `\nExamples:\n${lines.join('\n')}`);
}

export const DATE_OF_RUN = 'date of the run; default: today in the time zone of the deployment';
export const JSON_ALONE = 'print one JSON document on standard output, and all else on standard error';

/** Adds the argument of a command that works on one run, and the `--date` option for an entity. */
export function withRun(command: Command): Command {
  return command
    .argument('<run>', 'name of a run, a unique end of that name, its ARN, or an entity for its newest run')
    .option('--date <YYYY-MM-DD>', 'with an entity: its newest run for this date', dateArgument);
}

/** Adds the argument for the entity, and the options for a file: the newest, that of a date, or that of a run. */
export function withFile(command: Command, argument = '<entity>'): Command {
  return command
    .argument(argument, ENTITIES.join(', '), entityArgument)
    .addOption(
      new Option('--date <YYYY-MM-DD>', 'date of the file; default: newest').argParser(dateArgument).conflicts('run'),
    )
    .option(
      '--run <name>',
      'the file that one run stored, even if it is quarantined or replaced by a later run; the unique end of a name is enough',
    );
}
