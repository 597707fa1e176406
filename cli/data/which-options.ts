import { type Command, Option } from 'commander';
import { ENTITIES } from '../../core/config/entities.ts';
import { dateArgument, entitiesArgument } from '../support/command-options.ts';

/** The entity, and the options that say which of its files: the newest, that of a date, or that of a run. */
export function addWhich(command: Command, argument = '<entity>'): Command {
  return command
    .argument(argument, ENTITIES.join(', '), (text) => entitiesArgument(text)[0])
    .addOption(new Option('--latest', 'the newest date (default)').conflicts(['date', 'run']))
    .addOption(new Option('--date <YYYY-MM-DD>', 'a date').argParser(dateArgument).conflicts('run'))
    .option(
      '--run <name>',
      'what one run stored, though it is quarantined or a later one has replaced it; a unique end of its name does',
    );
}
