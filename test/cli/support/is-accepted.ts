import type { Command } from 'commander';
import { createProgram } from '../../../cli/program.ts';

/** Whether the command accepts these words. It does not run. */
export async function isAccepted(words: string[]): Promise<boolean> {
  const [name = ''] = words;
  const program = await createProgram([name]);
  let accepted = false;
  program.commands
    .find((each) => each.name() === name)
    ?.action(() => {
      accepted = true;
    });
  await program.parseAsync(words, { from: 'user' });
  return accepted;
}

/** The help as a person reads it, with the added text below. */
export function helpOf(command: Command): string {
  let text = '';
  command.configureOutput({ writeOut: (part) => (text += part) });
  command.outputHelp();
  return text;
}
