import { Command, InvalidArgumentError } from 'commander';
import { CRM_EXPORT } from '../core/commands.ts';
import { packageVersion } from '../core/package-version.ts';
import { writeText } from './support/print.ts';

/** A line of the help, and the properties of its command. */
interface Listed {
  group: Group;
  takes?: string;
  description: string;
  /** The help text of `--deployment`, for a command whose deployment does not exist yet. */
  names?: string;
}

/** All commands in the order of the help. `loaders.ts` names their files. */
export const COMMANDS = {
  init: {
    group: 'setUp',
    description: 'ask for what a new deployment needs, and write its configuration',
    names: 'name of the new deployment: lower-case letters, digits and hyphens, 31 at most',
  },
  status: {
    group: 'night',
    description: 'show whether last night worked, what is missing and how to fix it',
  },
  start: {
    group: 'night',
    takes: '[entity...]',
    description: 'start runs as the nightly rules do',
  },
  follow: {
    group: 'night',
    takes: '<run>',
    description: 'follow a run to its end; Ctrl-C does not stop the run',
  },
  list: {
    group: 'night',
    takes: '[entity...]',
    description: 'list runs, newest first',
  },
  show: {
    group: 'night',
    takes: '<run>',
    description: 'show what a run did, how it ended, and where to look next',
  },
  logs: {
    group: 'night',
    takes: '<run>',
    description: 'print what the functions logged about a run',
  },
  download: {
    group: 'data',
    takes: '[entity]',
    description: 'download published files and check size and checksum',
  },
  peek: {
    group: 'data',
    takes: '<entity>',
    description: 'print columns, size and the first ten rows of a published file',
  },
  diff: {
    group: 'data',
    takes: '<entity>',
    description: 'compare two published files, or a quarantined one with what readers have',
  },
  report: {
    group: 'health',
    description: 'write the last nights as one HTML page',
  },
  retry: {
    group: 'night',
    takes: '<run>',
    description: 'start a run again with the input and date of an earlier one',
  },
  backfill: {
    group: 'night',
    takes: '<entity>',
    description: 'start one run for each date that is not published',
  },
  release: {
    group: 'night',
    takes: '<run>',
    description: 'publish a quarantined file, and record the reason',
  },
  table: {
    group: 'data',
    takes: '<run>',
    description: 'write the table of a published file without a new export',
  },
  changes: {
    group: 'data',
    takes: '<entity>',
    description: 'count the changes from table to table, or let a stopped feed through',
  },
  readers: {
    group: 'data',
    takes: '[principal]',
    description: 'print the policy that a reader in another account needs',
  },
  stop: {
    group: 'night',
    takes: '<run>',
    description: 'stop a run that is under way',
  },
  plan: {
    group: 'health',
    takes: '[entity...]',
    description: 'show what a run would request, the next starts and the checks',
  },
  pause: {
    group: 'night',
    takes: '[entity...]',
    description: 'switch nightly rules off',
  },
  resume: {
    group: 'night',
    takes: '[entity...]',
    description: 'switch nightly rules on again',
  },
  authorize: {
    group: 'setUp',
    description: 'let a person consent, and store the grant',
  },
  probe: {
    group: 'setUp',
    description: 'compare the answers of the CRM with its interface document',
  },
  doctor: {
    group: 'health',
    description: 'check whether a nightly run would work; changes nothing',
  },
  verify: {
    group: 'health',
    description: 'test what is deployed: an export, an alarm, the rules, encryption',
  },
  update: {
    group: 'data',
    takes: '[file]',
    description: 'update customers from a CSV or JSON Lines file',
  },
  'update-status': {
    group: 'data',
    takes: '[batch]',
    description: 'show the last batches of customer updates, or one of them',
  },
} satisfies Record<string, Listed>;

export type CommandName = keyof typeof COMMANDS;
const LISTED: Record<string, Listed> = COMMANDS;
/** Adds the arguments, options and action of a command. */
export type Register = (command: Command) => void;
export type Loaders = Record<CommandName, () => Promise<Register>>;

/** Both commands read the options of all commands. Shells call `complete`. */
const COMPLETION = {
  names: ['completion', 'complete'],
  takes: '<shell>',
  description: 'write the shell function crm-export, with completion',
};

/** Loads the commands that `args` names, with their arguments and options; without `args` it loads all commands. */
export async function createProgram(loaders: Loaders, args?: string[]): Promise<Command> {
  const program = new Command(CRM_EXPORT).description("The operator's command");
  program.configureOutput({
    writeOut: (text) => writeText(process.stdout, text),
    writeErr: (text) => writeText(process.stderr, text),
  });
  program.exitOverride().showHelpAfterError('To see all options and examples, add --help.');
  program.configureHelp({ subcommandTerm: termOf });
  program.version(packageVersion(), '--version');
  program.hook('preAction', async (_, command) => {
    const { deployment, allDeployments } = command.opts();
    if (LISTED[command.name()]?.names) return;
    if (deployment !== undefined || allDeployments || !command.options.some(({ long }) => long === '--deployment'))
      return;
    (await import('./deployment-choice.ts')).setDeployment(command);
  });
  const all = args === undefined || args.some((arg) => COMPLETION.names.includes(arg));
  for (const [name, { group, description, names }] of byGroup<CommandName, Listed>(COMMANDS)) {
    const command = withTargetOptions(program.command(name).description(description), names);
    command.helpGroup(GROUPS[group]);
    if (all || args.includes(name)) (await loaders[name]())(command);
  }
  // Added last, because its library reads the registered commands.
  if (all) (await import('./completion.ts')).addCompletion(program, COMPLETION.description);
  else program.command('completion').description(COMPLETION.description);
  for (const command of program.commands) if (!(command.name() in COMMANDS)) command.helpGroup(GROUPS.setUp);
  program.commandsGroup(GROUPS.setUp).helpCommand(true).addHelpText('after', EXAMPLES);
  return program;
}

/** The name and arguments of a command in the help, in the format that commander uses for a loaded command. */
function termOf(command: Command): string {
  const name = command.name();
  if (name === 'help') return 'help [command]';
  const { takes } = name === 'completion' ? COMPLETION : (LISTED[name] ?? {});
  const options = name === 'completion' ? [] : ['[options]'];
  return [name, ...options, ...(takes ? [takes] : [])].join(' ');
}

/** The headings of the help, in order. */
const GROUPS = {
  night: 'The night:',
  data: 'Data:',
  health: 'Health:',
  setUp: 'Set-up:',
};
type Group = keyof typeof GROUPS;

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

/** The rows of a table, ordered by group. */
function byGroup<Name extends string, T extends { group: Group }>(rows: Record<Name, T>): [Name, T][] {
  const order = Object.keys(GROUPS);
  const entries = Object.entries(rows) as [Name, T][];
  return entries.toSorted(([, one], [, other]) => order.indexOf(one.group) - order.indexOf(other.group));
}

/** Adds the options that select a deployment. */
function withTargetOptions(
  command: Command,
  which = 'as in config/NAME.json; default: CRM_EXPORT_DEPLOYMENT, or the only one there is',
): Command {
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
