import { resolve } from 'node:path';
import { type ArgumentHandler, type OptionHandler, script } from '@bomb.sh/tab';
import tab from '@bomb.sh/tab/commander';
import type { Command } from 'commander';
import { deploymentNames } from '../core/config/configuration.ts';
import { ENTITIES } from '../core/config/entities.ts';
import { withExamples } from './commands/define-command.ts';
import { quoted } from './support/command-options.ts';
import { printOut } from './support/print.ts';

/** The name to type instead of `npx --no -- crm-export`, because no shell completes arguments of `npx`. */
const NAME = 'crm-export';
const PROGRAM = resolve(import.meta.dirname, 'main.js');

/** Adds `completion SHELL` and a hidden `complete -- WORDS`. Call it last: the library reads all earlier commands. */
export function addCompletion(program: Command, description: string): void {
  // The library shows the descriptions of options, to which commander adds defaults only in the help.
  for (const option of program.commands.flatMap(({ options }) => options)) {
    const { defaultValue, defaultValueDescription = defaultValue } = option;
    if (typeof defaultValue !== 'boolean' && defaultValue !== undefined)
      option.description += ` (default: ${defaultValueDescription})`;
  }
  const { commands } = tab(program, { completionCommandName: 'completion' });
  for (const { options, arguments: places } of commands.values()) {
    const deployment = options.get('deployment');
    if (deployment) deployment.handler = completeDeployments;
    const date = options.get('date');
    if (date) date.handler = (complete) => complete(new Date().toISOString().slice(0, 10), 'today (UTC)');
    for (const [name, place] of places) if (/^(entity|run)\b/.test(name)) place.handler = completeEntities;
  }
  const command = program.commands.find((each) => each.name() === 'completion');
  if (!command) return;
  command.description(description);
  command.action((shell: string) => {
    printOut(functionFor(shell));
    if (shell === 'bash') printOut(ONCE.begin);
    script(shell, NAME, NAME);
    if (shell === 'bash') printOut(ONCE.end);
  });
  withExamples(command, {
    'completion bash':
      'needs the package bash-completion; write the output to ~/.crm-export.sh, and add to ~/.bashrc: source ~/.crm-export.sh',
    'completion zsh':
      'write the output to ~/.crm-export.zsh, and add to ~/.zshrc, below compinit: source ~/.crm-export.zsh',
  });
}

const completeEntities: ArgumentHandler = (complete) => {
  for (const entity of ENTITIES) complete(entity, 'entity');
};

const completeDeployments: OptionHandler = (complete) => {
  for (const name of deploymentNames()) complete(name, `config/${name}.json`);
};

/** Makes the script run once per shell: its constants are readonly, so running it again would be an error. */
const ONCE = { begin: 'if ! declare -F __crm_export_complete > /dev/null; then', end: 'fi' };

/** Runs the program with the current Node binary, from any directory. */
function functionFor(shell: string): string {
  const program = `${quoted(process.execPath)} ${quoted(PROGRAM)}`;
  if (shell === 'fish') return `function ${NAME}; ${program} $argv; end`;
  if (shell === 'powershell') return `function ${NAME} { & ${program} @args }`;
  return `${NAME}() { ${program} "$@"; }`;
}
