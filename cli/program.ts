import { Command, InvalidArgumentError } from 'commander';
import { CRM_EXPORT } from '../core/commands.ts';
import { packageVersion } from '../core/package-version.ts';
import { writeText } from './support/print.ts';

/** The descriptions of all commands, by the headings of the help. `loaders.ts` names their files. */
const COMMANDS = {
  'The night:': {
    status: 'show whether last night worked, what is missing and how to fix it',
    start: 'start runs as the nightly rules do',
    follow: 'follow a run to its end; Ctrl-C does not stop the run',
    list: 'list runs, newest first',
    show: 'show what a run did, how it ended, and where to look next',
    logs: 'print what the functions logged about a run',
    retry: 'start a run again with the input and date of an earlier one',
    backfill: 'start one run for each date that is not published',
    release: 'publish a quarantined file, and record the reason',
    stop: 'stop a run that is under way',
    pause: 'switch nightly rules off',
    resume: 'switch nightly rules on again',
  },
  'Data:': {
    download: 'download published files and check size and checksum',
    peek: 'print columns, size and the first ten rows of a published file',
    diff: 'compare two published files, or a quarantined one with what readers have',
    table: 'write the table of a published file without a new export',
    changes: 'count the changes from table to table, or let a stopped feed through',
    readers: 'print the policy that a reader in another account needs',
    update: 'update customers from a CSV or JSON Lines file',
    'update-status': 'show the last batches of customer updates, or one of them',
  },
  'Health:': {
    report: 'write the last nights as one HTML page',
    plan: 'show what a run would request, the next starts and the checks',
    doctor: 'check whether a nightly run would work; changes nothing',
    verify: 'test what is deployed: an export, an alarm, the rules, encryption',
  },
  'Set-up:': {
    init: 'ask for what a new deployment needs, and write its configuration',
    authorize: 'let a person consent, and store the grant',
    probe: 'compare the answers of the CRM with its interface document',
  },
};

type Groups = typeof COMMANDS;
export type CommandName = { [Group in keyof Groups]: keyof Groups[Group] }[keyof Groups];
/** Adds the arguments, options and action of a command. */
export type Register = (command: Command) => void;
export type Loaders = Record<CommandName, () => Promise<Register>>;

/** Loads the commands that `args` names, with their arguments and options; without `args` it loads all commands. */
export async function createProgram(loaders: Loaders, args?: string[]): Promise<Command> {
  const program = new Command(CRM_EXPORT).description("The operator's command");
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
  // Both commands of the shells read the options of all commands.
  const all = args === undefined || args.includes('completion') || args.includes('complete');
  for (const [group, commands] of Object.entries(COMMANDS)) {
    program.commandsGroup(group);
    for (const [name, description] of Object.entries(commands) as [CommandName, string][]) {
      const command = withTargetOptions(program.command(name).description(description));
      if (all || args.includes(name)) (await loaders[name]())(command);
    }
  }
  const completion = 'write the shell function crm-export, with completion';
  // Added last, because its library reads the registered commands.
  if (all) (await import('./completion.ts')).addCompletion(program, completion);
  else program.command('completion').description(completion);
  return program.helpCommand(true).addHelpText('after', EXAMPLES);
}

/** The text below the help of all commands. */
const EXAMPLES = `
Examples:
  # did last night work?
  ${CRM_EXPORT} status --deployment prod
  # why did this run fail, and what helps?
  ${CRM_EXPORT} show leads --deployment prod
  # the newest file of leads, proved by size and checksum
  ${CRM_EXPORT} download leads --deployment prod

More of a command: ${CRM_EXPORT} show --help`;

/** Adds the options that select a deployment. */
function withTargetOptions(command: Command): Command {
  const which =
    command.name() === 'init'
      ? 'name of the new deployment: lower-case letters, digits and hyphens, 31 at most'
      : 'as in config/NAME.json; default: CRM_EXPORT_DEPLOYMENT, or the only one there is';
  return command
    .option('--deployment <name>', which, notEmpty)
    .option('--profile <name>', 'AWS profile to use', notEmpty)
    .option('--region <name>', 'AWS region of the stack', notEmpty)
    .option('--endpoint-url <url>', 'a local cloud instead of AWS; also from AWS_ENDPOINT_URL', notEmpty);
}

/** Refuses an empty value: `--deployment "$NAME"` without that variable must not select the default. */
function notEmpty(text: string): string {
  if (text === '') throw new InvalidArgumentError('It is empty.');
  return text;
}
