import { type Command, CommanderError } from 'commander';
import { createProgram } from './program.ts';
import { withPlace } from './support/command-text.ts';
import { USAGE } from './support/exit.ts';
import { printErr, printJson } from './support/print.ts';
import type { TargetOptions } from './support/target.ts';

/** @returns the exit code */
export async function runCommandLine(args: string[]): Promise<number> {
  let place: Partial<TargetOptions> = {};
  try {
    const program = await createProgram(args);
    program.hook('preAction', (_, command) => {
      place = command.opts();
    });
    await program.parseAsync(wordsFor(program, args), { from: 'user' });
    return Number(process.exitCode ?? 0);
  } catch (error) {
    const { sentence, code, documented } = await endOf(error, place);
    if (!(error instanceof CommanderError)) printErr(sentence);
    if (code !== 0 && !documented && args.includes('--json')) printJson({ ok: false, error: sentence });
    return code;
  }
}

const HELP = ['help', '--help', '-h'];

/** Drops `--help` for an unknown command, because commander would print the general help and exit with 0. */
function wordsFor(program: Command, args: string[]): string[] {
  const name = args.find((arg) => !arg.startsWith('-') && arg !== 'help');
  const isCommand = name === undefined || program.commands.some((command) => command.name() === name);
  return isCommand ? args : args.filter((arg) => !HELP.includes(arg));
}

/** Commander has already printed its own errors and the help. */
async function endOf(error: unknown, { deployment, ...place }: Partial<TargetOptions>) {
  if (error instanceof CommanderError) {
    const code = error.exitCode === 0 ? 0 : USAGE;
    return { sentence: error.message.replace(/^error: /, ''), code, documented: false };
  }
  const { describeError } = await import('./support/aws-error.ts');
  const { sentence, ...end } = describeError(error);
  return { ...end, sentence: deployment ? withPlace(sentence, { deployment, ...place }) : sentence };
}
