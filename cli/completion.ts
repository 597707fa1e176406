import { readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type ArgumentHandler, type OptionHandler, script } from '@bomb.sh/tab';
import tab from '@bomb.sh/tab/commander';
import type { Command } from 'commander';
import { ENTITIES } from '../core/config/entities.ts';
import { quoted, withExamples } from './support/command-options.ts';

/** What a person types instead of `npm run cli --`, whose arguments no shell completes. */
const NAME = 'crm-export';
const PROGRAM = resolve(import.meta.dirname, 'main.ts');
const CONFIGURATIONS = resolve(import.meta.dirname, '../config');

/**
 * Registers `completion SHELL`, and the hidden `complete -- WORDS` that shells ask. To be called when all other commands are
 * registered: the library reads them.
 */
export function addCompletion(program: Command, description: string): void {
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
    process.stdout.write(`${functionFor(shell)}\n`);
    script(shell, NAME, NAME);
  });
  withExamples(command, {
    'completion bash':
      'needs the package bash-completion; in ~/.bashrc: source ~/.crm-export.sh, where this was written to',
    'completion zsh': 'in ~/.zshrc, below compinit: source ~/.crm-export.zsh, where this was written to',
  });
}

const completeEntities: ArgumentHandler = (complete) => {
  for (const entity of ENTITIES) complete(entity, 'entity');
};

const completeDeployments: OptionHandler = (complete) => {
  const files = readdirSync(CONFIGURATIONS).filter((file) => file.endsWith('.json') && file !== 'schema.json');
  for (const file of files) complete(file.replace(/\.json$/, ''), join('config', file));
};

/** Runs the program by the Node that runs this, wherever the person is. */
function functionFor(shell: string): string {
  const program = `${quoted(process.execPath)} ${quoted(PROGRAM)}`;
  if (shell === 'fish') return `function ${NAME}; ${program} $argv; end`;
  if (shell === 'powershell') return `function ${NAME} { & ${program} @args }`;
  return `${NAME}() { ${program} "$@"; }`;
}
