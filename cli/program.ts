import { Command, InvalidArgumentError } from 'commander';
import { CRM_EXPORT } from '../core/commands.ts';
import { packageVersion } from '../core/package-version.ts';
import { DATA_COMMANDS } from './commands/data-commands.ts';
import { type Definition, define } from './commands/define-command.ts';
import { HEALTH_COMMANDS } from './commands/health-commands.ts';
import { NIGHT_COMMANDS } from './commands/night-commands.ts';
import { SET_UP_COMMANDS } from './commands/set-up-commands.ts';
import { writeText } from './support/print.ts';

const GROUPS = {
  'The night:': NIGHT_COMMANDS,
  'Data:': DATA_COMMANDS,
  'Health:': HEALTH_COMMANDS,
  'Set-up:': SET_UP_COMMANDS,
};

type Groups = typeof GROUPS;
export type CommandName = { [Group in keyof Groups]: keyof Groups[Group] }[keyof Groups];

/** The program with all commands. @param args the command line, which says whether shell completion is needed */
export async function createProgram(args: string[] = []): Promise<Command> {
  const program = new Command(CRM_EXPORT).description('Operates the nightly CRM export: runs, files, checks, set-up');
  program.configureOutput({
    writeOut: (text) => writeText(process.stdout, text),
    writeErr: (text) => writeText(process.stderr, text),
  });
  program.exitOverride().showHelpAfterError('To see all options and examples, add --help.');
  program.configureHelp({ subcommandTerm: (command) => command.name() });
  program.version(packageVersion(), '--version');
  program.hook('preAction', async (_, command) => {
    const { deployment, allDeployments } = command.opts();
    const takesOne = command.name() !== 'init' && command.options.some(({ long }) => long === '--deployment');
    if (takesOne && deployment === undefined && !allDeployments)
      (await import('./deployment-choice.ts')).setDeployment(command);
  });
  for (const [heading, commands] of Object.entries(GROUPS)) {
    program.commandsGroup(heading);
    for (const [name, definition] of Object.entries<Definition>(commands)) {
      define(withTargetOptions(program.command(name)), definition);
    }
  }
  const completion = 'write the shell function crm-export, with completion';
  // Added last, because its library reads the registered commands, and only if needed, because it loads all settings.
  if (args.some((arg) => /^complet(e|ion)$/.test(arg)))
    (await import('./completion.ts')).addCompletion(program, completion);
  else program.command('completion <shell>').description(completion);
  return program.helpCommand(true).addHelpText('after', EXAMPLES);
}

const EXAMPLES = `
Examples:
  # did last night work?
  ${CRM_EXPORT} status --deployment prod
  # why did this run fail, and how can it be fixed?
  ${CRM_EXPORT} show leads --deployment prod
  # the newest file of leads, proved by size and checksum
  ${CRM_EXPORT} download leads --deployment prod

Help for one command: ${CRM_EXPORT} show --help`;

function withTargetOptions(command: Command): Command {
  const which =
    command.name() === 'init'
      ? 'name of the new deployment, such as prod: a letter, then at most 30 lower-case letters, digits and hyphens'
      : 'NAME as in config/NAME.json; default: CRM_EXPORT_DEPLOYMENT, or the only configuration';
  return command
    .option('--deployment <name>', which, notEmpty)
    .option('--profile <name>', 'AWS profile to use', notEmpty)
    .option('--region <name>', 'AWS region of the stack', notEmpty)
    .option('--endpoint-url <url>', 'address of a local cloud, instead of AWS; default: AWS_ENDPOINT_URL', notEmpty);
}

/** Refuses an empty value: `--deployment "$NAME"` without that variable must not select the default. */
function notEmpty(text: string): string {
  if (text === '') throw new InvalidArgumentError('The value is empty.');
  return text;
}
